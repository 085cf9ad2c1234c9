"""The pipeline from end to end: planted answers, invariances, and what users get wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piste
from piste.errors import InputError, PisteError, SettingError
from tests.planted import PlantedSlalom

REVIEW = (
    "This film is not the masterpiece they promised. The plot is thin and the jokes are tired, but "
    "the acting is superb and the last ten minutes are simply beautiful. I left the cinema smiling."
)


def correlations(planted: PlantedSlalom, explanation: piste.Explanation) -> tuple[float, float]:
    values, importances = planted.truth([player.text for player in explanation.players])
    return (
        np.corrcoef(values, explanation.scores["value"])[0, 1],
        np.corrcoef(importances, explanation.scores["importance"])[0, 1],
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_slalom_is_recovered_from_default_settings(seed):
    planted = PlantedSlalom(30, seed)
    classifier = piste.from_function(planted)
    explanation = piste.explain(planted.text, classifier, "slalom", target="positive")
    assert min(correlations(planted, explanation)) > 0.999
    assert explanation.fidelity.r2 > 0.999
    assert explanation.surrogate_score == pytest.approx(planted.margin(planted.text), abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_a_noisy_planted_slalom_is_recovered(seed):
    planted = PlantedSlalom(30, seed)
    noise = 0.05 * np.std(list(planted.values.values()))
    classifier = piste.from_function(planted.noisy(noise))
    explanation = piste.explain(planted.text, classifier, "slalom", target="positive")
    assert min(correlations(planted, explanation)) > 0.97
    closer = piste.explain(planted.text, classifier, "slalom", target="positive", tolerance=0.03)
    assert min(correlations(planted, closer)) > 0.98


def test_slalom_ana_is_exact_and_counts_its_calls():
    planted = PlantedSlalom(30)
    classifier = piste.from_function(planted)
    explanation = piste.explain(planted.text, classifier, "slalom-ana", target="positive")
    assert min(correlations(planted, explanation)) > 1 - 1e-9
    calls_for_the_prediction, calls_for_the_check = 1, 8
    spent = calls_for_the_prediction + 2 * 30 - 1 + calls_for_the_check
    assert explanation.cost.forwards == spent
    assert explanation.fidelity.r2 > 1 - 1e-9
    assert explanation.change([0]) == pytest.approx(explanation.scores["removal"][0])
    steady, empty = 1, 1  # one is asked again, and the empty text, which it cannot read
    assert planted.calls == explanation.cost.forwards + steady + empty


def test_the_other_target_has_the_opposite_values():
    planted = PlantedSlalom(12)
    classifier = piste.from_function(planted)
    plus, minus = (
        piste.explain(planted.text, classifier, "slalom", target=label)
        for label in ("positive", "negative")
    )
    assert plus.scores["value"] == pytest.approx(-minus.scores["value"], abs=1e-6)
    assert plus.scores["importance"] == pytest.approx(minus.scores["importance"], abs=1e-6)


def test_another_seed_asks_other_sequences(demo):
    first, second = (piste.explain(REVIEW, demo, seed=seed) for seed in (1, 2))
    assert (first.scores["effect"] != second.scores["effect"]).any()


def test_the_words_a_person_would_name_stand_at_the_top(demo):
    top = {row.player.text for row in piste.explain(REVIEW, demo, target="positive").top(5)}
    assert {"superb", "beautiful"} <= top
    for text, word, label in (
        ("The plot was dull and the acting was terrible, a complete waste of time.", "waste", 0),
        ("What a wonderful film, I loved it from start to end, excellent acting.", "wonderful", 1),
    ):
        explanation = piste.explain(text, demo)
        assert explanation.target.index == label
        assert word in {row.player.text for row in explanation.top(4)}
        assert explanation.scores["effect"][[p.text for p in explanation.players].index(word)] > 0


def test_a_hundred_words_cost_at_most_75_passes(demo):
    text = " ".join([REVIEW] * 3)[:600].rsplit(" ", 1)[0]  # few distinct words: cheap
    varied = " ".join(f"{a}{b}" for a in "abcdefghij" for b in ("ook", "ack", "ell", "ing", "ore",
                      "ump", "ade", "ight", "own", "art"))  # 100 distinct words  # fmt: skip
    for content in (text, varied):
        explanation = piste.explain(content, demo)
        encoded = demo.encode(content)
        assert explanation.cost.full_tokens == len(encoded.ids) + encoded.frame.size
        assert explanation.cost.passes <= 75


@pytest.mark.parametrize("budget", [0, -3, 5, "9", 2.5, True])
def test_budgets_that_make_no_sense(demo, budget):
    with pytest.raises(SettingError):
        piste.explain(REVIEW, demo, budget=budget)


@pytest.mark.parametrize(
    "settings", [{"seed": -1}, {"seed": 1.5}, {"seed": None}, {"batch_tokens": 0}]
)
def test_numbers_that_make_no_sense(demo, settings):
    with pytest.raises(SettingError):
        piste.explain(REVIEW, demo, **settings)


@pytest.mark.parametrize(
    ("settings", "listed"),
    [
        ({"method": "slalon"}, "slalom, slalom-ana, lime"),
        ({"method": "contex"}, "Did you mean 'context'"),
        ({"effort": "best"}, "quick, light, normal, thorough"),
        ({"unit": "letter"}, "word, token, phrase"),
        ({"target": "happy"}, "negative, positive"),
        ({"target": 2}, "0 to 1"),
        ({"repeats": "once"}, "shared, separate"),
        ({"method": 3}, "slalom"),
        ({"method": piste.Slalom}, "slalom"),
    ],
)
def test_unknown_names_list_the_valid_ones(demo, settings, listed):
    with pytest.raises(SettingError, match=listed):
        piste.explain(REVIEW, demo, **settings)


@pytest.mark.parametrize("text", ["", "   ", "\n\t", None, 7])
def test_nothing_to_explain(demo, text):
    with pytest.raises(InputError):
        piste.explain(text, demo)


EDGE_TEXTS = {
    "one word": "superb",
    "one long word": "antidisestablishmentarianism",
    "one character": "a",
    "one mark": "!",
    "all the same": "good good good good good",
    "two words": "not good",
    "emoji": "🎉 👍🏽 great 👨‍👩‍👧",
    "right to left": "هذا الفيلم رائع جدا، أحببته",
    "Chinese": "这部电影很好看",
    "NUL and control": "good\x00 film\x1b[31m red\x07 \u202e txet",
    "special tokens": "good [SEP] bad [CLS] [MASK] [PAD]",
    "HTML": "<script>alert('x')</script> <b>good</b> &amp; {{ 7*7 }}",
    "ten thousand words": "this film was good and that one bad " * 1250,
    "one word of a thousand letters": "o" * 1000,
}


@pytest.mark.parametrize("thing", [len, object(), 3, lambda texts: texts])
def test_things_that_are_no_classifier_say_how_to_make_one(thing):
    with pytest.raises(SettingError, match="from_function"):
        piste.explain(REVIEW, thing)


def test_a_string_is_loaded():
    assert piste.explain("a superb film", "demo").model == "demo"


def test_words_the_model_does_not_know_are_told(demo):
    explanation = piste.explain("这部电影 superb", demo)
    assert "4 of 5 tokens are unknown" in explanation.notes[0]
    assert "[UNK]" in explanation.notes[0]
    assert "unknown" not in " ".join(piste.explain(REVIEW, demo).notes)


def letters(texts: list[str]) -> list[float]:
    return [len(text) + text.count("a") for text in texts]


@pytest.mark.parametrize("text", ["a b c", "w0 w1 w2 w3"])
def test_three_words_are_enough_for_a_check(text):
    explanation = piste.explain(text, piste.from_function(letters), "slalom")
    assert all(check.samples > 0 for check in explanation.fidelity.checks.values())


def test_a_text_of_which_all_parts_were_asked_needs_no_check_and_the_explanation_says_so():
    explanation = piste.explain("not good", piste.from_function(letters))
    assert explanation.fidelity is None
    assert "asked about every part of this text" in " ".join(str(explanation).split())


def test_only_control_characters(demo):
    with pytest.raises(PisteError):
        piste.explain("\x00\x01\x02", demo)


def test_one_word_says_there_is_nothing_to_compare(demo):
    explanation = piste.explain("superb", demo)
    assert "The text is a single word" in " ".join(explanation.notes)
    assert explanation.scores["importance"].tolist() == [0.0]
    slalom = piste.explain("superb", demo, "slalom")
    assert "only one distinct word" in " ".join(slalom.notes)


def test_a_constant_function_says_that_importances_are_unknown():
    text = "a b c d e f g h"
    explanation = piste.explain(text, piste.from_function(lambda t: np.full(len(t), 2.0)))
    assert "same answer" in " ".join(explanation.notes)
    assert explanation.scores["value"] == pytest.approx(2.0)
    assert (explanation.scores["importance"] == 0).all()
    assert all(check.r2 is None for check in explanation.fidelity.checks.values())


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=30))
def test_any_text_is_explained_or_refused(demo, text):
    try:
        explanation = piste.explain(text, demo, budget=60)
    except PisteError:
        return
    assert all(np.isfinite(scores).all() for scores in explanation.scores.values())
    assert piste.Explanation.from_dict(explanation.to_dict()).to_dict() == explanation.to_dict()


def test_special_tokens_are_never_scored(demo):
    explanation = piste.explain(REVIEW, demo, unit="token")
    special = set(demo.tokenizer.all_special_ids)
    assert not special & {token for player in explanation.players for token in player.ids}
    assert 0 < piste.explain(REVIEW, demo, "slalom", unit="token").frame_share < 1


def test_repeats_can_have_scores_of_their_own():
    planted = PlantedSlalom(5)
    text = "w0 w1 w0 w2 w3 w4"
    classifier = piste.from_function(planted)
    shared = piste.explain(text, classifier)
    separate = piste.explain(text, classifier, repeats="separate")
    assert len(shared.top(10)) == 5
    assert len(separate.top(10)) == 6
    # A SLALOM does not see positions, so both occurrences come out alike.
    assert separate.scores["value"][0] == pytest.approx(separate.scores["value"][2], abs=1e-3)


def test_provenance(demo):
    explanation = piste.explain(REVIEW, demo, piste.Slalom(length=4), seed=3)
    assert explanation.method == "slalom"
    assert explanation.settings["length"] == 4
    assert (explanation.seed, explanation.unit, explanation.model) == (3, "word", "demo")
    assert (explanation.repeats, explanation.budget) == ("shared", None)
    assert {"piste", "torch", "numpy"} <= set(explanation.versions)
    assert explanation.cost.query_seconds > 0
    assert explanation.fit.converged


def test_numpy_numbers_are_numbers(demo):
    explanation = piste.explain(REVIEW, demo, seed=np.int64(3), budget=np.int64(90))
    assert type(explanation.seed) is int
    explanation.to_json()


def test_progress_ends_where_it_planned(demo):
    steps = []
    explanation = piste.explain(REVIEW, demo, progress=lambda *step: steps.append(step))
    assert steps[-1][0] == explanation.cost.forwards
    assert all(done <= planned for done, planned in steps)


def test_the_default_classifier_is_the_demo_model():
    assert piste.explain("a superb film").model == "demo"


def test_known_answers_change_nothing(demo):
    text = "The plot is thin, but the acting is superb."
    for budget in (None, 120):
        answers = {}
        cold = piste.explain(text, demo, answers=answers, budget=budget)
        warm = piste.explain(text, demo, answers=answers, budget=budget)
        assert (cold.scores["effect"] == warm.scores["effect"]).all()
        assert cold.stopped == warm.stopped
        assert warm.cost.forwards == 0


def test_a_method_in_the_place_of_the_model_is_told():
    with pytest.raises(SettingError, match="'lime' is a method, not a model"):
        piste.explain("A good film", "lime")
    with pytest.raises(SettingError, match="There is no setting 'model'"):
        piste.explain("A good film", model=piste.load())
    with pytest.raises(SettingError, match=r"A Slalom is a method, .*method=piste.Slalom\(...\)"):
        piste.explain("A good film", piste.Slalom(length=5))


def test_a_setting_of_the_method_beside_its_name_is_told(demo):
    with pytest.raises(SettingError, match=r"method=piste.Slalom\(length=...\)"):
        piste.explain("A good film", demo, "slalom", length=5)
    with pytest.raises(SettingError, match="no setting 'lenght'"):
        piste.explain("A good film", demo, "slalom", lenght=5)


def test_marks_that_nobody_announced_are_told(demo):
    def told(text, **settings):
        notes = piste.explain(text, demo, "occlusion", **settings).notes
        return [note for note in notes if "marks=True (--marks)" in note]

    assert len(told("A [[good film]] here")) == 1
    assert told("A [[good film]] here", marks=True) == []
    assert told("A [[good film here") == []
    assert told("A list: [1] and [2]") == []


def test_two_texts_in_front_of_the_embedded_model_are_warned_of(demo):
    from piste.render import trust

    def warned(**pair):
        found = piste.explain("A good film", demo, "occlusion", **pair)
        return any("single film reviews" in one.text for one in trust.warnings(found))

    assert warned(pair="A bad film")
    assert not warned()


def test_a_misspelt_setting_of_a_method_is_told():
    with pytest.raises(SettingError, match=r"no setting of Slalom 'lenght'. Did you mean 'length'"):
        piste.Slalom(lenght=5)
    with pytest.raises(SettingError, match="Valid: effort"):
        piste.Context(colour="red")
    assert piste.Slalom(length=5).length == 5
