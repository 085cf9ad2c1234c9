"""Which number is explained. One scale for everybody: the log-odds of the target."""

import numpy as np
from scipy.special import expit, logsumexp

from piste.arrays import FloatArray, IntArray
from piste.errors import OutputError, SettingError, choices
from piste.models.protocol import Classifier
from piste.result.explanation import Target

LOG_ODDS, RAW = "log-odds", "raw score"
CENTRED = "logit above the mean of all classes"  # where classes are fitted together
RANKS = ("predicted", "runner-up")  # by the model's answer to the text
LARGEST = 1e100  # squares of larger numbers leave float64


def resolve_target(classifier: Classifier, logits: FloatArray, wanted: str | int | None) -> Target:
    """The target that `wanted` names; None is the predicted output. `logits` is [outputs].

    A label's name, its index, "predicted" or "runner-up".
    """
    labels = classifier.labels or tuple(f"class {i}" for i in range(len(logits)))
    if len(labels) != len(logits):
        raise OutputError(
            f"The model gives {len(logits)} outputs but has {len(labels)} labels.",
            "Pass as many labels as outputs, in their order.",
        )
    ranked = np.argsort(-logits, kind="stable")
    index = int(ranked[0]) if wanted is None else _index(labels, wanted, ranked)
    score = float(margins(logits[None, :], classifier, index)[0])
    scale = scale_of(classifier)
    return Target(
        index=index,
        label=labels[index],
        scale=scale,
        score=score,
        probability=None if scale == RAW else float(expit(score)),
        labels=labels,
    )


def scale_of(classifier: Classifier) -> str:
    """What the explained number is."""
    return RAW if classifier.outputs == "raw" else LOG_ODDS


def margins(logits: FloatArray, classifier: Classifier, index: int) -> FloatArray:
    """The explained number for each row [rows] of outputs [rows, outputs].

    Log-odds against all other classes together: for two classes the difference of logits.
    """
    largest = float(np.abs(logits).max(initial=0.0))
    if not largest <= LARGEST:
        raise OutputError(
            f"The model's answers are as large as {largest:.0e}.",
            "Nothing can be fitted to such numbers: check what the model returns.",
        )
    explained = logits[:, index]
    if classifier.outputs == "classes":
        explained = explained - logsumexp(np.delete(logits, index, axis=1), axis=1)
    return np.asarray(explained, dtype=np.float64)


def _index(labels: tuple[str, ...], wanted: str | int, ranked: IntArray) -> int:
    """The output that is meant. A label that is called "predicted" goes before the word."""
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        if -1 < wanted < len(labels):
            return wanted
        raise SettingError(
            f"There is no target {wanted}.", f"Give 0 to {len(labels) - 1}, or a label's name."
        )
    if wanted in labels:
        return labels.index(str(wanted))
    folded = [label.casefold() for label in labels]
    if folded.count(str(wanted).casefold()) == 1:
        return folded.index(str(wanted).casefold())
    if str(wanted).isdecimal() and int(wanted) < len(labels):
        return int(wanted)
    if wanted in RANKS and RANKS.index(str(wanted)) < len(labels):
        return int(ranked[RANKS.index(str(wanted))])
    every = () if wanted == "all" else ("all",)  # where that is not to be had
    raise choices("target", wanted, (*labels, *RANKS[: len(labels)], *every))
