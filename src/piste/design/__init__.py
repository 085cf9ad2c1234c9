"""Which sequences of players to ask the model about. Pure numpy; randomness comes in."""

from piste.design.sequences import (
    apart,
    check_shares,
    deletions,
    favoured,
    keep_back,
    mixed_shares,
    pairs,
    portions,
    short,
    singles,
    subsets,
    unseen,
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
    "short",
    "singles",
    "subsets",
    "unseen",
]
