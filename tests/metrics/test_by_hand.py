"""Every metric on a model whose answers are written down: the figures are computed by hand."""

import numpy as np
import pytest
from scipy.special import expit

import piste
from piste.metrics import METRICS, find_metric
from piste.metrics.case import Case
from piste.metrics.eraser import comprehensiveness, sizes, sufficiency
from piste.metrics.human_attention import auroc, average_precision, consensus
from piste.metrics.leave_one_out import leave_one_out, single_falls
from piste.metrics.naive_bayes import NaiveBayes, naive_bayes_correlation
from piste.metrics.normalised import extremes
from piste.metrics.robustness import randomisation, stability
from piste.text.players import split
from tests.metrics.conftest import decision
from tests.planted import PlantedSlalom, additive


def test_comprehensiveness_and_sufficiency_by_hand(three):
    scores = np.array([2.0, -1.0, 0.5])
    # Of three players, 1 to 20 % are one, 50 % are two. Without "a": -0.5; without "a c": -1.
    fell = [expit(1.5) - expit(-0.5)] * 4 + [expit(1.5) - expit(-1.0)]
    assert comprehensiveness(three, scores) == pytest.approx(np.mean(fell))
    kept = [expit(1.5) - expit(2.0)] * 4 + [expit(1.5) - expit(2.5)]
    assert sufficiency(three, scores) == pytest.approx(np.mean(kept))


def test_fractions_take_one_at_least_and_leave_one():
    assert sizes(100) == [1, 5, 10, 20, 50]
    assert sizes(2) == [1, 1, 1, 1, 1]
    assert sizes(1) == []


def test_leave_one_out_of_a_linear_model_is_its_weights(three):
    assert single_falls(three) == pytest.approx([2.0, -1.0, 0.5])


def test_occlusion_is_perfect_by_leave_one_out():
    words = {"a": 2.0, "b": -1.0, "c": 0.5, "d": 0.1}
    classifier = piste.from_function(additive(words))
    found = piste.explain("a b c d", classifier, "occlusion", target="positive")
    on = decision("a b c d", additive(words))
    assert leave_one_out(on, found) == pytest.approx(1.0)


def test_the_best_and_worst_orders_of_a_linear_model():
    """Any search finds them: the words by weight, and the other way round."""
    weights = {"a": 2.0, "b": -1.0, "c": 0.5, "d": 0.1}
    on = decision("a b c d", additive(weights))
    found = extremes(on)
    falls = {"best": ["bcd", "bd", "b"], "worst": ["acd", "ac", "a"]}
    by_hand = {
        end: np.mean([expit(1.6) - expit(sum(weights[w] for w in left)) for left in rows])
        for end, rows in falls.items()
    }
    assert found.best == pytest.approx(by_hand["best"])
    assert found.worst == pytest.approx(by_hand["worst"])
    assert found.place(found.best) == pytest.approx(1.0)
    assert found.place(found.worst) == pytest.approx(0.0)


def test_a_wide_search_matches_brute_force():
    import itertools

    planted = PlantedSlalom(5, seed=3)
    on = decision(planted.text, planted)
    from piste.metrics.deletion import deletion

    orders = itertools.permutations(range(5))
    every = [deletion(on, -np.argsort(order).astype(float)) for order in orders]
    found = extremes(on, beam=30, wide=5)
    assert found.best == pytest.approx(max(every))
    assert found.worst == pytest.approx(min(every))


def test_nothing_to_normalise():
    assert extremes(decision("a", additive({"a": 1.0}))) is None
    flat = extremes(decision("a b", additive({})))
    assert flat.place(0.0) is None


def test_marks_find_their_players_by_place():
    on = decision("Good film, good end", additive({}))
    words = ["good", "film", ",", "good", "end"]
    found = consensus(on.players, words, [[0, 1, 0, 1, 1], [1, 1, 0, 1, 0]])
    marked = [player.text for player, mark in zip(on.players.items, found, strict=True) if mark]
    assert marked == ["film", "good"]
    assert list(found).index(True) == 1  # the second "good", not the first


@pytest.mark.parametrize("words", [[], ["good", "movie"], ["good", "film", "end"]])
def test_maps_that_do_not_fit_are_no_maps(words):
    assert consensus(decision("good film", additive({})).players, words, [[1, 0]]) is None


def test_auroc_and_average_precision_by_hand():
    marked = np.array([True, False, True, False])
    scores = np.array([-3.0, 2.0, 1.0, 1.0])  # absolute values count
    # 3 beats both; 1 loses to 2 and ties with 1: (1 + 1 + 0 + 0.5) / 4.
    assert auroc(scores, marked) == pytest.approx(0.625)
    # At 3: precision 1. At the level 1, two of four: precision 2/4.
    assert average_precision(scores, marked) == pytest.approx((1 + 0.5) / 2)
    assert auroc(scores, np.zeros(4, dtype=bool)) is None
    assert average_precision(scores, np.ones(4, dtype=bool)) is None


