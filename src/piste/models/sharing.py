"""Several explanations at once on one model: their sequences share batches.

Every explanation runs in a thread of its own, and its query sends sequences through a common
`Gathering` instead of calling the model. Whoever asks waits until all others ask too (or have
ended); then equally long sequences of all of them go through the model together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.models.protocol import Classifier
from piste.options import BATCH_TOKENS

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class _Question:
    ids: IntArray
    answer: FloatArray | None = None
    problem: BaseException | None = None


@dataclass
class Gathering:
    """Collects the questions of several threads to one classifier. Use it through `together`."""

    classifier: Classifier
    active: int = 0  # threads that may ask
    waiting: list[_Question] = field(default_factory=list)
    lock: threading.Condition = field(default_factory=threading.Condition)
    # For all but logits: a classifier that a user wrote need not be made for threads.
    turn: threading.Lock = field(default_factory=threading.Lock)

    def logits(self, ids: IntArray) -> FloatArray:
        """What the classifier answers; returns once every active thread has asked."""
        question = _Question(ids)
        with self.lock:
            self.waiting.append(question)
            while question.answer is None and question.problem is None:
                if len(self.waiting) >= self.active:
                    self._answer_all()
                else:
                    self.lock.wait()
        if question.problem is not None:
            raise question.problem
        assert question.answer is not None
        return question.answer

    def leave(self) -> None:
        """Say that this thread will not ask again."""
        with self.lock:
            self.active -= 1
            self.lock.notify_all()

    def _answer_all(self) -> None:
        """Ask the model for everything that waits, longest first; the lock is held."""
        asked, self.waiting = self.waiting, []
        for length in sorted({question.ids.shape[1] for question in asked}, reverse=True):
            some = [question for question in asked if question.ids.shape[1] == length]
            self._answer(some)
        self.lock.notify_all()

    def _answer(self, asked: list[_Question]) -> None:
        rows = np.concatenate([question.ids for question in asked])
        distinct, place = np.unique(rows, axis=0, return_inverse=True)
        size = max(1, BATCH_TOKENS // max(1, rows.shape[1]))
        try:
            parts = [
                self.classifier.logits(distinct[start : start + size])
                for start in range(0, len(distinct), size)
            ]
            answers = np.concatenate(parts)[place.reshape(-1)]
        except Exception as error:  # every thread must hear of it, or it waits for ever
            self._answer_one_by_one(asked, error)
            return
        start = 0
        for question in asked:
            question.answer = answers[start : start + len(question.ids)]
            start += len(question.ids)

    def _answer_one_by_one(self, asked: list[_Question], problem: Exception) -> None:
        """Answer each question by itself, so that only those the model cannot answer fail."""
        for question in asked:
            try:
                if len(asked) == 1:
                    raise problem
                question.answer = self.classifier.logits(question.ids)
            except Exception as error:
                question.problem = error


def together(
    classifier: Classifier,
    items: Sequence[Item],
    work: Callable[[Gathering, Item], Result],
    threads: int,
) -> Iterator[Result]:
    """`work(gathering, item)` for all items in order, `threads` at a time on shared batches.

    In groups that end before the next begins: so the batches are the same in every run.
    """
    with ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        for start in range(0, len(items), max(1, threads)):
            group = items[start : start + max(1, threads)]
            gathering = Gathering(classifier, active=len(group))
            yield from pool.map(partial(_one, gathering, work), group)


def _one(gathering: Gathering, work: Callable[[Gathering, Item], Result], item: Item) -> Result:
    try:
        return work(gathering, item)
    finally:
        gathering.leave()
