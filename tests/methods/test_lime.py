"""LIME: planted weights, the sampling of the paper, and the lime package itself."""

import numpy as np
import pytest
from lime.lime_base import LimeBase
from lime.lime_text import LimeTextExplainer
from scipy import stats

import piste
from piste.errors import SettingError
from piste.methods.lime import Lime, lime_samples
from tests.planted import PlantedSlalom, additive

TEXT = "the acting is superb but the plot is thin and far too long"
WEIGHTS = {"superb": 2.0, "thin": -1.5, "long": -0.7, "the": 0.25, "acting": 0.4}


def explain(function, text=TEXT, **settings):
    return piste.explain(text, piste.from_function(function), Lime(**settings), target="positive")


def by_word(explanation: piste.Explanation, name: str = "weight") -> dict[str, float]:
    return {
        player.text: score
        for player, score in zip(explanation.players, explanation.scores[name], strict=True)
    }


def test_the_weights_of_an_additive_model_are_found():
    found = by_word(explain(additive(WEIGHTS), ridge=1e-6))
    occurrences = {word: TEXT.split().count(word) for word in found}
    for word, weight in found.items():
        assert weight == pytest.approx(WEIGHTS.get(word, 0.0) * occurrences[word], abs=1e-4)


def test_an_occurrence_has_its_part_of_the_weight():
    explanation = explain(additive(WEIGHTS), ridge=1e-6)
    assert by_word(explanation, "removal")["the"] == pytest.approx(0.25, abs=1e-4)
    places = [i for i, player in enumerate(explanation.players) if player.text == "the"]
    assert explanation.change(places) == pytest.approx(0.5, abs=1e-4)
    assert explanation.fidelity.r2 > 0.999


def test_how_many_words_are_removed_is_uniform():
    kept = lime_samples(np.random.default_rng(0), 8, 20_001)
    assert kept[0].all()
    removed = np.bincount((~kept[1:]).sum(axis=1), minlength=9)
    assert removed[0] == 0
    assert stats.chisquare(removed[1:]).pvalue > 1e-4
    assert stats.chisquare((~kept[1:]).sum(axis=0)).pvalue > 1e-4


def test_the_same_samples_give_the_lime_packages_weights():
    """The package's own regression, on our samples and answers."""
    rng = np.random.default_rng(0)
    kept = lime_samples(rng, 9, 400)
    answers = rng.normal(size=400) + kept @ rng.normal(size=9)
    method = Lime()
    distances = 100 * (1 - np.sqrt(kept.mean(axis=1)))
    base = LimeBase(lambda d: np.sqrt(np.exp(-(d**2) / 25**2)))
    theirs = base.explain_instance_with_data(
        kept.astype(float), answers[:, None], distances, 0, 9, feature_selection="none"
    )
    from piste.surrogates.linear import fit_linear

    ours = fit_linear(kept.astype(float), answers, method.weights(kept), method.ridge)
    assert ours.intercept == pytest.approx(theirs[0])
    assert ours.weights == pytest.approx([weight for _, weight in sorted(theirs[1])])


def test_the_lime_package_agrees_on_a_text():
    planted = PlantedSlalom(9, seed=3)

    def scores(texts: list[str]) -> np.ndarray:
        filled = np.array([planted.margin(text) if text.split() else 0.0 for text in texts])
        return np.stack([-filled, filled], axis=1)

    lime = LimeTextExplainer(split_expression=r"\s+", random_state=0)
    theirs = lime.explain_instance(planted.text, scores, num_samples=8000, num_features=9)
    ours = explain(lambda texts: scores(texts)[:, 1], planted.text, samples=8000)
    expected = dict(theirs.as_list())
    found = by_word(ours)
    assert [found[word] for word in expected] == pytest.approx(list(expected.values()), abs=0.06)


def test_errors_cover_the_limit():
    """Other samples move the weights about as far as the errors say."""
    planted = PlantedSlalom(10)
    runs = [
        piste.explain(planted.text, piste.from_function(planted), Lime(samples=300), seed=seed)
        for seed in range(20)
    ]
    weights = np.array([run.scores["weight"] for run in runs])
    errors = np.array([run.errors["weight"] for run in runs])
    assert 0.6 < np.median(weights.std(axis=0)) / np.median(errors) < 1.6


def test_errors_hold_what_the_ridge_takes_away(demo):
    """Few samples near the text: the ridge pulls the weights to 0, and the errors say how far."""
    text = "The plot is thin, but the acting is superb."
    limit = piste.explain(text, demo, Lime(samples=20_000, ridge=0.0)).scores["weight"]
    for samples in (60, 200):
        found = piste.explain(text, demo, Lime(samples=samples))
        gaps = np.abs(found.scores["weight"] - limit) / found.errors["weight"]
        assert np.mean(gaps < 2) >= 0.8, gaps


def test_a_kernel_that_sees_nothing_says_so(demo):
    found = piste.explain("superb acting and a thin plot", demo, Lime(width=1e-3))
    assert not found.errors
    assert "Too few samples are near the text" in " ".join(found.notes)
    short = piste.explain("not good", demo, Lime())
    assert "The ridge penalty shrinks the weights" in " ".join(short.notes)


def test_words_can_be_replaced_in_place(demo):
    text = "The plot is thin, but the acting is superb."
    deleted = piste.explain(text, demo, Lime(samples=200))
    replaced = piste.explain(text, demo, Lime(samples=200, removal="unk"))
    assert not np.allclose(deleted.scores["weight"], replaced.scores["weight"])
    encoded = demo.encode(text)
    length = len(encoded.ids) + encoded.frame.size
    assert replaced.cost.tokens == replaced.cost.forwards * length


def test_a_function_has_no_token_to_put_in_place():
    with pytest.raises(SettingError, match="delete"):
        explain(additive(WEIGHTS), removal="unk")


@pytest.mark.parametrize(
    "settings", [{"samples": 1}, {"width": 0}, {"ridge": -1}, {"removal": "blank"}]
)
def test_settings_that_make_no_sense(settings):
    with pytest.raises(SettingError):
        Lime(**settings)
