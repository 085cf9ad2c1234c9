"""What a classifier must be able to do, or must answer, for a question to make sense."""

import numpy as np

from piste.arrays import FloatArray
from piste.errors import OutputError, SettingError
from piste.models.protocol import Classifier, WithAttention, WithGradients


def differentiable(classifier: Classifier) -> WithGradients:
    """The same, where it gives gradients."""
    if not isinstance(classifier, WithGradients):
        raise _missing("gradients", classifier)
    return classifier


def attentive(classifier: Classifier) -> WithAttention:
    """The same, where it gives attention weights."""
    if not isinstance(classifier, WithAttention):
        raise _missing("attention weights", classifier)
    return classifier


def _missing(what: str, classifier: Classifier) -> SettingError:
    return SettingError(
        f"This method needs the model's {what}, and {classifier.name!r} gives only answers.",
        "Load the model itself with piste.load(), or use a method that only asks, such as slalom.",
    )


def check_finite(what: str, *answers: FloatArray) -> None:
    """Raise where an answer holds what is no number."""
    if not all(np.isfinite(answer).all() for answer in answers):
        raise OutputError(
            f"The model's {what} for this text are not finite.",
            "Check the model on it; a float16 model may need float32.",
        )
