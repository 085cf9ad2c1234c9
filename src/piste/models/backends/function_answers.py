"""What a function of the user's returns, as numbers to explain; and what is odd about it."""

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np

from piste.arrays import FloatArray
from piste.errors import OutputError, kind_of, several
from piste.models.loading_errors import first_line
from piste.models.protocol import Outputs

Scale = Literal["logits", "probabilities", "label-logits", "label-probabilities", "raw"]
MARGIN_LABELS = ("negative", "positive")
ENOUGH = 10  # answers that say whether they may be probabilities
RETURN = "Return an array of numbers: [n, classes] logits or [n] margins."


@dataclass
class Margins:
    """What a function of one column has answered, if it may be probabilities after all."""

    count: int = 0
    lowest: float = np.inf
    highest: float = -np.inf
    whole: bool = True  # counts such as 0 and 1 are margins like others

    def add(self, answers: FloatArray) -> None:
        self.count += len(answers)
        self.lowest = min(self.lowest, float(answers.min()))
        self.highest = max(self.highest, float(answers.max()))
        self.whole = self.whole and bool((answers == np.round(answers)).all())

    @property
    def doubt(self) -> str:
        """The note on answers that are all probabilities as far as one can tell; or nothing."""
        inside = 0 <= self.lowest < self.highest <= 1
        if self.count < ENOUGH or self.whole or not inside:
            return ""
        return (
            "All answers of the function lie between 0 and 1, and were taken for log-odds. If they"
            ' are probabilities, say so: from_function(fn, outputs="probabilities").'
        )


def as_numbers(answer: Any, rows: int) -> FloatArray:
    """What the function returned, as an array with one row a text."""
    if hasattr(answer, "detach"):  # a torch tensor, without importing torch
        answer = answer.detach().cpu().double()
    if answer is None:
        raise OutputError("The function returned None.", f"Does it lack a return? {RETURN}")
    try:
        # A copy: the function may fill the same array again.
        given = np.array(answer)
        wrong = _no_numbers(given)
        scores = None if wrong else given.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        what = f"something that is not numbers: {first_line(error)}"
        raise OutputError(f"The function returned {what}.", RETURN) from error
    if scores is None:
        raise OutputError(f"The function returned {wrong}.", RETURN)
    if scores.ndim not in (1, 2) or len(scores) != rows or 0 in scores.shape:
        raise OutputError(
            f"The function was given {several(rows, 'text')} and returned shape {scores.shape}.",
            f"Return one row per text: shape ({rows}, classes) or ({rows},).",
        )
    return scores


def _no_numbers(given: Any) -> str:
    """What an array holds in place of numbers; nothing where it holds numbers."""
    if given.dtype.kind in "biuf":
        return ""
    if given.dtype.kind in "US":
        return "text, not numbers"
    if given.dtype.kind != "O":
        return f"values of type {given.dtype}, not numbers"
    others = [one for one in given.flat if not isinstance(one, Real | Decimal)]
    what = "" if not others else "None" if others[0] is None else kind_of(others[0])
    return f"{what} in the place of a number" if what else ""


def as_scores(answers: FloatArray, scale: Scale) -> FloatArray:
    """What the function answered as numbers to explain [n, outputs] (or [n] margins)."""
    if scale in ("raw", "label-logits"):
        return answers.reshape(len(answers), -1)
    if scale == "label-probabilities":
        each = _checked(answers).reshape(len(answers), -1)
        inside = np.clip(each, 1e-9, 1 - 1e-9)
        return np.asarray(np.log(inside / (1 - inside)))
    return _logs(answers) if scale == "probabilities" else _not_probabilities(answers)


def _logs(scores: FloatArray) -> FloatArray:
    """Log-probabilities, kept off zero: a classifier that says 0 or 1 still has finite odds."""
    if _checked(scores).ndim == 1 or scores.shape[1] == 1:
        positive = scores.reshape(-1)
        scores = np.stack([1 - positive, positive], axis=1)
    return np.asarray(np.log(np.clip(scores, 1e-9, None)))


def _checked(scores: FloatArray) -> FloatArray:
    if (scores < 0).any() or (scores > 1).any():  # NaN is neither: the query tells of it
        wrong = scores[(scores < 0) | (scores > 1)].flat[0]
        raise OutputError(
            f"The function's probabilities leave 0..1: one is {wrong:.4g}.", 'Use outputs="logits".'
        )
    return scores


def _not_probabilities(scores: FloatArray) -> FloatArray:
    whole = (scores == np.round(scores)).all()  # counts such as [0, 1] are logits like others
    if scores.ndim == 2 and scores.shape[1] > 1 and (scores >= 0).all() and not whole:
        if np.allclose(scores.sum(axis=1), 1, atol=1e-6):
            raise OutputError(
                "The function's rows are probabilities (they sum to 1), not logits.",
                'Say so: from_function(fn, outputs="probabilities").',
            )
    return scores


def default_labels(scores: FloatArray, outputs: Outputs) -> tuple[str, ...]:
    if scores.ndim == 1 or scores.shape[1] == 1:
        return MARGIN_LABELS if outputs == "classes" else ("score",)
    word = {"classes": "class", "labels": "label", "raw": "output"}[outputs]
    return tuple(f"{word} {index}" for index in range(scores.shape[1]))


def two_columns(scores: FloatArray) -> FloatArray:
    """Margins as logits of two classes: their difference is the margin."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    margin = scores.reshape(-1)
    return np.stack([np.zeros_like(margin), margin], axis=1)
