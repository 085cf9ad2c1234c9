"""The contract of a backend. Checks take a classifier; `piste.models.protocol` says it in words."""

from typing import get_args

import numpy as np

import piste
from piste.arrays import IntArray
from piste.models.protocol import Classifier, Outputs
from piste.text.encoding import Encoding
from tests.models.threads import TEXTS, hammer, state_of

SECONDS = 2.0  # `make soak` asks for longer


def framed(encoding: Encoding) -> IntArray:
    """The text, the text backwards, and the text again, as the model reads them [3, tokens]."""
    frame, ids = encoding.frame, encoding.ids
    rows = [[*frame.prefix, *body, *frame.suffix] for body in (ids, ids[::-1], ids)]
    return np.array(rows, dtype=np.int64)


def it_says_what_it_is(classifier: Classifier) -> None:
    outputs = classifier.logits(framed(classifier.encode(TEXTS[0]))).shape[1]
    assert classifier.name
    assert classifier.backend
    assert classifier.outputs in get_args(Outputs)
    assert classifier.labels is not None, "after an answer, the labels are known"
    assert len(classifier.labels) == outputs
    assert all(isinstance(label, str) for label in classifier.labels)


def every_token_has_its_place_in_the_text(classifier: Classifier) -> None:
    for text in TEXTS:
        encoding = classifier.encode(text)
        assert encoding.text == text
        assert len(encoding.ids) == len(encoding.spans) == len(encoding.keys) > 0
        assert all(0 <= start < end <= len(text) for start, end in encoding.spans)
        assert list(encoding.spans) == sorted(encoding.spans)
        assert classifier.encode(text) == encoding


def answers_are_finite_and_do_not_depend_on_the_batch(classifier: Classifier) -> None:
    for text in TEXTS:
        ids = framed(classifier.encode(text))
        together = classifier.logits(ids)
        assert together.shape[0] == 3
        assert np.isfinite(together).all()
        for row, answer in zip(ids, together, strict=True):
            alone = classifier.logits(row[None])[0]
            assert np.allclose(answer, alone, rtol=1e-3, atol=1e-4), text


def a_sequence_can_be_shown(classifier: Classifier) -> None:
    for text in TEXTS:
        shown = classifier.show(framed(classifier.encode(text))[0])
        assert isinstance(shown, str)
        assert shown.strip()


def its_decisions_can_be_explained(classifier: Classifier) -> None:
    explanation = piste.explain(TEXTS[0], classifier, "occlusion", target=0)
    assert np.isfinite(explanation.scores["removal"]).all()
    assert explanation.model == classifier.name
    assert explanation.backend == classifier.backend
    assert piste.Explanation.from_dict(explanation.to_dict()) == explanation


def threads_get_the_answers_that_one_would(classifier: Classifier) -> None:
    """And nothing of the user's model changes."""
    before = state_of(classifier)
    tally = hammer(classifier, seconds=SECONDS)
    assert state_of(classifier) == before
    assert tally.asked > 10
    assert tally.errors[:3] == []
    assert tally.wrong[:3] == []


CHECKS = (
    it_says_what_it_is,
    every_token_has_its_place_in_the_text,
    answers_are_finite_and_do_not_depend_on_the_batch,
    a_sequence_can_be_shown,
    its_decisions_can_be_explained,
    threads_get_the_answers_that_one_would,
)
