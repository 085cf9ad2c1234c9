"""The method context: effects, parts, pairs and sets, on games that are known in full."""

import json
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

import piste
from piste.decision import Decision
from piste.design.parts import paired_parts, parts_between
from piste.errors import SettingError
from piste.methods.context.asked import Asked
from piste.methods.context.asking import Plan, _to_be_learnt
from piste.methods.context.groups import Groups
from piste.options import Options
from piste.result.parts import Prediction
from piste.surrogates.effects import Effects
from piste.surrogates.shapley import all_coalitions, exact_shapley
from tests.conftest import tiny_bert
from tests.planted import PlantedSlalom, additive
from tests.surrogates.test_context import random_process
from tests.test_explain import REVIEW

NOISY = 0.05  # of the answers, where a game is not known exactly
NEGATED = "a x1 x2 not x3 good x4 x5 b x6 x7 x8 x9 x10 x11 x12"
EDGES = {
    "one word": "w0",
    "two equal words": "w0 w0",
    "all the same": "w0 w0 w0 w0 w0",
    "two words": "w0 w1",
    "emoji": "🎉 👍🏽 w0 👨‍👩‍👧",
    "500 words": " ".join(f"w{index % 90}" for index in range(500)),
}


def negation(texts: list[str]) -> np.ndarray:
    """`not` turns `good`; the words named x do nothing."""
    found = []
    for words in (set(text.split()) for text in texts):
        good = 1.5 - 4 * ("not" in words) if "good" in words else 0.0
        found.append(2.0 * ("a" in words) - 1.5 * ("b" in words) + good)
    return np.array(found)


def explain(text: str, function: Callable[..., object], **options: object) -> piste.Explanation:
    options = {"target": "positive"} | options
    return piste.explain(text, piste.from_function(function), **options)


def sums_up(explanation: piste.Explanation) -> None:
    """Base and effects make up the model's score, to rounding."""
    largest = max(1.0, float(np.abs(explanation.parts.answers).max()))
    total = explanation.base + explanation.scores["effect"].sum()
    assert total == pytest.approx(explanation.target.score, abs=1e-9 * largest)


def test_what_reads_the_same_is_paid_for_once(wordpiece):
    """Without the first or without the second of two equal neighbours: one sequence."""
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")
    decision = Decision.on("good good film", classifier)
    asked = Asked.on(decision, False)
    parts = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 0]], dtype=bool)
    assert asked.ask(parts) == 6
    assert asked.paid.tolist() == [True, True, False, True, True, False]
    assert asked.query.forwards == 4
    assert Plan(asked, 20, True).left == 16
    assert Plan(asked, 20, True).spent == 4
    assert asked.ask(parts[:2]) == 0
    assert len(asked.paid) == len(asked.parts) == 6


def test_rounds_learn_about_effects_and_parts_alike():
    process = random_process(3, 10, 30, outputs=1)
    rng = np.random.default_rng(0)
    pool, targets = paired_parts(rng, 10, 40), parts_between(rng, 10, 30, 0.3, 1.0)
    learnt = _to_be_learnt(process, targets, pool, process.covariance(targets, pool))
    effects = Effects(process)
    parts_left = process.covariance(targets, targets).trace()
    expected = np.vstack(
        [
            process.covariance(targets, pool) / np.sqrt(parts_left),
            effects.covariance(pool) / np.sqrt(effects.shapley_variances().sum()),
        ]
    )
    assert learnt == pytest.approx(expected, abs=1e-9)


def kept(part: str) -> list[int]:
    return [index for index, bit in enumerate(part) if bit == "1"]


