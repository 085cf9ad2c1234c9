"""The only caller of a model: frames, de-duplicates, buckets by length, batches, counts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from piste.errors import OutputError, SettingError
from piste.explanation import FloatArray
from piste.models.protocol import Classifier
from piste.ragged import IntArray, Ragged
from piste.text.encoding import Frame

BATCH_TOKENS = 8192  # big batches of short sequences: many small ones are several times slower
Progress = Callable[[int, int], None]  # sequences answered, sequences planned


@dataclass
class Query:
    """One explanation's line to the model, with its meter, its budget and its goal."""

    classifier: Classifier
    frame: Frame
    budget: int | None = None  # sequences the model may be asked, at most
    tolerance: float | None = None  # how exact is exact enough: methods that sample stop there
    batch_tokens: int = BATCH_TOKENS
    progress: Progress | None = None
    forwards: int = 0
    tokens: int = 0
    seconds: float = 0.0
    planned: int = 0
    answers: dict[bytes, FloatArray] = field(default_factory=dict)  # [outputs] of framed sequences

    @property
    def left(self) -> int | None:
        """How many sequences may still be asked; None without a budget."""
        return None if self.budget is None else max(0, self.budget - self.forwards)

    def plan(self, sequences: int) -> None:
        """Say that so many more sequences are coming, for the progress bar."""
        self.planned = self.forwards + sequences

    def logits(self, rows: Ragged) -> FloatArray:
        """The model's outputs [rows, outputs] for rows of token ids without frame, in order."""
        started = time.perf_counter()
        answers: list[tuple[IntArray, FloatArray]] = []
        for length in np.unique(rows.lengths):
            where = np.flatnonzero(rows.lengths == length)
            answers.append((where, self._ask_unique(self._framed(rows.take(where), int(length)))))
        self.seconds += time.perf_counter() - started
        order = np.argsort(np.concatenate([where for where, _ in answers]))
        return np.concatenate([logits for _, logits in answers])[order]

    def _framed(self, rows: Ragged, length: int) -> IntArray:
        """Equal rows as a matrix [rows, frame + length]."""
        body = rows.values.reshape(len(rows), length)
        prefix = np.tile(np.array(self.frame.prefix, dtype=np.int64), (len(rows), 1))
        suffix = np.tile(np.array(self.frame.suffix, dtype=np.int64), (len(rows), 1))
        return np.concatenate([prefix, body, suffix], axis=1)

    def _ask_unique(self, ids: IntArray) -> FloatArray:
        """Answers for a matrix of equally long sequences, each distinct one asked once, ever."""
        keys = [row.tobytes() for row in ids]
        first = {key: index for index, key in reversed(list(enumerate(keys)))}
        new = sorted(index for key, index in first.items() if key not in self.answers)
        self._spend(len(new))
        start = 0
        while start < len(new):
            # The size is taken anew for every batch: it shrinks when memory runs out.
            size = max(1, self.batch_tokens // max(1, ids.shape[1]))
            batch = new[start : start + size]
            logits = self._try(ids[batch])
            if logits is not None:
                self.answers.update(zip([keys[index] for index in batch], logits, strict=True))
                start += len(batch)
        return np.array([self.answers[key] for key in keys])

    def _try(self, ids: IntArray) -> FloatArray | None:
        """One batch; None where it does not fit into memory, and then the next one is smaller."""
        try:
            logits = self.classifier.logits(ids)
        except (MemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error):
                raise
            if len(ids) == 1:
                raise OutputError(
                    f"A single sequence of {ids.shape[1]} tokens does not fit into memory.",
                    "Use a shorter text, a smaller model or a device with more memory.",
                ) from error
            self.batch_tokens = max(1, ids.size // 2)
            return None
        self._check(ids, logits)
        self.forwards += len(ids)
        self.tokens += ids.size
        if self.progress is not None:
            self.progress(self.forwards, max(self.planned, self.forwards))
        return logits

    def _spend(self, sequences: int) -> None:
        if self.left is not None and sequences > self.left:
            raise SettingError(
                f"A budget of {self.budget} sequences is too small.",
                f"The next step needs {self.forwards + sequences}; some hundreds are usual.",
            )

    def _check(self, ids: IntArray, logits: FloatArray) -> None:
        bad = np.flatnonzero(~np.isfinite(logits).all(axis=1))
        if len(bad):
            shown = self.classifier.show(ids[bad[0]])
            raise OutputError(
                f"The model answered {logits[bad[0]].tolist()} to the input {shown[:200]!r}"
                f" ({len(bad)} of {len(ids)} in this batch are not finite).",
                "Check the model on that input; a float16 model may need float32.",
            )


def _is_out_of_memory(error: Exception) -> bool:
    message = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or "out of memory" in message
        or "can't allocate memory" in message
    )
