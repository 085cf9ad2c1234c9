"""The contract of a score. Checks take its name and its line of the `SCORES` table."""

import html
import string

import numpy as np
import pytest

import piste
from piste.errors import PisteError
from piste.result.scores import CLASS, Score
from tests.render.samples import sample

FILLED_IN = {"unit": "word", "scale": "log-odds", "method": "mine", "sides": "It has sides."}


def shown(name: str) -> piste.Explanation:
    """An explanation that has this score only."""
    text = "a superb film"
    return sample(text, scores={name: np.array([0.1, 2.0, 0.5])}, primary=name, method="mine")


def its_meaning_is_one_phrase(name: str, score: Score) -> None:
    fields = {field for _, field, _, _ in string.Formatter().parse(score.meaning) if field}
    assert fields <= FILLED_IN.keys()
    assert 10 < len(score.meaning) < 160
    assert not score.meaning.endswith(".")
    assert CLASS not in name  # "value: neutral" is the score of another class


def its_facts_do_not_contradict_each_other(name: str, score: Score) -> None:
    if not score.signed:
        assert not score.predicts, "without a side there is no direction to predict"
        assert not score.adds_up, "what adds up to a signed score has sides"
        assert "{sides}" not in score.meaning
    if score.adds_up:
        assert score.predicts


def it_is_shown_with_its_meaning(name: str, score: Score) -> None:
    beginning = " ".join(score.meaning.format(**FILLED_IN).split()[:4])
    page = html.unescape(shown(name).to_html())
    assert beginning in " ".join(page.split())
    assert name in str(shown(name))


def it_survives_json(name: str, score: Score) -> None:
    explanation = shown(name)
    assert piste.Explanation.from_dict(explanation.to_dict()) == explanation


def shap_shows_it_where_it_has_a_side(name: str, score: Score) -> None:
    if score.signed:
        shap = pytest.importorskip("shap")
        assert isinstance(shown(name).to_shap(name), shap.Explanation)
    else:
        with pytest.raises(PisteError):
            shown(name).to_shap(name)


CHECKS = (
    its_meaning_is_one_phrase,
    its_facts_do_not_contradict_each_other,
    it_is_shown_with_its_meaning,
    it_survives_json,
    shap_shows_it_where_it_has_a_side,
)