@pytest.mark.parametrize("options", [{}, {"budget": 40}, {"effort": "quick"}, {"tolerance": 0.2}])
@pytest.mark.parametrize("text", EDGES)
def test_base_and_effects_are_the_score_of_any_text(text, options):
    found = explain(EDGES[text], PlantedSlalom(90).noisy(NOISY), **options)
    sums_up(found)
    assert all(np.isfinite(scores).all() for scores in found.scores.values())
    assert found.predict([]) == Prediction(found.base, 0.0)
    assert piste.Explanation.from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    "settings",
    [
        {"num_labels": 1},
        {"num_labels": 2},
        {"num_labels": 4},
        {"num_labels": 3, "problem_type": "multi_label_classification"},
    ],
)
@pytest.mark.parametrize("pair", [None, "a terrible story"])
@pytest.mark.parametrize("target", [None, "all"])
def test_base_and_effects_are_the_score_of_any_model(wordpiece, settings, pair, target):
    classifier = piste.load(tiny_bert(len(wordpiece), **settings), wordpiece, backend="torch")
    found = piste.explain("the film was not good", classifier, pair=pair, target=target)
    sums_up(found)
    others = [name for name in found.scores if name.startswith("effect: ")]
    assert len(others) == (settings["num_labels"] - 1 if target else 0)
    parts = Decision.on("the film was not good", classifier, Options(), pair)
    if found.target.scale == parts.target.scale and parts.players.frame.size:
        assert found.base == pytest.approx(parts.keeping([np.array([], dtype=int)])[0], abs=1e-5)


@pytest.mark.parametrize("mean", ["slalom", "constant"])
def test_where_every_part_was_asked_the_effects_are_exact(mean):
    planted = PlantedSlalom(6)
    found = explain(planted.text, planted.noisy(1.0), method=piste.Context(mean=mean))
    member = all_coalitions(6)
    texts = [" ".join(np.array(planted.words)[row]) for row in member]
    answers = np.append(found.base, planted.noisy(1.0)(texts[1:]))  # it has no answer to no words
    assert found.stopped.reason == "exhausted"
    assert found.scores["effect"] == pytest.approx(exact_shapley(member, answers), abs=1e-9)
    assert len(found.parts.kept) == 2**6


def test_a_planted_slalom_is_recovered_in_value_and_importance():
    planted = PlantedSlalom(30)
    found = explain(planted.text, planted)
    for name, true in zip(("value", "importance"), planted.truth(planted.words), strict=True):
        assert np.corrcoef(true, found.scores[name])[0, 1] > 0.999
    assert found.fidelity.checks["parts"].r2 > 0.999
    assert found.stopped.reason == "stable"


@pytest.mark.parametrize("seed", range(3))
def test_words_that_do_nothing_have_no_effect(seed):
    found = explain(NEGATED, negation, seed=seed)
    idle = [i for i, player in enumerate(found.players) if player.text.startswith("x")]
    effects, errors = found.scores["effect"][idle], found.errors["effect"][idle]
    assert (np.abs(effects) < 3.5 * errors).all()
    assert np.abs(effects).max() < 0.1  # the others are up to 2
    assert found.scores["relevance"][idle].max() < found.scores["relevance"][[0, 3, 5, 8]].min()


@pytest.mark.parametrize("seed", range(3))
def test_what_two_words_do_together_is_a_pair(seed):
    found = explain(NEGATED, negation, seed=seed)
    first, second = found.pairs(2)
    assert (first.first, first.second) == (3, 5)
    assert first.effect == pytest.approx(-4.0, abs=0.4)
    assert first.error < 0.5
    assert abs(second.effect) < 0.15 * abs(first.effect)
    assert found.pairs(0) == []
    assert len(found.pairs(10**6)) == 16 * 15 / 2


def test_equal_words_are_one_row_with_the_sum_of_their_effects():
    text = "good x good y good z not"
    found = explain(text, additive({"good": 1.0, "not": -2.0}))
    (good,) = [row for row in found.top() if row.player.text == "good"]
    assert good.occurrences == 3
    assert good.scores["effect"] == pytest.approx(3.0, abs=1e-6)
    assert len(found.top()) == 5
    assert sum(row.scores["effect"] for row in found.top()) == pytest.approx(
        found.target.score - found.base
    )
    apart = explain(text, additive({"good": 1.0, "not": -2.0}), repeats="separate")
    assert len(apart.top()) == 7


