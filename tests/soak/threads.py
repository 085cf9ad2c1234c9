"""Four threads on one classifier of every backend: right answers, the user's model unchanged."""

from __future__ import annotations

from functools import partial

from tests.backends import BACKENDS, title
from tests.soak.cases import Batch, Case, Result, Tally

THREADS, SECONDS = 4, 10


def hammered(batch: Batch, backend: str) -> Result:
    """Answers, encodings, gradients and attention, asked from all threads for so many seconds."""
    from tests.models.threads import hammer, state_of  # starts torch, which the harness must not

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
    return tally.result()


def cases() -> list[Case]:
    """Counted in seconds; what the table shows is how many answers there were."""
    return [
        Case(
            "threads", name.replace("_", "-"), f"{THREADS} threads for {SECONDS} s: {title(name)}",
            SECONDS, SECONDS, 60.0, partial(hammered, backend=name),
        )
        for name in BACKENDS
    ]  # fmt: skip
