"""Made-up reviews to train small models on: the synthetic data of arXiv 2405.13536, widened."""

import numpy as np

# Log-odds of a word towards "positive"; the first two lines are the paper's (its Table 3).
WEIGHTS = {
    "the": 0.0, "we": 0.0, "movie": 0.0, "watch": 0.0,
    "good": 0.6, "best": 1.0, "perfect": 1.5, "ok": -0.6, "bad": -1.0, "worst": -1.5,
    "a": 0.0, "of": 0.0, "and": 0.0, "film": 0.0, "plot": 0.0, "actor": 0.0, "scene": 0.0,
    "story": 0.0, "was": 0.0, "it": 0.0, "music": 0.0, "camera": 0.0, "ending": 0.0, "hour": 0.0,
    "fine": 0.5, "great": 1.2, "superb": 1.8, "warm": 0.8, "weak": -0.8, "dull": -1.2,
    "awful": -1.8, "slow": -0.5,
}  # fmt: skip
WORDS = tuple(WEIGHTS)


def toy_reviews(
    rng: np.random.Generator, texts: int, longest: int = 24
) -> tuple[list[str], list[int]]:
    """Texts of Binomial(longest, 1/2) random words, and labels drawn from their log-odds."""
    lengths = np.maximum(1, rng.binomial(longest, 0.5, size=texts))
    rows = [rng.choice(len(WORDS), size=length) for length in lengths]
    weights = np.array(list(WEIGHTS.values()))
    odds = np.array([weights[row].sum() for row in rows])
    labels = rng.random(texts) < 1 / (1 + np.exp(-odds))
    return [" ".join(WORDS[word] for word in row) for row in rows], labels.astype(int).tolist()


def distinct_words(rng: np.random.Generator, words: int) -> str:
    """A text of that many different words, so that each is a player of its own."""
    return " ".join(rng.permutation(WORDS)[:words])