@pytest.mark.parametrize("words", [1, 2, 5, 20, 60])
def test_small_budgets_never_fail_and_never_overspend(words):
    planted = PlantedSlalom(words)
    for budget in range(11, 61, 1 if words < 10 else 7):
        planted.calls = 0
        found = explain(planted.text, planted.noisy(0.5), budget=budget)
        assert found.cost.forwards <= budget
        assert planted.calls <= budget + 1  # one again: are answers steady?
        sums_up(found)


@pytest.mark.parametrize("budget", [11, 30, 100, 400])
def test_a_budget_holds_for_searches_of_sets_and_a_tolerance_too(demo, budget):
    found = piste.explain(REVIEW, demo, budget=budget, tolerance=1e-3)
    assert found.cost.forwards <= budget
    assert found.stopped.reason == "budget"
    sums_up(found)


def test_a_budget_that_is_too_small_names_the_least():
    with pytest.raises(SettingError, match="at least 11"):
        explain(PlantedSlalom(20).text, PlantedSlalom(20), budget=10)
    for words in (1, 2, 3):  # they have no more parts
        found = explain(PlantedSlalom(words).text, PlantedSlalom(words), budget=2**words)
        assert found.cost.forwards <= 2**words
        sums_up(found)


@pytest.mark.parametrize("budget", [15, 25, 60, 111, 120])
def test_known_answers_allow_no_more_and_no_less(demo, budget):
    answers: dict[bytes, np.ndarray] = {}
    cold, warm = (piste.explain(REVIEW, demo, budget=budget, answers=answers) for _ in range(2))
    assert warm.cost.forwards == 0
    assert warm.parts.kept == cold.parts.kept
    assert (warm.scores["effect"] == cold.scores["effect"]).all()
    assert (warm.flip, warm.core) == (cold.flip, cold.core)


def test_more_effort_asks_more_and_predicts_better():
    planted, cost, r2 = PlantedSlalom(30), [], []
    for effort in ("quick", "normal", "thorough"):
        found = explain(planted.text, planted.noisy(0.4), effort=effort)
        cost.append(found.cost.forwards)
        r2.append(found.fidelity.r2)
        assert found.settings["effort"] == effort
    assert cost == sorted(set(cost))
    with pytest.raises(SettingError, match="quick, light, normal, thorough"):
        piste.Context(effort="best")
    with pytest.raises(SettingError, match="slalom, constant"):
        piste.Context(mean="zero")


def test_a_quick_look_at_a_long_text_asks_nothing_near_it_and_says_so():
    planted = PlantedSlalom(60)
    found = explain(planted.text, planted.noisy(0.1), effort="quick")
    assert found.cost.passes <= 9
    sizes = sorted({len(kept(part)) for part in found.parts.kept})
    assert sizes == [0, 1, 5, 10, 60]
    assert list(found.fidelity.checks) == ["groups"]
    assert found.fidelity.r2 is None  # good on groups of words says nothing of the text
    assert "unknown for the text itself" in str(found)
    assert "Fidelity: very good" not in found.to_html()
    assert any("Quick look: interactions" in note for note in found.notes)
    assert "Quick look: interactions" in str(found)
    assert "Quick look: interactions" in found.to_html()
    again = piste.Explanation.from_dict(json.loads(found.to_json()))
    for one in (found, again):
        with pytest.raises(SettingError, match='effort="normal"'):
            one.pairs()
    assert (found.flip, found.core) == (None, None)


def test_a_quick_look_recovers_a_planted_slalom():
    planted = PlantedSlalom(60)
    quick, normal = (explain(planted.text, planted, effort=e) for e in ("quick", "normal"))
    effects = [one.scores["effect"] for one in (quick, normal)]
    assert np.corrcoef(*effects)[0, 1] > 0.99
    assert quick.fidelity.checks["groups"].r2 > 0.99


def test_errors_of_a_quick_look_are_as_large_as_groups_were_off():
    """By hand: a group of two words that is missed by 4, and one of four that is missed by 2."""
    parts = np.array([[True, True, False, False], [True] * 4])
    groups = Groups(parts, np.array([4.0, 1.0]), np.array([0.0, 3.0]), 1.0)
    assert groups.error == pytest.approx(np.sqrt((16 / 2 + 4 / 4) / 2))


