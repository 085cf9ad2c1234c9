"""Four threads on one classifier of every backend: right answers, the user's model unchanged."""

from __future__ import annotations

from functools import partial

from tests.backends import BACKENDS
from tests.models.threads import hammer, state_of
from tests.soak.cases import Batch, Case, Result, Tally

THREADS, SECONDS = 4, 10
NAMES = {
    "torch_encoder": "torch encoder in training mode",
    "torch_decoder": "torch GPT-2 with a padding token",
    "scikit_learn": "scikit-learn",
    "onnx": "ONNX",
}


def hammered(batch: Batch, backend: str) -> Result:
    """Answers, encodings, gradients and attention, asked from all threads for so many seconds."""
    tally = Tally()
    with BACKENDS[backend]() as classifier:
        before = state_of(classifier)
        told = hammer(classifier, THREADS, float(batch.count))
        after = state_of(classifier)
    tally.tried = told.asked
    for finding in (*told.wrong, *told.errors):
        tally.fail(finding)
    changed = [name for name in before if before[name] != after[name]]
    tally.check(not changed, f"changed on the user's model: {changed}")
    tally.check(told.asked > 0, "nothing was answered")
    return tally.result()


def cases() -> list[Case]:
    """Counted in seconds; what the table shows is how many answers there were."""
    return [
        Case(
            "threads", name.replace("_", "-"),
            f"{THREADS} threads for {SECONDS} s: {NAMES.get(name, name.replace('_', ' '))}",
            SECONDS, SECONDS, 60.0, partial(hammered, backend=name),
        )
        for name in BACKENDS
    ]  # fmt: skip
