"""One text of three words, on a bag of words whose every answer can be worked out by hand."""

from typing import NamedTuple

import pytest

import piste
from piste.explanation import Target
from piste.models.query import Query
from piste.models.target import resolve_target
from piste.text.players import Players, split
from tests.planted import additive


class Trial(NamedTuple):
    query: Query
    players: Players
    target: Target


def trial(text: str, model: object, repeats: str = "separate") -> Trial:
    """model: weights of a bag of words, a function of texts, or a classifier."""
    function = additive(model) if isinstance(model, dict) else model
    classifier = function if hasattr(function, "encode") else piste.from_function(function)
    encoding = classifier.encode(text)
    players = split(encoding, "word", repeats)
    query = Query(classifier, encoding.frame)
    whole = query.logits(players.whole.expand(players.ids))[0]
    return Trial(query, players, resolve_target(classifier, whole, "positive"))


@pytest.fixture
def three() -> Trial:
    return trial("a b c", {"a": 2.0, "b": -1.0, "c": 0.5})
