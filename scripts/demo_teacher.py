"""The teacher of the embedded model: a logistic regression on token n-grams, cross-fitted."""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

HASH_SIZE = 1 << 21  # of pairs and triples; single tokens have weights of their own before them
OFFSET = 20  # in the length normalisation, so that two tokens are not yet a verdict
FOLDS = 5


def verdict(weights: np.ndarray, ids: np.ndarray) -> float:
    """The teacher's log-odds of a sequence."""
    found = ngrams(ids, weights.size - HASH_SIZE)
    return weights[found].sum() * (found.size + OFFSET) ** -0.5


def ngrams(ids: np.ndarray, vocab: int) -> np.ndarray:
    """Distinct unigrams, hashed bigrams and hashed trigrams of a sequence."""
    pairs = ids[:-1] * 1_000_003 + ids[1:] * 7_919
    triples = pairs[:-1] * 31 + ids[2:] * 15_485_863 + 1
    return np.unique(np.concatenate([ids, vocab + pairs % HASH_SIZE, vocab + triples % HASH_SIZE]))


def feature_matrix(docs: list[np.ndarray], vocab: int) -> csr_matrix:
    """Presence of n-grams, one normalised row per review."""
    rows = [ngrams(doc, vocab) for doc in docs]
    values = np.concatenate([np.full(row.size, (row.size + OFFSET) ** -0.5) for row in rows])
    ends = np.cumsum([0] + [row.size for row in rows])
    return csr_matrix((values, np.concatenate(rows), ends), shape=(len(rows), vocab + HASH_SIZE))


def fit_teacher(matrix: csr_matrix, labels: np.ndarray) -> np.ndarray:
    """Weights of a logistic regression on n-grams scaled by the naive Bayes ratio (NB-SVM)."""
    up, down = (1 + matrix.sign().T @ (labels == side).astype(float) for side in (1, 0))
    scale = np.abs(np.log(up / up.sum()) - np.log(down / down.sum()))
    scale[:-HASH_SIZE] += 0.5  # or "good", as frequent in bad reviews, could never weigh anything
    model = LogisticRegression(
        C=30.0, solver="liblinear", dual=True, tol=1e-2, fit_intercept=False, random_state=0
    )
    model.fit(matrix.multiply(scale).tocsr(), labels)
    return (model.coef_[0] * scale).astype(np.float32)


def cross_fit(docs: list[np.ndarray], labels: np.ndarray, vocab: int) -> Iterator[np.ndarray]:
    """One teacher per fold, fitted without that fold, so that its scores are honest."""
    matrix, folds = feature_matrix(docs, vocab), np.arange(len(docs)) % FOLDS
    for fold in range(FOLDS):
        inside = folds == fold
        weights = fit_teacher(matrix[~inside], labels[~inside])
        right = (matrix[inside] @ weights > 0) == labels[inside]
        print(f"teacher {fold + 1}: accuracy {right.mean():.4f} on its fold", flush=True)
        yield weights
