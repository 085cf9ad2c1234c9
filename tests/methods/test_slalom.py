"""Settings of the Slalom method, and the variants of the paper."""

import re
import zlib

import numpy as np
import pytest

import piste
from piste.errors import InputError, SettingError
from piste.methods.base import agreement
from tests.planted import PlantedSlalom
from tests.test_explain import REVIEW, correlations


def explain(planted: PlantedSlalom, **settings) -> piste.Explanation:
    method = piste.Slalom(**settings)
    return piste.explain(planted.text, piste.from_function(planted), method, target="positive")


@pytest.mark.parametrize(
    "settings",
    [
        {"length": 2},
        {"length": 5},
        {"singles": False, "subsets": 0, "samples": 1000},  # the paper's SLALOM-eff
        {"singles": False, "subsets": 0, "samples": 0, "deletions": 400},  # its SLALOM-fidel
    ],
)
def test_every_design_recovers_a_planted_slalom(settings):
    planted = PlantedSlalom(15)
    assert min(correlations(planted, explain(planted, **settings))) > 0.995


def test_the_papers_sgd_gets_there_too():
    planted = PlantedSlalom(10)
    explanation = explain(planted, fit="sgd", samples=5000)
    assert min(correlations(planted, explanation)) > 0.9
    assert explanation.settings["fit"] == "sgd"


@pytest.mark.parametrize(("variant", "least"), [("eff", 0.9), ("fidel", 0.99)])
def test_the_papers_settings_by_name(variant, least):
    planted = PlantedSlalom(10)
    method = piste.Slalom.paper(variant)
    found = piste.explain(planted.text, piste.from_function(planted), method, target="positive")
    assert min(correlations(planted, found)) > least
    assert not method.frame
    assert found.stopped is None
    with pytest.raises(SettingError):
        piste.Slalom.paper("best")


def test_gamma_is_the_sum_of_the_importances():
    explanation = explain(PlantedSlalom(8), gamma=1.0)
    assert explanation.scores["importance"].sum() == pytest.approx(1.0)


def test_fresh_sequences_are_fresh():
    """The check must ask sequences that the fit has not seen."""
    asked: list[list[str]] = []
    planted = PlantedSlalom(6)

    def function(texts: list[str]) -> np.ndarray:
        asked.append(texts)
        return planted(texts)

    piste.explain(planted.text, piste.from_function(function), "slalom")
    assert len(asked.pop()) == 1  # asked again in the end, to see whether answers are steady
    everything = [text for batch in asked for text in batch]
    assert len(everything) == len(set(everything))


@pytest.mark.parametrize("method", [piste.Slalom.paper(), piste.Slalom(singles=False)])
def test_one_word_has_a_score_whatever_is_asked(method):
    found = piste.explain("w0", piste.from_function(PlantedSlalom(1)), method)
    assert np.isfinite(found.scores["value"]).all()


def test_one_word_leaves_nothing_to_check():
    explanation = piste.explain("w0", piste.from_function(PlantedSlalom(1)), "slalom")
    assert explanation.fidelity is None


def test_without_the_frame_player_no_share_is_reported(demo):
    explanation = piste.explain(REVIEW, demo, piste.Slalom(frame=False))
    assert explanation.frame_share is None


def test_the_frame_player_makes_the_fit_hold_across_lengths(demo):
    with_frame = piste.explain(REVIEW, demo, "slalom")
    without = piste.explain(REVIEW, demo, piste.Slalom(frame=False))
    assert with_frame.fit.loss < without.fit.loss


def test_a_bad_surrogate_is_seen_in_its_fidelity():
    """Answers that no SLALOM can give: the fidelity must say so."""
    function = piste.from_function(
        lambda texts: np.array([zlib.crc32(t.encode()) % 7 - 3.0 for t in texts])
    )
    text = " ".join(f"w{i}" for i in range(20))
    assert piste.explain(text, function, "slalom").fidelity.r2 < 0.3


def test_a_small_budget_asks_words_alone_first_and_says_what_it_missed():
    planted = PlantedSlalom(40)
    classifier = piste.from_function(planted)
    small = piste.explain(planted.text, classifier, "slalom", budget=30)
    assert "their scores are averages" in " ".join(small.notes)
    alone = [row for row in classifier_rows(small) if row == 1]
    assert len(alone) >= 10
    enough = piste.explain(planted.text, classifier, "slalom")
    assert not enough.notes


def classifier_rows(explanation: piste.Explanation) -> list[int]:
    """Lengths of the sequences a budgeted explanation asks, seen from the function."""
    lengths: list[int] = []
    planted = PlantedSlalom(len(explanation.players))

    def function(texts: list[str]) -> np.ndarray:
        lengths.extend(len(text.split()) for text in texts)
        return planted(texts)

    classifier = piste.from_function(function)
    piste.explain(explanation.text, classifier, "slalom", budget=explanation.budget)
    return lengths


def test_importances_that_cannot_be_known_are_named():
    """Every word says the same, up to noise: no answer tells their weights apart."""
    planted = PlantedSlalom(20)
    planted.values = dict.fromkeys(planted.words, 1.0)
    text = planted.text
    explanation = piste.explain(text, piste.from_function(planted.noisy(0.01)), "slalom")
    unknown = int(re.search(r"importance of (\d+) of 20", explanation.notes[0]).group(1))
    assert unknown >= 10
    told = piste.explain(text, piste.from_function(PlantedSlalom(20)), "slalom")
    assert "could not be estimated" not in " ".join(told.notes)


def test_one_word_needs_next_to_no_budget():
    classifier = piste.from_function(PlantedSlalom(1))
    assert piste.explain("w0", classifier, "slalom", budget=2).cost.forwards == 1


def test_more_words_than_can_be_fitted_are_refused():
    text = " ".join(f"w{index}" for index in range(3000))
    with pytest.raises(InputError, match="2,000 are the most"):
        piste.explain(text, piste.from_function(lambda texts: np.zeros(len(texts))), "slalom")


@pytest.mark.parametrize(
    "settings",
    [
        {"fit": "adam"},
        {"length": 0},
        {"samples": -1},
        {"subsets": 2.5},
        {"gamma": float("nan")},
        {"gamma": 1e6},
        {"singles": False, "samples": 0, "subsets": 0},
    ],
)
def test_settings_that_make_no_sense(settings):
    with pytest.raises(SettingError):
        piste.Slalom(**settings)


def test_where_the_model_hardly_moves_there_is_no_r2():
    true = np.array([1.0, 1.001, 0.999, 1.0, 1.002])
    assert agreement(true + 0.1, true, typical=1.0).r2 is None
    assert agreement(true + 0.1, true, typical=0.0).r2 < 0
    assert agreement(true, true).r2 == 1
    assert agreement(true[:4], true[:4]).r2 is None  # too few to say
    assert agreement(np.zeros(2), np.array([1.0, -1.0])).rmse == 1
