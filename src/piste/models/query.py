"""The only caller of a model: frames, de-duplicates, buckets by length, batches, counts."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from piste.arrays import FloatArray, IntArray, Ragged
from piste.errors import OutputError, SettingError, few, is_passing
from piste.models.abilities import attentive, check_finite, differentiable
from piste.models.loading_errors import is_out_of_memory
from piste.models.protocol import Classifier, MayReadNothing, Verifiable, WithNotes, WithTokens
from piste.models.sharing import Gathering
from piste.options import BATCH_TOKENS
from piste.progress import Progress
from piste.text.encoding import TYPE, Frame

log = logging.getLogger(__name__)

GRADIENT_SHARE = 8  # times fewer tokens at once where every layer's activations are kept
OnRound = Callable[[Mapping[str, FloatArray]], None]  # scores so far, by name, each [players]
Answer = TypeVar("Answer")


@dataclass
class Query:
    """One explanation's access to the model: it counts, batches and keeps to the budget."""

    classifier: Classifier
    frame: Frame
    budget: int | None = None  # sequences the model may be asked, at most
    tolerance: float | None = None  # how exact is exact enough: methods that sample stop there
    batch_tokens: int = BATCH_TOKENS
    progress: Progress | None = None
    forwards: int = 0
    tokens: int = 0
    seconds: float = 0.0  # that the model took
    waited: float = 0.0  # seconds for the questions and the work of other explanations
    planned: int = 0
    answers: dict[bytes, FloatArray] = field(default_factory=dict)  # [outputs] of framed sequences
    rounds: OnRound | None = None  # told after every round, by methods that have some
    longest: int = 0  # tokens of the longest sequence so far: the whole text
    whole: FloatArray | None = None  # the answer [outputs] to it
    verified: bool = False  # whether the classifier has been compared with its original
    remarks: tuple[str, ...] = ()  # what that has shown
    failed_on_nothing: Exception | None = None  # what came of asking about an empty text
    gathering: Gathering | None = None  # asks the classifier for several queries at once

    @property
    def left(self) -> int | None:
        """How many sequences may still be asked; None without a budget."""
        return None if self.budget is None else max(0, self.budget - self.forwards)

    @property
    def away(self) -> float:
        """Seconds that were not spent in the explanation's own code."""
        return self.seconds + self.waited

    def anew(self, budget: int | None) -> "Query":
        """A query that counts from 0, with its own budget, and shares the answers so far."""
        return replace(
            self,
            budget=budget,
            forwards=0,
            tokens=0,
            seconds=0.0,
            waited=0.0,
            planned=0,
            longest=0,
            whole=None,
        )

    def count_too(self, line: "Query") -> None:
        """Add the cost of another query, made by `anew`."""
        self.forwards += line.forwards
        self.tokens += line.tokens
        self.seconds += line.seconds
        self.waited += line.waited

    def plan(self, sequences: int) -> None:
        """Announce how many more sequences are coming, for the progress bar."""
        self.planned = self.forwards + sequences

    def logits(self, rows: Ragged) -> FloatArray:
        """The model's outputs [rows, outputs] for rows of token ids without frame, in order."""
        if not len(rows):
            return np.empty((0, len(next(iter(self.answers.values()), ()))))
        lengths = np.unique(rows.lengths)
        places = [np.flatnonzero(rows.lengths == length) for length in lengths]
        with self._clock():
            framed = [
                self._framed(rows.take(where), int(length))
                for where, length in zip(places, lengths, strict=True)
            ]
            if self.gathering is not None:
                self._ask_with_others(framed, self.gathering)
            logits = np.concatenate([self._ask_unique(ids) for ids in framed])
        return logits[np.argsort(np.concatenate(places))]

    @property
    def reads_nothing(self) -> bool:
        """Whether the model answers an empty text: its special tokens are something to read.

        A function may answer it too. It is tried, once for each classifier; again by the next query
        where it failed for a reason that may pass.
        """
        classifier = self.classifier
        if self.frame.prefix or self.frame.suffix or not isinstance(classifier, MayReadNothing):
            return self.frame.size > 0
        if classifier.reads_nothing is None and self.failed_on_nothing is None and self.left != 0:
            self._try_nothing(classifier)
        return bool(classifier.reads_nothing)

    def _try_nothing(self, classifier: MayReadNothing) -> None:
        """Ask about the empty text, past all others that wait: a failure is no error of theirs."""
        ids = np.array([self.frame.between], dtype=np.int64)
        try:
            with self._clock():
                self._keep(ids, self.classifier.logits(ids))
            classifier.reads_nothing = True
        except Exception as error:  # whatever a function does with no text
            log.debug("The model cannot read an empty text: %s", error)
            self.failed_on_nothing = error
            if not is_passing(error):
                classifier.reads_nothing = False

    def notes(self) -> tuple[str, ...]:
        """The classifier's notes on its answers to this query."""
        if not isinstance(self.classifier, WithNotes):
            return self.remarks
        return self.remarks + self.classifier.notes(self.left != 0, self.whole)

    def sequence(self, row: Ragged) -> IntArray:
        """One row of token ids as the model reads it, frame included [1, tokens]."""
        return self._framed(row, len(row.values))

    def token_id(self, name: str) -> int | None:
        """The id of the "unk", "mask" or "pad" token; None where there is none."""
        return self.classifier.token_id(name) if isinstance(self.classifier, WithTokens) else None

    def embed(self, ids: IntArray) -> FloatArray:
        """The embeddings [rows, tokens, width] of framed sequences [rows, tokens]."""
        with self._clock():
            return differentiable(self.classifier).embed(ids)

    def gradients(
        self,
        embeddings: FloatArray,
        index: int,
        ids: IntArray | None = None,
        against: int | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Margins [rows] towards output `index`, and their gradients [rows, tokens, width].

        ids [1, tokens]: the sequence that the embeddings stand for, for its tokens' types.
        against: the one output that the margins are against; None: all others.

        Each row counts as one sequence sent through the model; the way back, about twice as
        long, is not counted apart.
        """
        answers = self._in_batches(self._differentiated(index, ids, against), embeddings)
        margins, gradients = (np.concatenate(parts) for parts in zip(*answers, strict=True))
        check_finite("gradients", margins, gradients)
        return margins, gradients

    def _differentiated(
        self, index: int, ids: IntArray | None, against: int | None
    ) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
        """A batch of embeddings to margins and gradients."""
        call = partial(differentiable(self.classifier).gradients, index=index)
        if against is not None:
            call = partial(call, against=against)
        types = None if ids is None else ids // TYPE
        if types is None or not types.any():
            return call
        return lambda batch: call(batch, types=np.repeat(types, len(batch), axis=0))

    def attentions(self, ids: IntArray) -> tuple[FloatArray, int]:
        """Attention [layers, rows, heads, tokens, tokens] in framed sequences [rows, tokens], and
        the position that the classification is read from.
        """
        answers = self._in_batches(attentive(self.classifier).attentions, ids)
        weights = np.concatenate([weights for weights, _ in answers], axis=1)
        check_finite("attention weights", weights)
        return weights, answers[0][1]

    def gradient_rows(self, tokens: int) -> int:
        """How many sequences of this length make up a batch where gradients are kept."""
        return max(1, self.batch_tokens // GRADIENT_SHARE // max(1, tokens))

    def _in_batches(
        self, call: Callable[[NDArray[Any]], Answer], given: NDArray[Any]
    ) -> list[Answer]:
        """The answers to all rows [rows, tokens, ...], as many at once as memory allows."""
        self._spend(len(given))
        answers: list[Answer] = []
        start = 0
        with self._clock():
            while start < len(given):
                batch = given[start : start + self.gradient_rows(given.shape[1])]
                answer = self._fitting(partial(call, batch), batch.shape, GRADIENT_SHARE)
                if answer is not None:
                    answers.append(answer)
                    self._count(*batch.shape[:2])
                    start += len(batch)
        return answers

    @contextmanager
    def _clock(self) -> Iterator[None]:
        """Count the time as the model's, all but what was spent waiting."""
        started, waited = time.perf_counter(), self.waited
        yield
        self.seconds += time.perf_counter() - started - (self.waited - waited)

    def _framed(self, rows: Ragged, length: int) -> IntArray:
        """Equal rows as a matrix [rows, frame + length]."""
        return self.frame.around(rows.values.reshape(len(rows), length))

    def _ask_with_others(self, matrices: list[IntArray], gathering: Gathering) -> None:
        """Have all sequences answered that were not, of every length at once.

        Those that do not fit into memory so are left to be asked one length after the other.
        """
        batches = [batch for ids in matrices for batch in self._batches(ids, self._new(ids))]
        self._spend(sum(map(len, batches)))
        for ids in batches[:1]:
            self._verify(ids[:1])
        try:
            answers = self._gathered(batches, gathering) if batches else []
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            return
        for ids, logits in zip(batches, answers, strict=True):
            self._keep(ids, logits)

    def _gathered(self, batches: list[IntArray], gathering: Gathering) -> list[FloatArray]:
        """The answers to these batches; of the time that passes only a share is the model's."""
        started = time.perf_counter()
        answers, seconds = gathering.answers(batches)
        self.waited += max(0.0, time.perf_counter() - started - seconds)
        return answers

    def _ask_unique(self, ids: IntArray) -> FloatArray:
        """Answers for a matrix of equally long sequences, each distinct one asked once, ever."""
        new = self._new(ids)
        self._spend(len(new))
        self._verify(ids[new[:1]])
        while new:
            # The size is taken anew for every batch: it shrinks when memory runs out.
            batch = next(self._batches(ids, new))
            logits = self._try(batch)
            if logits is not None:
                self._keep(batch, logits)
                new = new[len(batch) :]
        answers = np.array([self.answers[row.tobytes()] for row in ids])
        if ids.shape[1] > self.longest:
            self.longest, self.whole = ids.shape[1], answers[0]
        return answers

    def _new(self, ids: IntArray) -> list[int]:
        """Which rows are the first of sequences that were not answered yet."""
        first: dict[bytes, int] = {}
        for index, row in enumerate(ids):
            first.setdefault(row.tobytes(), index)
        return [index for key, index in first.items() if key not in self.answers]

    def _batches(self, ids: IntArray, some: list[int]) -> Iterator[IntArray]:
        """These rows, as many at once as memory allows."""
        size = max(1, self.batch_tokens // max(1, ids.shape[1]))
        return (ids[some[start : start + size]] for start in range(0, len(some), size))

    def _keep(self, ids: IntArray, logits: FloatArray) -> None:
        """Remember and count answers."""
        self._check(ids, logits)
        self.answers.update(zip([row.tobytes() for row in ids], logits, strict=True))
        self._count(*ids.shape)

    def _verify(self, ids: IntArray) -> None:
        """Once a query, have a classifier that stands in for another compare itself with it.

        That forward pass is not counted: it asks nothing about the text.
        """
        if not self.verified and len(ids):
            self._compare(ids)

    def verify_weights(self) -> None:
        """The same by the weights, for queries about words that no one text holds."""
        self._compare(None)

    def _compare(self, ids: IntArray | None) -> None:
        self.verified = True
        if isinstance(self.classifier, Verifiable):
            note = self.classifier.verify(ids)
            self.remarks += (note,) if note else ()

    def _try(self, ids: IntArray) -> FloatArray | None:
        """One batch; None where it does not fit into memory, and then the next one is smaller."""
        if self.gathering is None:
            return self._fitting(partial(self.classifier.logits, ids), ids.shape)
        answers = self._fitting(partial(self._gathered, [ids], self.gathering), ids.shape)
        return None if answers is None else answers[0]

    def _fitting(
        self, call: Callable[[], Answer], shape: tuple[int, ...], share: int = 1
    ) -> Answer | None:
        try:
            return call()
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            rows, tokens = shape[:2]
            if rows == 1:
                raise OutputError(
                    f"A single sequence of {tokens} tokens does not fit into memory.",
                    "Use a shorter text, a smaller model or a device with more memory.",
                ) from error
            self.batch_tokens = max(1, share * rows * tokens // 2)
            log.warning("Out of memory: batches of %d tokens from now on.", self.batch_tokens)
            return None

    def _count(self, rows: int, tokens: int) -> None:
        self.forwards += rows
        self.tokens += rows * tokens
        if self.progress is not None:
            self.progress(self.forwards, max(self.planned, self.forwards))

    def _spend(self, sequences: int) -> None:
        if self.left is not None and sequences > self.left:
            raise SettingError(
                f"A budget of {self.budget} sequences is too small.",
                f"The next step needs {self.forwards + sequences}; a few hundred are usual.",
            )

    def _check(self, ids: IntArray, logits: FloatArray) -> None:
        bad = np.flatnonzero(~np.isfinite(logits).all(axis=1))
        if len(bad):
            shown, said = self.classifier.show(ids[bad[0]]), few(logits[bad[0]].tolist(), 8)
            raise OutputError(
                f"The model answered [{said}] to the input {shown[:200]!r}"
                f" ({len(bad)} of {len(ids)} in this batch are not finite).",
                "Check the model on that input; a float16 model may need float32.",
            )