def test_average_precision_is_scikit_learns():
    from sklearn.metrics import average_precision_score, roc_auc_score

    rng = np.random.default_rng(0)
    scores, marked = rng.integers(0, 6, 60).astype(float), rng.random(60) < 0.3
    assert average_precision(scores, marked) == pytest.approx(
        average_precision_score(marked, scores)
    )
    assert auroc(scores, marked) == pytest.approx(roc_auc_score(marked, scores))


def test_naive_bayes_by_hand():
    classifier = piste.from_function(additive({}))

    def players(text):
        return split(classifier.encode(text))

    found = NaiveBayes.fit([(players("good good film"), 1), (players("bad film"), 0)])
    # Laplace: 3 kinds; class 1 has 3 words, class 0 has 2.
    expected = [np.log((3 / 6) / (1 / 5)), np.log((1 / 6) / (2 / 5)), np.log((2 / 6) / (2 / 5))]
    assert found.weights(players("good bad film"), 1) == pytest.approx(expected)
    assert found.weights(players("good bad film"), 0) == pytest.approx(-np.array(expected))


def test_naive_bayes_of_one_label_against_another_by_hand():
    classifier = piste.from_function(additive({}))

    def players(text):
        return split(classifier.encode(text))

    texts = {"a": "good good film", "b": "bad film", "c": "good good good"}
    found = NaiveBayes.fit([(players(text), label) for label, text in texts.items()])
    # As if there were no third class, but for the kinds of words: 3.
    expected = [np.log((3 / 6) / (1 / 5)), np.log((1 / 6) / (2 / 5)), np.log((2 / 6) / (2 / 5))]
    assert found.weights(players("good bad film"), "a", "b") == pytest.approx(expected)
    assert found.weights(players("good bad film"), "b", "a") == pytest.approx(-np.array(expected))


def test_importances_are_compared_with_the_size_of_the_reference():
    planted = PlantedSlalom(6)
    found = piste.explain(planted.text, piste.from_function(planted), "slalom-ana")
    on = decision(planted.text, planted)
    import dataclasses

    by_importance = dataclasses.replace(found, primary="importance")
    ranks = found.scores["importance"]
    assert naive_bayes_correlation(by_importance, -np.exp(ranks), on.players) == pytest.approx(1)
    assert naive_bayes_correlation(found, found.scores["lin"], on.players) == pytest.approx(1)


def test_stability_and_randomisation(demo):
    text = "The plot is thin but the acting is superb and the end is beautiful."
    first, again, lime = (
        piste.explain(text, demo, "occlusion"),
        piste.explain(text, demo, "occlusion", seed=5),
        piste.explain(text, demo, "lime"),
    )
    assert stability(first, [again]) == pytest.approx(1.0)
    assert randomisation(first, again) == pytest.approx(1.0)
    lime.scores["removal"] = -first.scores["removal"]
    assert randomisation(first, lime) == pytest.approx(1.0)  # the sign alone is no change


def test_a_planted_linear_model_gives_occlusion_no_error_and_a_planted_slalom_gives_slalom_none():
    rng = np.random.default_rng(0)
    weights = {f"w{index}": float(value) for index, value in enumerate(rng.normal(size=12))}
    linear, planted = additive(weights), PlantedSlalom(12)
    for function, method in ((linear, "occlusion"), (planted, "slalom")):
        found = piste.explain(planted.text, piste.from_function(function), method, target=1)
        on = decision(planted.text, function)
        error = METRICS["removal-error"].measure(Case(on), found)
        assert error < (1e-9 if method == "occlusion" else 0.02)


def test_metrics_that_lack_what_they_need_say_nothing(demo):
    found = piste.explain("A superb film.", demo, "occlusion")
    on = decision("A superb film.", demo)
    for name in ("human-auroc", "human-ap", "naive-bayes", "stability", "randomisation"):
        assert METRICS[name].measure(Case(on), found) is None


def test_an_unknown_metric_is_guessed():
    with pytest.raises(piste.PisteError, match="Did you mean 'deletion'"):
        find_metric("delition")


def test_words_are_found_whole():
    on = decision("thin plot in all", additive({}))
    found = consensus(on.players, ["in", "all"], [[1, 0]])
    assert [p.text for p, mark in zip(on.players.items, found, strict=True) if mark] == ["in"]
    assert consensus(on.players, ["plot", "a"], [[1, 1]]) is None


def test_scores_without_a_side_are_compared_with_sizes(demo):
    import dataclasses

    on = decision("a b c", additive({}))
    found = piste.explain("a b c", piste.from_function(additive({})), "occlusion")
    weights = np.array([2.0, -3.0, 0.5])
    for name in ("importance", "grad-l2", "alpha-avg"):
        view = dataclasses.replace(found, scores={name: np.abs(weights)}, primary=name)
        assert naive_bayes_correlation(view, weights, on.players) == pytest.approx(1.0)