def test_errors_of_a_quick_look_hold_the_effects_under_noise():
    planted = PlantedSlalom(60)
    true = explain(planted.text, planted).scores["effect"]
    quick = explain(planted.text, planted.noisy(0.5), effort="quick")
    off = np.abs(quick.scores["effect"] - true)
    assert np.mean(off < 1.64 * quick.errors["effect"]) > 0.8


def test_a_quick_look_at_a_short_text_tells_pairs():
    assert explain(NEGATED, negation, effort="quick").pairs(1)


@pytest.mark.parametrize("distinct", [1, 2, 4])
def test_a_quick_look_at_few_words_said_often(distinct):
    text = " ".join(f"w{index % distinct}" for index in range(50))
    sums_up(explain(text, PlantedSlalom(9).noisy(NOISY), effort="quick"))


def test_a_tolerance_asks_until_it_is_met():
    planted = PlantedSlalom(40)
    usual = explain(planted.text, planted.noisy(0.1))
    wide = explain(planted.text, planted.noisy(0.1), tolerance=0.6)
    close = explain(planted.text, planted.noisy(0.1), tolerance=0.2)
    assert wide.cost.forwards < usual.cost.forwards < close.cost.forwards
    for found, tolerance in ((wide, 0.6), (close, 0.2)):
        assert found.stopped.reason == "stable"
        assert found.fidelity.r2 >= 1 - 1.5 * tolerance  # the last fit is stricter than the rounds'
        assert found.stopped.tolerance == found.tolerance == tolerance


def test_a_text_of_three_words_runs_out_of_parts():
    found = explain("w0 w1 w2", PlantedSlalom(3).noisy(0.3), tolerance=1e-3)
    assert found.stopped.reason == "exhausted"
    assert len(found.parts.kept) == 8


def test_json_predicts_and_pairs_as_before():
    found = explain(NEGATED, negation)
    again = piste.Explanation.from_dict(json.loads(found.to_json()))
    rng = np.random.default_rng(0)
    for part in rng.random((20, len(found.players))) < 0.5:
        assert again.predict(np.flatnonzero(part)) == found.predict(np.flatnonzero(part))
    assert again.pairs(5) == found.pairs(5)
    assert (again.flip, again.core, again.base) == (found.flip, found.core, found.base)
    assert again.change([0, 3]) == found.change([0, 3])


def test_of_a_part_that_was_asked_the_models_own_answer_is_told():
    found = explain(NEGATED, negation)
    words = NEGATED.split()
    assert len(found.parts.kept) == len(set(found.parts.kept))
    for part, answer in zip(found.parts.kept, found.parts.answers, strict=True):
        told = found.predict(kept(part))
        assert (told.score, told.error) == (answer, 0)
        assert answer == negation([" ".join(words[i] for i in kept(part))])[0]


def test_other_parts_are_predicted_within_their_errors():
    found, rng = explain(NEGATED, negation), np.random.default_rng(5)
    words, off = np.array(NEGATED.split()), []
    for part in rng.random((100, 16)) < rng.uniform(0.3, 1.0, size=(100, 1)):
        told = found.predict(np.flatnonzero(part))
        if told.error:
            off.append((told.score - negation([" ".join(words[part])])[0]) / told.error)
    assert len(off) > 50
    assert np.mean(np.abs(off) < 1.645) > 0.8
    assert found.fidelity.checks["parts"].r2 > 0.95


def test_a_change_is_the_difference_of_two_predictions():
    found, everyone = explain(NEGATED, negation), set(range(16))
    whole = found.predict(everyone).score
    assert whole == pytest.approx(found.target.score)
    for gone in ([], [0], [3, 5], [1, 2, 8, 15], list(everyone)):
        rest = found.predict(everyone - set(gone)).score
        assert found.change(gone) == pytest.approx(whole - rest, abs=1e-12)
    assert found.change([3]) == pytest.approx(found.scores["removal"][3], abs=1e-12)
    assert found.predict([]).score == found.base


@pytest.mark.parametrize("given", ["ab", 3, None, [16], [-1], [0.5]])
def test_players_that_are_not_there(given):
    found = explain(NEGATED, negation)
    with pytest.raises(SettingError):
        found.predict(given)


