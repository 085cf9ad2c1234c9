"""What moves the scores that `piste verify` compares: rounding, sampling, or another model.

python benchmarks/verification.py [--model NAME] [--texts 6] [--data FILE]

Each row is one kind of change. It says how far the model's answers moved, and how far each score
did: in standard errors of the difference, and as a share of the strongest score. Limits between
rounding and another model belong where the rows of the first kind end.
"""

import argparse
import copy
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import piste
from piste.data import read_examples
from piste.result.checks import FOUND_PAIRS, PAIRS, SMALL_ERROR
from piste.result.parts import SURE
from piste.verify.new_parts import FEWEST, asked, drawn_from
from piste.verify.trial import Trial

LENGTHS = (8, 15, 30, 60, 120)  # words of each text of --data
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


def claims(then: piste.Explanation, now: piste.Explanation) -> dict[str, float]:
    """How far what is said of the scores moved: errors, R², typical error, interactions."""
    errors = 0.0
    for name, was in then.errors.items():
        least = SMALL_ERROR * max(float(was.max()), float(now.errors[name].max()))
        both = np.maximum(np.maximum(was, now.errors[name]), max(least, 1e-9))
        errors = max(errors, float((np.abs(was - now.errors[name]) / both).max()))
    pairs = {(pair.first, pair.second): pair.effect for pair in now.pairs(FOUND_PAIRS)}
    strongest = then.pairs(PAIRS)
    size = max((abs(pair.effect) for pair in strongest), default=1.0)
    moved = [abs(pair.effect - pairs.get((pair.first, pair.second), 0.0)) for pair in strongest]
    told = {"errors": errors, "pairs": max(moved, default=0.0) / size}
    if then.fidelity is not None and now.fidelity is not None:
        told["R²"] = abs((then.fidelity.r2 or 0.0) - (now.fidelity.r2 or 0.0))
        told["RMSE"] = abs(then.fidelity.rmse / now.fidelity.rmse - 1)
    return told


def on_new_parts(file: Path, name: str | None, count: int) -> None:
    """How well honest explanations stand the check on parts that were never asked."""
    classifier = piste.load(name) if name else piste.load()
    examples = itertools.islice(read_examples(file), count)
    texts = [" ".join(e.text.split()[: LENGTHS[i % 5]]) for i, e in enumerate(examples)]
    for effort in ("normal", "light"):
        inside, ratios = [], []
        for text in texts:
            explanation = piste.explain(text, classifier, effort=effort)
            drawn = drawn_from(explanation)
            if len(drawn) < FEWEST or explanation.fidelity is None:
                continue
            gaps, errors = asked(Trial.of(explanation, classifier), drawn)
            inside.append(float((np.abs(gaps) <= SURE * errors).mean()))
            ratios.append(float(np.sqrt((gaps**2).mean())) / explanation.fidelity.rmse)
        print(
            f"{effort}: {len(inside)} texts; within two errors: least {min(inside):.2f}, median"
            f" {np.median(inside):.2f}; error beside the claimed: largest {max(ratios):.2f}, median"
            f" {np.median(ratios):.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model")
    parser.add_argument("--texts", type=int, default=len(TEXTS))
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    if given.data is not None:
        on_new_parts(given.data, given.model, given.texts)
        return
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
        found = [claims(*two) for two in both]
        for name in ("errors", "R²", "RMSE", "pairs"):
            line += f"  {name} of claims {max(one.get(name, 0.0) for one in found):.1e}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
