"""What each explanation of the single-layer model is, in closed form (arXiv 2402.03485).

Throughout, u_t = W_l v_t is the effect of position t, f = mean over heads of sum_t alpha_t u_t,
and a word's weight before normalisation is g_t = exp(q . k_t / sqrt(d_att)); h_t and u_ht are the
same for [UNK] at that place. The query comes from [CLS], so removing words never changes it.
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from papers.arrays import FloatArray, IntArray, rank_correlation
from papers.theory.lime_by_subsets import Removal, size_weights
from papers.theory.single_layer import UNK, SingleLayer
from piste.errors import InputError

# The seven explanations that the paper compares.
EXPLANATIONS = ("alpha-avg", "alpha-max", "G-avg", "G-l1", "G-l2", "GxI", "LIME")
SIGNED = ("G-avg", "GxI", "LIME")  # the others have no side

MOST_NODES = 48  # of the integral over p: exact for 95 words, to rounding for more

Means = tuple[FloatArray, float]  # of `kept_means`


def gradient(module: SingleLayer, ids: IntArray) -> FloatArray:
    """df/de_t of a text at every position of the window [window, width].

    With q, k_t, v_t, alpha of each head, for t other than [CLS] (section 4), the head mean of

        alpha_t W_v^T W_l^T + alpha_t / sqrt(d_att) W_l (v_t - sum_s alpha_s v_s) W_k^T q

    The paper leaves out [CLS], which is also the query. There q moves every score, and
    sum_s alpha_s / sqrt(d_att) W_l (v_s - sum_r alpha_r v_r) W_q^T k_s is added.
    """
    w_q, w_k, w_v = (_array(matrix) for matrix in (module.query, module.key, module.value))
    w_l, embedded = _array(module.last), embed(module, ids)
    q = w_q @ embedded[0]  # [heads, key_width]
    scale = math.sqrt(module.shape.key_width)
    # No key or value is written down: q . k_t = (W_k^T q) . e_t and W_l v_t = (W_v^T W_l^T) . e_t
    reader, readout = np.einsum("kae,ka->ke", w_k, q), np.einsum("ko,koe->ke", w_l, w_v)
    alpha, effect = _softmax(reader @ embedded.T / scale), readout @ embedded.T
    mean = (alpha * effect).sum(axis=1, keepdims=True)
    pull = alpha * (effect - mean) / scale  # df/d(q . k_t), a head's
    slope = alpha.T @ readout + pull.T @ reader  # [window, width], summed over heads
    pulled = np.einsum("kae,ke->ka", w_k, pull @ embedded)  # sum of pull times k_t
    slope[0] += np.einsum("ka,kae->e", pulled, w_q)
    return np.asarray(slope / len(q))


def autograd(module: SingleLayer, ids: IntArray) -> FloatArray:
    """The same by torch, in the module's own precision [window, width]."""
    embedded = torch.from_numpy(embed(module, ids))[None].to(module.last.dtype).requires_grad_()
    (slope,) = torch.autograd.grad(module.read(embedded).sum(), embedded)
    return _array(slope[0])


def attention(module: SingleLayer, ids: IntArray) -> FloatArray:
    """alpha of each head [heads, window]; W_l has no part in it."""
    scores = module.scores(torch.from_numpy(embed(module, ids))[None].to(module.last.dtype))[0]
    return _softmax(_array(scores))


def alpha_avg(module: SingleLayer, ids: IntArray) -> FloatArray:
    """The mean attention over heads [window]: never negative."""
    return np.asarray(attention(module, ids).mean(axis=0))


def alpha_max(module: SingleLayer, ids: IntArray) -> FloatArray:
    """The largest attention over heads [window]: never negative."""
    return np.asarray(attention(module, ids).max(axis=0))


@dataclass(frozen=True)
class Reading:
    """A text and the same text all removed, as the reading layer sees them [heads, window]."""

    weight: FloatArray  # g
    effect: FloatArray  # u
    removed_weight: FloatArray  # h
    removed_effect: FloatArray  # u_h
    owner: IntArray  # the word at each position [window]; -1 where none can be removed
    words: int

    def per_word(self, positions: FloatArray) -> FloatArray:
        """Numbers of positions [..., window], summed for each word [..., words]."""
        place = (self.owner[:, None] == np.arange(self.words)).astype(np.float64)
        return np.asarray(positions @ place)


def read_text(module: SingleLayer, ids: IntArray) -> Reading:
    """The `Reading` of a text [length], [CLS] first."""
    whole = torch.from_numpy(embed(module, ids))[None].to(module.last.dtype)
    gone = torch.from_numpy(embed(module, removed(ids)))[None].to(module.last.dtype)
    return read_states(module, whole, gone, ids)


