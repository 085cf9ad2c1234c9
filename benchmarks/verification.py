"""What moves the scores that `piste verify` compares: rounding, sampling, or another model.

python benchmarks/verification.py [--model NAME] [--texts 6]

Each row is one kind of change. It says how far the model's answers moved, and how far each score
did: in standard errors of the difference, and as a share of the strongest score. Limits between
rounding and another model belong where the rows of the first kind end.
"""

import argparse
import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

import piste

TEXTS = [
    "The plot is thin, but the acting is superb.",
    "not good at all",
    "I was bored at first, then it won me over, and the last scene is simply beautiful.",
    "This film is not the masterpiece they promised. The plot is thin and the jokes are tired, but"
    " the acting is superb and the last ten minutes are simply beautiful. I left smiling.",
    "What a waste of two hours: no story, no jokes, no end.",
    "It is what it is, neither better nor worse than the first part, and the music helps.",
]
Made = Callable[..., piste.Explanation]


def changed(model: Any, size: float) -> Any:
    """The model with weights moved at random by this share of their spread."""
    other = copy.deepcopy(model)
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in other.parameters():
            if weight.numel() > 1:
                weight += size * weight.std() * torch.randn_like(weight)
    return other


def on_threads(count: int, made: Made, text: str, **more: Any) -> piste.Explanation:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return made(text, **more)
    finally:
        torch.set_num_threads(before)


def kinds(name: str | None) -> Iterator[tuple[str, str, Made]]:
    """What is changed: the kind of cause, its name, and how the explanation is then made."""
    load = partial(piste.load, backend="torch")
    here = load(name) if name else load()
    anew = partial(piste.explain, classifier=here)
    yield "", "", anew
    yield "rounding", "again", anew
    yield "rounding", "batches of 200 tokens", partial(anew, batch_tokens=200)
    yield "rounding", "two threads", partial(on_threads, 2, anew)
    compiled = piste.load(name, backend="openvino") if name else piste.load(backend="openvino")
    yield "rounding", "compiled", partial(piste.explain, classifier=compiled)
    for seed in (1, 2):
        yield "sampling", f"seed {seed}", partial(anew, seed=seed)
    for share in (1e-4, 1e-3, 1e-2, 0.05):
        other = load(changed(here.model, share), here.tokenizer)
        yield "model", f"weights moved by {share:g}", partial(piste.explain, classifier=other)


def apart(then: piste.Explanation, now: piste.Explanation, name: str) -> tuple[float, float]:
    """The largest difference of a score: in standard errors, as a share of the strongest score."""
    gap = np.abs(then.scores[name] - now.scores[name])
    error = np.sqrt(2) * now.errors.get(name, np.zeros_like(gap))
    share = gap / max(float(np.abs(then.scores[name]).max()), 1e-9)
    return float((gap / np.maximum(error, 1e-12)).max()), float(share.max())


def answers(then: piste.Explanation, now: piste.Explanation) -> float:
    """How far the answers to the same parts are apart, relative to their size."""
    known = dict(zip(then.parts.kept, then.parts.answers.tolist(), strict=True))
    asked = zip(now.parts.kept, now.parts.answers.tolist(), strict=True)
    return max(abs(x - known[k]) / (1 + abs(known[k])) for k, x in asked if k in known)


def sets(then: piste.Explanation, now: piste.Explanation) -> int:
    """How many of flip and core are other sets."""
    pairs = ((then.flip, now.flip), (then.core, now.core))
    return sum((a and a.players) != (b and b.players) for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model")
    parser.add_argument("--texts", type=int, default=len(TEXTS))
    given = parser.parse_args()
    texts = TEXTS[: given.texts]
    first: list[piste.Explanation] = []
    for kind, title, made in kinds(given.model):
        made_now = [made(text, target=1) for text in texts]
        if not kind:
            first = made_now
            continue
        both = list(zip(first, made_now, strict=True))
        line = f"{kind:9} {title:28} answers {max(answers(*two) for two in both):.1e}  sets "
        line += f"{sum(sets(*two) for two in both)}/{2 * len(both)}"
        for name in first[0].scores:
            errors, shares = zip(*(apart(*two, name) for two in both), strict=True)
            line += f"  {name} {max(errors):.2g} se, {max(shares):.1e}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
