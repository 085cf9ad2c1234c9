"""One classifier asked by several threads at once: the same answers, and no more abilities."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import piste
from piste.models.protocol import WithAttention, WithGradients, WithNotes, WithTokens
from piste.models.shared import shared

TEXT = "the film was good, the acting superb and the plot not bad at all"
METHODS = ["slalom", "gradients", "attention", "occlusion"] * 2


def test_it_can_do_what_its_classifier_can(bert):
    function = piste.from_function(lambda texts: [float(len(text)) for text in texts])
    for classifier in (bert, function):
        for ability in (WithAttention, WithGradients, WithNotes, WithTokens):
            assert isinstance(shared(classifier), ability) == isinstance(classifier, ability)


def test_it_tells_the_same_of_itself(bert):
    ours = shared(bert)
    assert (ours.name, ours.backend, ours.labels) == (bert.name, bert.backend, bert.labels)
    assert ours.outputs == bert.outputs
    assert ours.encode(TEXT) == bert.encode(TEXT)


def test_threads_get_the_answers_that_one_would(bert):
    ours = shared(bert)
    alone = {name: piste.explain(TEXT, bert, name) for name in set(METHODS)}
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda name: piste.explain(TEXT, ours, name), METHODS))
    for name, found in zip(METHODS, together, strict=True):
        scores = alone[name].scores[alone[name].primary]
        np.testing.assert_allclose(found.scores[found.primary], scores, rtol=1e-5, atol=1e-6)


def test_only_one_question_at_a_time():
    inside, most = threading.Semaphore(1), []

    def answer(texts: list[str]) -> list[float]:
        most.append(inside.acquire(blocking=False))
        inside.release()
        return [float(text.count("good")) for text in texts]

    ours = shared(piste.from_function(answer))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: piste.explain(text, ours), ["good film", "a good end"] * 4))
    assert all(most)


def test_a_failure_opens_the_lock_again():
    def refuse(texts: list[str]) -> list[float]:
        raise ValueError("no")

    ours = shared(piste.from_function(refuse))
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            piste.explain("good film", ours)
    assert not ours.lock.locked()
