"""Which sequences of players to ask the model about. Pure numpy; randomness comes in."""

from piste.design.heldout import keep_back, unseen
from piste.design.sequences import deletions, mixed_sizes, pairs, short, singles, subsets

__all__ = [
    "deletions",
    "keep_back",
    "mixed_sizes",
    "pairs",
    "short",
    "singles",
    "subsets",
    "unseen",
]
