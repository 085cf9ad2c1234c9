"""The model's answers to whole texts, for whoever wants to ask it something else than why."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import expit

from piste.errors import InputError, choices
from piste.explanation import FloatArray
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.models.query import Query
from piste.models.target import RAW, margins, scale_of
from piste.ragged import Ragged
from piste.text.cutting import truncated

SCALES = ("probability", "log-odds")


def predict(
    texts: Sequence[str],
    classifier: Classifier | str | None = None,
    scale: Literal["probability", "log-odds"] = "probability",
) -> FloatArray:
    """What the model says of each text, for every label: an array [texts, labels].

    The form that lime and shap want of a model: `lambda texts: piste.predict(texts, classifier)`.
    scale: "probability" or "log-odds", of the label against all others; a model that gives raw
    numbers gives them in either. A text that is too long is cut, an empty one is asked as it is.
    """
    if isinstance(texts, str) or not len(texts) or not all(isinstance(t, str) for t in texts):
        raise InputError("predict takes one text or more, in a list.", 'Give ["A text."].')
    if scale not in SCALES:
        raise choices("scale", scale, SCALES)
    classifier = as_classifier(classifier)
    rows = [truncated(classifier.encode(text)).ids if text.strip() else () for text in texts]
    query = Query(classifier, classifier.encode("a").frame)
    logits = query.logits(Ragged.of(rows))
    scores = [margins(logits, classifier, index) for index in range(logits.shape[1])]
    answers = np.stack(scores, axis=1)
    is_probability = scale == "probability" and scale_of(classifier) != RAW
    return np.asarray(expit(answers)) if is_probability else answers