def read_states(module: SingleLayer, whole: Tensor, gone: Tensor, ids: IntArray) -> Reading:
    """The `Reading` of hidden states [1, window, width] of the text and of the all-[UNK] text."""
    under_query = gone.clone()
    under_query[:, 0] = whole[:, 0]  # the query of the original text asks both
    scores = _array(module.scores(whole)[0]), _array(module.scores(under_query)[0])
    top = np.maximum(scores[0].max(axis=1), scores[1].max(axis=1))[:, None]
    owner = Removal(module, ids).owner
    padding = np.full(module.shape.window - len(ids), -1)
    return Reading(
        weight=np.exp(scores[0] - top),
        effect=_array(module.effects(whole)[0]),
        removed_weight=np.exp(scores[1] - top),
        removed_effect=_array(module.effects(gone)[0]),
        owner=np.concatenate([owner, padding]),
        words=int(owner.max()) + 1,
    )


def three_halves(reading: Reading) -> FloatArray:
    """The paper's approximation of LIME [words] (section 5), large samples and bandwidth:

    beta_j = 3/2 mean over heads of sum over t with word j of W_l (alpha_t v_t - alpha_ht v_ht),
    alpha_h being the attention over the text with every word removed.
    """
    alpha = reading.weight / reading.weight.sum(axis=1, keepdims=True)
    gone = reading.removed_weight / reading.removed_weight.sum(axis=1, keepdims=True)
    change = alpha * reading.effect - gone * reading.removed_effect
    return 1.5 * reading.per_word(change.mean(axis=0))


def lime_large_text(means: Means) -> FloatArray:
    """The paper's general form [words]: beta_j = 3 E[f | j kept] - (3 / d) sum_k E[f | k kept].

    Exact for d without end. At any d the exact coefficients (`lime_limit`) are (d - 1) / (d + 1)
    times these, plus 6 / (d + 1) (mean over k of E[f | k kept] - E f) for every word: the order is
    the same, but these sum to 0 and the exact ones do not.
    """
    by_size, _ = means
    words = by_size.shape[1]
    odds = (words - np.arange(1, words + 1)) / words  # of being kept, given the size
    kept = odds @ by_size / odds.sum()
    return np.asarray(3 * kept - 3 * kept.mean())


def lime_limit(means: Means, bandwidth: float = math.inf) -> FloatArray:
    """LIME's coefficients [words] for endless samples, exactly, at any bandwidth and d > 1."""
    by_size, empty = means
    words = by_size.shape[1]
    kept = words - np.arange(1, words + 1)
    odds = size_weights(kept / words, bandwidth)
    odds /= odds.sum()  # of each size
    # E[f | s] is the mean over j of E[f | s, j kept]: every kept word is equally likely.
    mean = odds @ np.append(by_size[:-1].mean(axis=1), empty)
    one = odds @ (kept / words)
    two = odds @ (kept * (kept - 1) / (words * (words - 1)))
    return _coefficients((odds * kept / words) @ by_size, float(mean), float(one), float(two))


def lime_integral(reading: Reading) -> FloatArray:
    """LIME's coefficients [words] of the single layer, large bandwidth, without any sampling.

    Not in the paper; exact up to the rounding of two smooth integrals, for any number of words.
    A size uniform on 0 ... d and a uniform subset of that size is the same as a uniform p and each
    word kept with odds p, so given p the words are independent. And 1 / D is the integral of
    exp(-x D), in which the weights D of independent words factor. With G_j, A_j the sums of weight
    and of weight times effect over word j's places, H_j, B_j those once it is removed, and 0 for
    all other places, a head's E[f] and E[z_j f] are integrals over p and x of

        e^(-x G_0) prod_k phi_k (A_0 + sum_k r_k)   and the same times q_j, with A_j for r_j, where
        phi_k = p e^(-x G_k) + (1 - p) e^(-x H_k),  q_k = p e^(-x G_k) / phi_k,
        r_k = q_k A_k + (1 - q_k) B_k.

    LIME always removes a word; the size 0, the whole text, is taken out again at the end.
    """
    if reading.words < 2:
        raise InputError(
            "LIME removes at least one word, so of one word it learns nothing.",
            "Give a text of two distinct words at least.",
        )
    heads = [_head_moments(reading, head) for head in range(len(reading.weight))]
    alpha = reading.weight / reading.weight.sum(axis=1, keepdims=True)
    whole = float((alpha * reading.effect).sum(axis=1).mean())
    words = reading.words
    moments = ((words + 1) * np.mean(heads, axis=0) - whole) / words
    one, two = (words - 1) / (2 * words), (words - 2) / (3 * words)
    return _coefficients(moments[:-1], float(moments[-1]), one, two)


