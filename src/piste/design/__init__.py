"""Which sequences of players to ask the model about. Pure numpy; randomness comes in."""

from piste.design.sequences import deletions, mixed_sizes, pairs, short, singles, subsets

__all__ = ["deletions", "mixed_sizes", "pairs", "short", "singles", "subsets"]
