"""Which sequences of players to ask the model about. Pure numpy; randomness comes in."""

from piste.design.heldout import apart, keep_back, unseen
from piste.design.sequences import (
    check_shares,
    deletions,
    favoured,
    mixed_shares,
    pairs,
    portions,
    removals,
    short,
    singles,
    subsets,
)

__all__ = [
    "apart",
    "check_shares",
    "deletions",
    "favoured",
    "keep_back",
    "mixed_shares",
    "pairs",
    "portions",
    "removals",
    "short",
    "singles",
    "subsets",
    "unseen",
]