def test_two_targets_of_two_classes_are_opposites(demo):
    """Rounds choose by variances, which do not know the sign: both ask the same parts."""
    one, other = (piste.explain(REVIEW, demo, target=label) for label in ("positive", "negative"))
    assert one.parts.kept == other.parts.kept
    for name in ("effect", "value", "removal"):
        assert one.scores[name] == pytest.approx(-other.scores[name], rel=1e-4, abs=1e-5)
    assert one.base == pytest.approx(-other.base)


@pytest.mark.parametrize("seed", range(4))
def test_rounding_in_the_answers_stays_rounding_in_the_effects(seed):
    """Another machine's answers differ by 1e-6: the rounds must not choose other parts for it."""
    planted = PlantedSlalom(25, seed)

    def rounded(texts: list[str]) -> np.ndarray:
        return planted.noisy(0.3)(texts) + planted.noisy(1e-6, seed=9)(texts) - planted(texts)

    here, there = (explain(planted.text, f) for f in (planted.noisy(0.3), rounded))
    assert here.parts.kept == there.parts.kept
    assert there.scores["effect"] == pytest.approx(here.scores["effect"], abs=1e-4)
    assert there.errors["effect"] == pytest.approx(here.errors["effect"], rel=1e-2)


def test_watching_the_rounds_changes_nothing(demo):
    seen: list[np.ndarray] = []
    silent = piste.explain(REVIEW, demo)
    told = piste.explain(REVIEW, demo, rounds=lambda scores: seen.append(scores["effect"]))
    assert (silent.scores["effect"] == told.scores["effect"]).all()
    assert len(seen) == told.stopped.rounds
    assert all(scores.shape == (len(told.players),) for scores in seen)


def test_words_of_two_texts_act_together():
    """Equal words in both texts count: no text by itself decides."""

    def same(pairs: list[tuple[str, str]]) -> np.ndarray:
        return np.array([2.0 * ("cat" in a and "cat" in b) - 1 for a, b in pairs])

    found = explain("the cat sat there", same, pair="one cat was here")
    (strongest,) = found.pairs(1)
    words = [found.players[index] for index in (strongest.first, strongest.second)]
    assert [player.text for player in words] == ["cat", "cat"]
    assert [player.segment for player in words] == [0, 1]
    assert strongest.effect == pytest.approx(2.0, abs=0.2)


def test_no_more_parts_are_asked_than_a_file_may_hold(monkeypatch):
    monkeypatch.setattr("piste.methods.context.asking.MOST_PARTS", 60)
    found = explain(PlantedSlalom(20).text, PlantedSlalom(20).noisy(1.0), budget=300)
    assert len(found.parts.kept) == 60
    assert found.stopped.reason == "budget"


def test_many_words_are_fitted_iteratively_with_the_same_result(monkeypatch):
    text = " ".join(f"w{index}" for index in range(60))
    game = PlantedSlalom(60).noisy(NOISY)
    few = explain(text, game)
    monkeypatch.setattr("piste.methods.context.fit.MANY_WORDS", 2)
    many = explain(text, game)
    sums_up(many)
    assert np.corrcoef(many.scores["effect"], few.scores["effect"])[0, 1] > 0.98
    assert np.corrcoef(many.scores["importance"], few.scores["importance"])[0, 1] > 0.95
    assert (many.errors["importance"] > 0).all()
    assert many.fidelity.r2 > few.fidelity.r2 - 0.1


@pytest.mark.parametrize("text", ["very " * 60, "a truly " + "very " * 40 + "good film"])
def test_a_repeated_word_is_not_asked_about_for_ever(text, demo):
    found = piste.explain(text, demo)
    assert found.stopped.reason == "exhausted"
    assert len(found.parts.parts) < 10 * len(found.players)
    assert found.base + found.scores["effect"].sum() == pytest.approx(found.target.score)


WORDS = "alpha bravo charlie delta echo foxtrot golf hotel"


