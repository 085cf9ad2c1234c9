"""Small single-layer models and texts, the same for all theory tests."""

import numpy as np
import torch

from papers.theory.single_layer import CLS, Shape, SingleLayer

SHAPE = Shape(width=32, key_width=16, value_width=8, heads=3, window=16)


def random_layer(seed: int = 0, shape: Shape = SHAPE, vocabulary: int = 40) -> SingleLayer:
    torch.manual_seed(seed)
    return SingleLayer(vocabulary, shape).double().eval()


def some_ids(words: int = 8, seed: int = 0, repeats: int = 0) -> np.ndarray:
    """[CLS], distinct words, and the first few of them again."""
    drawn = np.random.default_rng(seed).permutation(np.arange(2, 40))[:words]
    return np.concatenate([[CLS], drawn, drawn[:repeats]])
