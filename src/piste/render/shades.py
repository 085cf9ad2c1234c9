"""Strength and colour of a score; blue and orange are distinct to the colour-blind."""

import numpy as np

from piste.arrays import FloatArray
from piste.result.explanation import Explanation
from piste.result.scores import score

RGB = tuple[int, int, int]

FOR: RGB = (31, 119, 214)
AGAINST: RGB = (222, 104, 0)


def sided(explanation: Explanation) -> bool:
    """Whether the score that ranks speaks for and against, or only weighs."""
    return score(explanation.primary).signed


def strengths(explanation: Explanation, name: str | None = None) -> FloatArray:
    """Scores scaled to -1 .. 1 (weights: 0 .. 1); a score that is no number counts as 0."""
    name = name or explanation.primary
    scores = np.nan_to_num(explanation.scores[name], nan=0.0, posinf=0.0, neginf=0.0)
    if not score(name).signed and scores.size:
        scores = scores - scores.min()
    top = np.abs(scores).max(initial=0.0)
    return scores / top if top > 0 else np.zeros_like(scores)


def blend(ground: RGB, strength: float) -> RGB:
    """From `ground` towards blue (for) or orange (against), by the strength."""
    hue = FOR if strength > 0 else AGAINST
    part = min(abs(strength), 1.0)
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(ground, hue, strict=True))
    return red, green, blue