@pytest.mark.parametrize("seed", range(3))
def test_a_word_that_acts_otherwise_alone_does_not_blow_up_errors(seed):
    def spike(texts: list[str]) -> np.ndarray:
        return np.array([("charlie" in t.split()) + 0.7 * (t == "charlie") for t in texts])

    found = explain(WORDS, spike, seed=seed)
    errors = found.errors["effect"]
    assert errors.max() < 0.2
    truth = np.array([1 + 0.7 / 8 if word == "charlie" else -0.7 / 56 for word in WORDS.split()])
    assert (np.abs(found.scores["effect"] - truth) <= 4 * errors + 1e-3).all()


def test_of_a_short_text_that_repeats_itself_everything_is_known():
    """What reads as an answered part is known: 18 texts stand for all 512 parts."""

    def rule(texts: list[str]) -> np.ndarray:
        words = [text.split() for text in texts]
        return np.array([w.count("good") ** 0.5 - 2.5 * ({"not", "good"} <= set(w)) for w in words])

    text = "good " * 8 + "not"
    found = explain(text, rule)
    assert found.parts.complete
    assert (found.errors["effect"] == 0).all()
    parts = [list(part) for size in (1, 4, 7) for part in combinations(range(9), size)]
    told = np.array([found.predict(part).score for part in parts])
    texts = [" ".join(text.split()[i] for i in part) for part in parts]
    assert told == pytest.approx(rule(texts))
    assert found.base + found.scores["effect"].sum() == pytest.approx(found.target.score)


def test_a_part_that_reads_as_one_that_was_asked_has_its_answer():
    def rule(texts: list[str]) -> np.ndarray:
        return np.array([text.split().count("good") ** 0.5 + len(text) % 3 for text in texts])

    found = explain("good " * 10 + "and not bad", rule, effort="light")
    assert not found.parts.complete
    first, second = found.predict([3, 10]), found.predict([7, 10])
    assert first.score == second.score


@pytest.mark.parametrize("more", ["", " film here now"])
def test_what_stands_for_an_empty_text_is_put_down_to_no_pair(more):
    def blind(texts: list[str]) -> np.ndarray:
        if "" in texts:
            raise ValueError("no text")
        words = [set(text.split()) for text in texts]
        return np.array(
            [("good" in w) - 1.5 * ("bad" in w) + 2.0 * ({"good", "not"} <= w) for w in words]
        )

    found = explain(f"not good bad{more}", blind)
    again = piste.Explanation.from_dict(json.loads(found.to_json()))
    for one in (found, again):
        (strongest, second, *_) = one.pairs(3)
        assert {strongest.first, strongest.second} == {0, 1}
        assert strongest.effect == pytest.approx(2.0, abs=0.1)
        assert abs(second.effect) < 0.1
    assert ("every part but the empty one" in " ".join(str(found).split())) == (not more)
    assert not any(pair.effect for pair in explain("not good", blind).pairs(1))


@pytest.mark.parametrize(
    "text", ["very\nvery very very", "yes\n\nyes yes", "very\nvery very, very\n\nvery very"]
)
@pytest.mark.parametrize("budget", [None, 40])
def test_equal_words_with_other_blanks_around_them_are_told_apart(text, budget):
    """To a function the blanks are part of the text; every recorded answer is that of its part."""

    def lines(texts: list[str]) -> np.ndarray:
        return np.array([3.0 * t.count("\n") + 0.1 * len(t.split()) for t in texts])

    found = explain(text, lines, budget=budget)
    again = piste.Explanation.from_dict(found.to_dict())
    kept, told = found.parts.kept, found.parts.answers
    assert len(set(told)) > 3
    for part, answer in zip(kept, told, strict=True):
        some = [i for i, bit in enumerate(part) if bit == "1"]
        assert again.predict(some).score == pytest.approx(answer)


@pytest.mark.parametrize("count", [6, 9])
@pytest.mark.parametrize("budget", [11, 17, 29, 40])
def test_a_budget_is_enough_for_a_text_of_one_word(count, budget):
    def lengths(texts: list[str]) -> np.ndarray:
        return np.array([len(text) ** 0.5 * 0.01 + text.count("bad") for text in texts])

    found = explain("very " * count, lengths, budget=budget)
    assert found.cost.forwards <= budget
