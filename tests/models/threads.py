"""Many threads on one classifier: every answer is compared with what one thread alone got."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import transformers

from piste.models.protocol import Classifier, WithAttention, WithGradients
from tests.conftest import CORPUS

TEXTS = [*CORPUS[:4], "good", "a a a", "not bad at all"]
Job = Callable[[], Any]  # asks the classifier something, and returns its answer


@dataclass
class Tally:
    """What came of it."""

    asked: int = 0
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def hammer(classifier: Classifier, threads: int = 4, seconds: float = 10.0) -> Tally:
    """Ask everything that the classifier can answer, from so many threads for so long."""
    jobs = [(name, job, job()) for name, job in questions(classifier)]
    tally, end = Tally(), time.monotonic() + seconds
    start = threading.Barrier(threads)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        start.wait()
        while time.monotonic() < end:
            name, job, expected = jobs[rng.integers(len(jobs))]
            tally.asked += 1  # a few may be miscounted: it is a scale, not a result
            try:
                if not _same(job(), expected):
                    tally.wrong.append(name)
            except Exception as error:
                tally.errors.append(f"{name}: {type(error).__name__}: {error}")

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return tally


def questions(classifier: Classifier) -> list[tuple[str, Job]]:
    """Batches of several shapes, encodings and, where there are any, gradients and attention."""
    jobs: list[tuple[str, Job]] = []
    for text in TEXTS:
        encoding = classifier.encode(text)
        frame = encoding.frame
        for body in (encoding.ids, encoding.ids[:1], encoding.ids[::-1]):
            ids = np.array([[*frame.prefix, *body, *frame.suffix]] * 3, dtype=np.int64)
            jobs.append((f"logits of {text!r}", lambda ids=ids: classifier.logits(ids)))
            jobs.append((f"one of {text!r}", lambda ids=ids: classifier.logits(ids[:1])))
        jobs.append((f"encoding of {text!r}", lambda text=text: classifier.encode(text)))
        if isinstance(classifier, WithGradients):
            embedded = classifier.embed(ids[:1])
            jobs.append(
                (f"gradients of {text!r}", lambda x=embedded: classifier.gradients(x, 1)[1])
            )
        if isinstance(classifier, WithAttention):
            jobs.append(
                (f"attention in {text!r}", lambda ids=ids: classifier.attentions(ids[:1])[0])
            )
    return jobs


def _same(answer: Any, expected: Any) -> bool:
    if isinstance(expected, np.ndarray):
        return answer.shape == expected.shape and np.allclose(
            answer, expected, rtol=1e-3, atol=1e-4
        )
    return bool(answer == expected)


def state_of(classifier: Any) -> dict[str, Any]:
    """What a user could miss afterwards: of the model, and of the libraries' settings."""
    logging = transformers.utils.logging
    state: dict[str, Any] = {
        "verbosity": logging.get_verbosity(),
        "bars": logging.is_progress_bar_enabled(),
    }
    model = getattr(getattr(classifier, "origin", classifier), "model", None)
    if model is None:
        return state
    return state | {
        "training": [part.training for part in model.modules()],
        "hooks": [len(part._forward_hooks) for part in model.modules()],
        "trained": [weight.requires_grad for weight in model.parameters()],
        "weights": [float(weight.detach().double().sum()) for weight in model.parameters()],
        "config": model.config.to_dict(),
    }