def _head_moments(reading: Reading, head: int) -> FloatArray:
    """E[z_j f] of each word and then E[f] [words + 1] of one head; size uniform on 0 ... d."""
    weight, gone = reading.weight[head], reading.removed_weight[head]
    g, a = reading.per_word(weight), reading.per_word(weight * reading.effect[head])
    h, b = reading.per_word(gone), reading.per_word(gone * reading.removed_effect[head])
    rest = reading.owner < 0
    g_0 = gone[rest].sum()
    a_0 = (gone * reading.removed_effect[head])[rest].sum()
    x, dx = _log_grid(g_0 + np.minimum(g, h).sum(), g_0 + np.maximum(g, h).sum())
    low = np.minimum(g, h)  # taken out of phi, which cannot underflow then
    kept, left_out = (np.exp(-x[:, None] * (weights - low)) for weights in (g, h))  # [x, words]
    mass = dx * np.exp(-x * (g_0 + low.sum()))
    nodes, steps = np.polynomial.legendre.leggauss(min(reading.words // 2 + 1, MOST_NODES))
    moments = np.zeros(reading.words + 1)
    for p, dp in zip((nodes + 1) / 2, steps / 2, strict=True):
        phi = p * kept + (1 - p) * left_out
        q = p * kept / phi
        r = b + q * (a - b)
        total = a_0 + r.sum(axis=1)
        share = dp * mass * np.exp(np.log(phi).sum(axis=1))
        moments[:-1] += (share * total) @ q + share @ (q * (a - r))
        moments[-1] += share @ total
    return moments


def _log_grid(least: float, most: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and steps [x] for integrals of exp(-x D) over x > 0, with D between the two.

    Even steps of log x: for such functions the plain sum is exact to about exp(-pi^2 / step).
    """
    step = 0.3
    least = max(least, 1e-300)  # attention so sharp that the weights of the others underflow
    logs = np.arange(math.log(1e-14 / most), math.log(40) - math.log(least), step)
    return np.exp(logs), step * np.exp(logs)


def _coefficients(kept: FloatArray, mean: float, one: float, two: float) -> FloatArray:
    """Least squares from moments: E[z_j f], E[f], E z_j and E z_j z_k.

    All words being alike to the sampler, the covariance of (z_1 ... z_d) is a I + b 11^T with
    a = E z_j - E z_j z_k and b = E z_j z_k - (E z_j)^2, so with c_j = Cov(z_j, f)

        beta_j = (c_j - b / (a + d b) sum_k c_k) / a.
    """
    covariance = kept - one * mean
    a, b = one - two, two - one**2
    return np.asarray((covariance - b / (a + len(kept) * b) * covariance.sum()) / a)


def seven_explanations(module: SingleLayer, ids: IntArray) -> dict[str, FloatArray]:
    """The seven explanations that the paper compares [words], in the order of `Removal.words`.

    Attention (mean and largest over heads), the gradient of f at the word's embedding (its mean,
    L1 and L2 norm, and its product with the embedding), and LIME for endless samples.
    """
    reading = read_text(module, ids)
    slope = gradient(module, ids)  # [window, width]
    positions = {
        "alpha-avg": alpha_avg(module, ids),
        "alpha-max": alpha_max(module, ids),
        "G-avg": slope.mean(axis=1),
        "G-l1": np.abs(slope).sum(axis=1),
        "G-l2": np.sqrt((slope**2).sum(axis=1)),
        "GxI": (slope * embed(module, ids)).sum(axis=1),
    }
    scores = {name: reading.per_word(numbers) for name, numbers in positions.items()}
    return scores | {"LIME": lime_integral(reading)}


def rank_correlations(scores: dict[str, FloatArray]) -> dict[tuple[str, str], float]:
    """Spearman's correlation of every pair of explanations."""
    return {
        (one, other): rank_correlation(scores[one], scores[other])
        for one, other in combinations(scores, 2)
    }


def embed(module: SingleLayer, ids: IntArray) -> FloatArray:
    """e_t of a text [length], padded: [window, width]."""
    rows = torch.from_numpy(np.ascontiguousarray(ids))[None].to(module.positions.device)
    return _array(module.embed(module.pad(rows))[0])


def removed(ids: IntArray) -> IntArray:
    """The text with every word replaced by [UNK], behind [CLS]."""
    return np.where(np.arange(len(ids)) == 0, ids, UNK)


def _softmax(scores: FloatArray) -> FloatArray:
    weight = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def _array(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
