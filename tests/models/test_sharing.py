"""Explanations of several threads on one classifier: the same answers, and shared batches."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import piste
from piste.arrays import Ragged
from piste.errors import OutputError
from piste.models.query import Query
from piste.models.sharing import together
from tests.models.test_query import FRAME, Recorder

TEXT = "the film was good, the acting superb and the plot not bad at all"
METHODS = ["slalom", "gradients", "attention", "occlusion"] * 2


def test_threads_get_the_answers_that_one_would(bert):
    alone = {name: piste.explain(TEXT, bert, name) for name in set(METHODS)}
    with ThreadPoolExecutor(4) as pool:
        apart = list(pool.map(lambda name: piste.explain(TEXT, bert, name), METHODS))

    def gathered(gathering, name):
        return piste.explain(TEXT, bert, name, gathering=gathering)

    shared = list(together(bert, METHODS, gathered, threads=4))
    for name, *explanations in zip(METHODS, apart, shared, strict=True):
        scores = alone[name].scores[alone[name].primary]
        for explanation in explanations:
            primary = explanation.scores[explanation.primary]
            np.testing.assert_allclose(primary, scores, rtol=1e-5, atol=1e-6)


def test_equal_sequences_of_several_texts_are_asked_once():
    batches = []

    def answer(texts: list[str]) -> list[float]:
        batches.append(texts)
        return [float(text.count("good")) for text in texts]

    classifier = piste.from_function(answer)
    texts = ["good film", "good end", "good plot"]
    for _ in together(
        classifier,
        texts,
        lambda gathering, text: piste.explain(text, classifier, "occlusion", gathering=gathering),
        threads=3,
    ):
        pass
    asked = [text for batch in batches for text in batch]
    # "good" alone is a part of all three texts; one sequence of all is asked again, for a note.
    assert asked.count("good") <= 2
    assert set(batches[0]) == set(texts)


class OneAtATime:
    """A classifier that a user wrote, and that no two threads may use at once."""

    name, backend, labels, outputs = "mine", "mine", ("bad", "good"), "classes"

    def __init__(self) -> None:
        self.inner = piste.from_function(lambda texts: [float("good" in t) for t in texts])
        self.inside = threading.Semaphore(1)
        self.alone: list[bool] = []

    def _asked(self, verb, *given):
        free = self.inside.acquire(blocking=False)
        self.alone.append(free)
        answer = getattr(self.inner, verb)(*given)
        if free:
            self.inside.release()
        return answer

    def encode(self, text, pair=None):
        return self._asked("encode", text, pair)

    def logits(self, ids):
        return self.inner.logits(ids)

    def show(self, ids):
        return self.inner.show(ids)

    def notes(self, may_ask=True, whole=None):
        return self._asked("notes", may_ask, whole)


def test_a_classifier_of_the_user_reads_one_text_at_a_time():
    classifier = OneAtATime()
    texts = ["good film", "a good end"] * 8
    for _ in together(
        classifier,
        texts,
        lambda gathering, text: piste.explain(text, classifier, gathering=gathering),
        threads=8,
    ):
        pass
    assert len(classifier.alone) == 2 * len(texts)
    assert all(classifier.alone)


def test_a_function_is_asked_by_one_thread_at_a_time():
    inside, alone = threading.Semaphore(1), []

    def answer(texts: list[str]) -> list[float]:
        alone.append(inside.acquire(blocking=False))
        inside.release()
        return [float(text.count("good")) for text in texts]

    classifier = piste.from_function(answer)
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(lambda text: piste.explain(text, classifier), ["good film", "a good end"] * 4)
        )
    assert all(alone)


def test_after_a_failure_the_next_question_is_asked():
    def refuse(texts: list[str]) -> list[float]:
        raise ValueError("no")

    classifier = piste.from_function(refuse)

    def fails(gathering, text):
        with pytest.raises(OutputError, match="ValueError: no"):
            piste.explain(text, classifier, gathering=gathering)
        return True

    assert all(together(classifier, ["good film"] * 4, fails, threads=2))


def test_a_function_that_exits_ends_all_threads():
    """Every thread that waits for an answer hears of it, or the run would never end."""

    def leave(texts: list[str]) -> list[float]:
        raise SystemExit(3)

    classifier = piste.from_function(leave)

    def explained(gathering, text):
        return piste.explain(text, classifier, "occlusion", gathering=gathering)

    ended = []

    def run() -> None:
        with pytest.raises(SystemExit):
            list(together(classifier, ["good film", "bad end", "a plot"], explained, threads=3))
        ended.append(True)

    running = threading.Thread(target=run, daemon=True)  # if it hangs, the test fails
    running.start()
    running.join(timeout=60)
    assert ended


def test_seconds_leave_out_the_wait_for_others():
    """The model rests for so long a question: all explanations together say so once, not each."""
    rest, called = 0.02, []

    def answer(texts: list[str]) -> list[float]:
        time.sleep(rest)
        called.append(rest)
        return [float(text.count("good")) for text in texts]

    classifier = piste.from_function(answer)

    def explained(gathering, text):
        return piste.explain(text, classifier, "slalom", gathering=gathering)

    texts = [f"a good film with {word} and a plot" for word in "abcdefgh"]
    started = time.perf_counter()
    costs = [one.cost for one in together(classifier, texts, explained, threads=8)]
    took = time.perf_counter() - started
    for cost in costs:
        assert cost.query_seconds > 0
        assert cost.fit_seconds >= 0
    assert sum(called) <= sum(one.query_seconds for one in costs)
    assert sum(one.query_seconds + one.fit_seconds for one in costs) <= took


def test_sequences_of_all_lengths_share_batches():
    classifier = Recorder()

    def asked(gathering, data):
        return Query(classifier, FRAME, gathering=gathering).logits(Ragged.of(data)).tolist()

    questions = [[[1], [2, 3], [4, 5, 6]], [[7, 8, 9], [1]]]
    expected = [[[600 + sum(row), 3 + len(row)] for row in data] for data in questions]
    assert list(together(classifier, questions, asked, threads=2)) == expected
    assert sorted(batch.shape for batch in classifier.batches) == [(1, 4), (1, 5), (2, 6)]


def test_what_does_not_fit_into_memory_is_asked_in_smaller_batches():
    def answer(texts: list[str]) -> list[float]:
        if len(texts) > 2:
            raise MemoryError
        return [float(text.count("good")) for text in texts]

    classifier = piste.from_function(answer)

    def explained(gathering, text):
        return piste.explain(text, classifier, "occlusion", gathering=gathering)

    texts = ["good film of the year", "a good end to it all"]
    for text, explanation in zip(
        texts, together(classifier, texts, explained, threads=2), strict=True
    ):
        place = text.split().index("good")
        assert explanation.scores[explanation.primary].argmax() == place
