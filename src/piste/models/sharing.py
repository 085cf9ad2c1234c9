"""Several explanations at once on one model: their sequences share batches.

Every explanation runs in a thread of its own, and its query sends sequences through a common
`Gathering` instead of calling the model: all that it wants to know next, of every length. Whoever
asks waits until all others ask too (or have ended); then equally long sequences of all of them go
through the model together. Between questions one thread works at a time: Python would have them
take turns anyway, in small steps that cost a tenth of their time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.models.protocol import Classifier
from piste.options import BATCH_TOKENS

THREADS = 16  # explanations at once, whose sequences share batches
Item = TypeVar("Item")
Result = TypeVar("Result")


class Abandoned(Exception):
    """Raised where an explanation asks that nobody waits for any more."""


@dataclass
class _Question:
    ids: IntArray
    answer: FloatArray | None = None
    problem: BaseException | None = None
    seconds: float = 0.0  # its share of what the model took

    @property
    def is_open(self) -> bool:
        return self.answer is None and self.problem is None


@dataclass
class Gathering:
    """Collects the questions of several threads to one classifier. Use it through `together`."""

    classifier: Classifier
    active: int = 0  # threads that may ask
    batch_tokens: int = BATCH_TOKENS  # in a batch of the model
    waiting: list[list[_Question]] = field(default_factory=list)  # by thread
    abandoned: bool = False  # nobody wants the answers any more
    lock: threading.Condition = field(default_factory=threading.Condition)  # held by who works

    def answers(self, matrices: Sequence[IntArray]) -> tuple[list[FloatArray], float]:
        """What the classifier answers to matrices, each of sequences of one length, and the seconds
        that it took for them; returns once every active thread has asked.
        """
        questions = [_Question(ids) for ids in matrices]
        with self.lock:
            self.waiting.append(questions)
            while any(question.is_open for question in questions):
                if self.abandoned:
                    raise Abandoned
                if len(self.waiting) >= self.active:
                    self._answer_all()
                else:
                    self.lock.wait()
        for question in questions:
            if question.problem is not None:
                raise question.problem
        answers = [question.answer for question in questions if question.answer is not None]
        return answers, sum(question.seconds for question in questions)

    def leave(self) -> None:
        """Say that this thread will not ask again."""
        with self.lock:
            self.active -= 1
            self.lock.notify_all()

    def abandon(self) -> None:
        """Have every thread end at its next question."""
        self.abandoned = True  # heard between two batches, while the lock is held for all
        with self.lock:
            self.lock.notify_all()

    def _answer_all(self) -> None:
        """Ask the model for everything that waits, longest first; the lock is held."""
        asked, self.waiting = list(chain.from_iterable(self.waiting)), []
        try:
            for length in sorted({question.ids.shape[1] for question in asked}, reverse=True):
                if self.abandoned:
                    break
                self._answer([one for one in asked if one.ids.shape[1] == length])
        except BaseException as error:  # SystemExit of a user's function: it ends all of them
            for question in asked:
                question.problem = error
            raise
        finally:
            self.lock.notify_all()

    def _answer(self, asked: list[_Question]) -> None:
        started = time.perf_counter()
        rows = np.concatenate([question.ids for question in asked])
        distinct, place = np.unique(rows, axis=0, return_inverse=True)
        size = max(1, self.batch_tokens // max(1, rows.shape[1]))
        try:
            parts = [
                self.classifier.logits(distinct[start : start + size])
                for start in range(0, len(distinct), size)
            ]
            answers = np.concatenate(parts)[place.reshape(-1)]
        except Exception as error:  # every thread must hear of it, or it waits for ever
            self._answer_one_by_one(asked, error)
            return
        start, each = 0, (time.perf_counter() - started) / len(rows)
        for question in asked:
            question.answer = answers[start : start + len(question.ids)]
            question.seconds = each * len(question.ids)
            start += len(question.ids)

    def _answer_one_by_one(self, asked: list[_Question], problem: Exception) -> None:
        """Answer each question by itself, so that only those the model cannot answer fail."""
        for question in asked:
            try:
                if len(asked) == 1:
                    raise problem
                started = time.perf_counter()
                question.answer = self.classifier.logits(question.ids)
                question.seconds = time.perf_counter() - started
            except Exception as error:
                question.problem = error


def together(
    classifier: Classifier,
    items: Sequence[Item],
    work: Callable[[Gathering, Item], Result],
    threads: int,
    batch_tokens: int = BATCH_TOKENS,
) -> Generator[Result]:
    """`work(gathering, item)` for all items in order, `threads` at a time on shared batches.

    In groups that end before the next begins: so the batches are the same in every run.
    """
    with ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        for start in range(0, len(items), max(1, threads)):
            group = items[start : start + max(1, threads)]
            gathering = Gathering(classifier, active=len(group), batch_tokens=batch_tokens)
            try:
                yield from pool.map(partial(_one, gathering, work), group)
            except BaseException:  # interrupted, or left: the threads need not end their work
                gathering.abandon()
                raise


def _one(gathering: Gathering, work: Callable[[Gathering, Item], Result], item: Item) -> Result:
    with gathering.lock:  # released while it waits for answers
        try:
            return work(gathering, item)
        finally:
            gathering.leave()
