"""One text of three words, on a bag of words whose every answer can be worked out by hand."""

import pytest

import piste
from piste.decision import Decision
from piste.options import Options
from tests.planted import additive


def decision(text: str, model: object, repeats: str = "separate") -> Decision:
    """model: weights of a bag of words, a function of texts, or a classifier."""
    function = additive(model) if isinstance(model, dict) else model
    classifier = function if hasattr(function, "encode") else piste.from_function(function)
    return Decision.on(text, classifier, Options(target="positive", repeats=repeats))


@pytest.fixture
def three() -> Decision:
    return decision("a b c", {"a": 2.0, "b": -1.0, "c": 0.5})
