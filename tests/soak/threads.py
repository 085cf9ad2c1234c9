"""Four threads on one classifier of every backend: right answers, the user's model unchanged."""

from __future__ import annotations

from functools import partial

from tests.soak.cases import Batch, Case, Result, Tally

THREADS, SECONDS = 4, 10
BACKENDS = {  # by their names in `tests.backends`
    "torch_encoder": "torch encoder in training mode",
    "torch_decoder": "torch GPT-2 with a padding token",
    "compiled": "compiled (OpenVINO)",
    "onnx": "ONNX",
    "function": "function of texts",
    "ids_function": "function of token ids",
    "language_model": "language model with a prompt",
    "endpoint": "endpoint",
    "scikit_learn": "scikit-learn pipeline",
}


def hammered(batch: Batch, backend: str) -> Result:
    """Answers, encodings, gradients and attention, asked from all threads for so many seconds."""
    from tests import backends  # they start torch, which the harness must not
    from tests.models.threads import hammer, state_of

    tally = Tally()
    with backends.BACKENDS[backend]() as classifier:
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
            "threads", name.replace("_", "-"), f"{THREADS} threads for {SECONDS} s: {title}",
            SECONDS, SECONDS, 60.0, partial(hammered, backend=name),
        )
        for name, title in BACKENDS.items()
    ]  # fmt: skip
