"""Strength and colour of a score; blue and orange are distinct to the colour-blind."""

from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray
from piste.render.words import ROUNDING, signed
from piste.result.explanation import Explanation
from piste.result.scores import score

RGB = tuple[int, int, int]

FOR: RGB = (31, 119, 214)
AGAINST: RGB = (222, 104, 0)
OUTLIER = 2.0  # times the second strongest: a stronger one would pale all others
FLOOR = 0.1  # of the strongest: beside one that is all there is, the others stay pale


@dataclass(frozen=True)
class Scale:
    """Which scores have no colour (`none`) and the fullest (`none` + `full`, on either side)."""

    none: float
    full: float
    clipped: bool  # whether a score lies beyond the fullest colour


def sided(explanation: Explanation) -> bool:
    """Whether the score that ranks speaks for and against, or only weighs."""
    return score(explanation.primary).signed


def scale(explanation: Explanation, name: str | None = None) -> Scale:
    """The colour scale of a score: its end is the strongest player, unless that is an outlier."""
    name = name or explanation.primary
    scores = _finite(explanation, name)
    none = 0.0 if score(name).signed or not scores.size else float(scores.min())
    strongest: dict[int, float] = {}
    for player, size in zip(explanation.players, np.abs(scores - none).tolist(), strict=True):
        strongest[player.group] = max(size, strongest.get(player.group, 0.0))
    sizes = sorted(strongest.values(), reverse=True)
    top = sizes[0] if sizes else 0.0
    second = sizes[1] if len(sizes) > 1 else 0.0
    full = min(top, max(OUTLIER * second, FLOOR * top)) if second > 0 else top
    return Scale(none, full, full < top)


def strengths(explanation: Explanation, name: str | None = None) -> FloatArray:
    """Scores scaled to -1 .. 1 (weights: 0 .. 1); a score that is no number counts as 0."""
    name = name or explanation.primary
    scores, by = _finite(explanation, name), scale(explanation, name)
    if by.full <= ROUNDING * abs(explanation.target.score):
        return np.zeros_like(scores)
    return np.clip((scores - by.none) / by.full, -1.0, 1.0)


def _finite(explanation: Explanation, name: str) -> FloatArray:
    return np.nan_to_num(explanation.scores[name], nan=0.0, posinf=0.0, neginf=0.0)


def ends(explanation: Explanation, name: str) -> tuple[str, str]:
    """The scores of the two ends of the colours, as text: "≤ −2.51", "≥ +2.51"."""
    by = scale(explanation, name)
    low, high = by.none - by.full, by.none + by.full
    if not score(name).signed:
        return signed(by.none), f"{'≥ ' if by.clipped else ''}{signed(high)}"
    marks = ("≤ ", "≥ ") if by.clipped else ("", "")
    return f"{marks[0]}{signed(low)}", f"{marks[1]}{signed(high)}"


def blend(ground: RGB, strength: float) -> RGB:
    """From `ground` towards blue (for) or orange (against), by the strength."""
    hue = FOR if strength > 0 else AGAINST
    part = min(abs(strength), 1.0)
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(ground, hue, strict=True))
    return red, green, blue
