"""The colours of two texts by what their words change, for the page and the figure."""

from __future__ import annotations

import numpy as np

from piste.arrays import FloatArray
from piste.result.difference import Diff


def shades(diff: Diff) -> tuple[FloatArray, FloatArray]:
    """For each player before and after, the change that its place carries, scaled to -1 .. 1."""
    before, after = (np.zeros(len(ex.players)) for ex in (diff.before, diff.after))
    top = max((abs(word.change) for word in diff.words), default=0.0)
    for word in diff.words if top > 0 else ():
        before[list(word.before)] = word.change / top
        after[list(word.after)] = word.change / top
    return before, after
