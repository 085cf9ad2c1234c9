"""The model's answers to whole texts, for whoever wants to ask it something else than why."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
from scipy.special import expit

from piste.arrays import FloatArray, Ragged
from piste.errors import InputError, choices
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.models.query import Query
from piste.models.target import RAW, margins, scale_of
from piste.text.cutting import truncated
from piste.text.encoding import check_text

SCALES = ("probability", "log-odds")


def predict(
    texts: Iterable[str],
    classifier: Classifier | str | None = None,
    scale: Literal["probability", "log-odds"] = "probability",
) -> FloatArray:
    """What the model says of each text, for every label: an array [texts, labels].

    The form that lime and shap want of a model: `lambda texts: piste.predict(texts, classifier)`.
    scale: "probability" or "log-odds", of the label against all others; a model that gives raw
    numbers gives them in either. A text that is too long is cut. An empty one is asked as it
    is; where no special tokens would stand there either, it counts as undecided (log-odds 0).
    """
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InputError("predict takes one text or more, in a list.", 'Give ["A text."].')
    texts = list(texts)
    if not texts or not all(isinstance(t, str) for t in texts):
        raise InputError("predict takes one text or more, in a list.", 'Give ["A text."].')
    if scale not in SCALES:
        raise choices("scale", scale, SCALES)
    classifier = as_classifier(classifier)
    rows = [_ids(classifier, text) for text in texts]
    sample = classifier.encode("a")  # for its frame, and for a number of labels
    query = Query(classifier, sample.frame)
    known = np.array([bool(row) or query.frame.size > 0 for row in rows])
    asked = Ragged.of([row for row, is_known in zip(rows, known, strict=True) if is_known])
    logits = query.logits(asked if len(asked) else Ragged.of([sample.ids]))
    answers = np.zeros((len(rows), logits.shape[1]))  # undecided, where there is nothing to read
    if len(asked):
        margin = [margins(logits, classifier, index) for index in range(logits.shape[1])]
        answers[known] = np.stack(margin, axis=1)
    is_probability = scale == "probability" and scale_of(classifier) != RAW
    return np.asarray(expit(answers)) if is_probability else answers


def _ids(classifier: Classifier, text: str) -> tuple[int, ...]:
    return truncated(classifier.encode(check_text(text))).ids if text.strip() else ()
