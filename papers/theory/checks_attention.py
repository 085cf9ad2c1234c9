"""The claims of "Attention Meets Post-hoc Interpretability" (arXiv 2402.03485), checked.

Each check reaches the closed forms through their module, so that a test can break one and see the
check turn red.
"""

import math

import numpy as np
import torch

from papers.arrays import FloatArray, IntArray
from papers.tables import ATTENTION_PAPER, OURS, Finding
from papers.theory import closed_forms, lime_by_subsets, subwords
from papers.theory.deeper import TOY_SHAPE, Depth, trained_deeper
from papers.theory.single_layer import PAPER, Shape, SingleLayer, negated, seeded
from papers.theory.single_layer_classifier import SPECIAL, SingleLayerClassifier, WordTokenizer
from papers.theory.toy import FIRST, VOCABULARY, WORDS, distinct_words
from piste import Lime, explain

SMALL = Shape(width=32, key_width=16, value_width=16, heads=6, window=16)
MODELS = 5  # trained ones
SAMPLES = (500, 5_000, 20_000)


def gradient_is_autograd() -> Finding:
    everywhere, at_cls = 0.0, 0.0
    for shape, seed in ((SMALL, 0), (SMALL, 1), (PAPER, 2)):
        module, ids = _random(shape, seed), _text(12, seed)
        form, truth = closed_forms.gradient(module, ids), closed_forms.autograd(module, ids)
        everywhere = max(everywhere, _relative(form, truth))
        at_cls = max(at_cls, _relative(form[0], truth[0]))
    return Finding(
        ATTENTION_PAPER,
        "The gradient has a closed form; at [CLS] the query adds a term (derived here)",
        f"relative difference to autograd {everywhere:.0e} over all positions,"
        f" {at_cls:.0e} at [CLS]",
        everywhere < 1e-5 and at_cls < 1e-5,
    )


def attention_is_blind() -> Finding:
    module, ids = _random(SMALL, 0), _text(10, 0)
    turned_round = negated(module)
    least = min(float(closed_forms.alpha_avg(m, ids).min()) for m in (module, turned_round))
    one, other = (closed_forms.seven_explanations(m, ids) for m in (module, turned_round))
    still = max(float(np.abs(one[name] - other[name]).max()) for name in ("alpha-avg", "alpha-max"))
    turned = all(np.allclose(one[name], -other[name]) for name in ("G-avg", "GxI", "LIME"))
    return Finding(
        ATTENTION_PAPER,
        "Attention is never negative and ignores the last layer; gradient and LIME see it",
        f"least attention {least:.0e}; turning W_l round changes attention by {still:.0e} and turns"
        f" gradient and LIME round: {'yes' if turned else 'no'}",
        least >= 0 and still < 1e-12 and turned,
    )


def lime_limit_is_exact() -> Finding:
    error = 0.0
    for bandwidth in (math.inf, lime_by_subsets.LIME_BANDWIDTH):
        game = lime_by_subsets.Removal(_random(SMALL, 0), _text(10, 0))
        means = lime_by_subsets.kept_means(game, len(game))
        exact = lime_by_subsets.exact_lime(game, len(game), bandwidth)
        error = max(error, _relative(closed_forms.lime_limit(means, bandwidth), exact))
    return Finding(
        ATTENTION_PAPER,
        "LIME is a linear function of E[f | word kept] (exact here for any d and bandwidth)",
        f"relative difference to LIME over all 1,023 subsets {error:.0e}",
        error < 1e-9,
    )


def paper_form_keeps_the_order() -> Finding:
    sizes, slopes, straight = (4, 8, 14), [], 1.0
    for words in sizes:
        game = lime_by_subsets.Removal(_random(SMALL, 0), _text(words, 0))
        paper = closed_forms.lime_large_text(lime_by_subsets.kept_means(game, words))
        exact = lime_by_subsets.exact_lime(game, words)
        slopes.append(float(np.polyfit(paper, exact, 1)[0]))
        straight = min(straight, float(np.corrcoef(paper, exact)[0, 1]))
    wanted = [(words - 1) / (words + 1) for words in sizes]
    shown = ", ".join(
        f"{slope:.3f} at d = {words}" for slope, words in zip(slopes, sizes, strict=True)
    )
    return Finding(
        ATTENTION_PAPER,
        "For large d it is 3 E[f | j kept] - (3/d) sum_k E[f | k kept], up to a shift",
        f"correlation with LIME {straight:.6f}; LIME's slope on it {shown}: (d - 1) / (d + 1)",
        straight > 1 - 1e-9 and np.allclose(slopes, wanted, rtol=1e-6),
    )


def integral_is_lime() -> Finding:
    error = 0.0
    for seed, factor in enumerate((1.0, 5.0, 20.0)):
        module, ids = _random(SMALL, seed), _text(12, seed)
        with torch.no_grad():
            module.key.mul_(factor)
        game = lime_by_subsets.Removal(module, ids)
        exact = lime_by_subsets.exact_lime(game, len(game))
        integral = closed_forms.lime_integral(closed_forms.read_text(module, ids))
        error = max(error, _relative(integral, exact))
    return Finding(
        OURS,
        "Of this model LIME is a double integral, exact at any length",
        f"flat to sharp attention: relative difference to LIME over all 4,095 subsets {error:.0e}",
        error < 1e-8,
    )


def sampling_converges() -> Finding:
    shape = Shape(width=32, key_width=16, value_width=16, heads=4, window=40)
    module, ids = _random(shape, 0), _text(30, 0)
    limit = closed_forms.lime_integral(closed_forms.read_text(module, ids))
    classifier = SingleLayerClassifier(module, WordTokenizer((*SPECIAL, *WORDS)))
    text = " ".join(WORDS[number - FIRST] for number in ids[1:])
    order = np.argsort(ids[1:])  # the closed form's words come by number
    errors = []
    for samples in SAMPLES:
        method = Lime(samples=samples, width=1e6, ridge=0.0, removal="unk")
        weights = explain(text, classifier, method, target="positive").scores["weight"]
        errors.append(_relative(weights[order], limit))
    rate = float(np.polyfit(np.log(SAMPLES), np.log(errors), 1)[0])
    shown = ", ".join(f"{e:.1%} at {n:,}" for e, n in zip(errors, SAMPLES, strict=True))
    return Finding(
        ATTENTION_PAPER,
        "LIME (piste's own) with growing samples tends to its limit",
        f"30 words, relative error {shown}: samples to the power {rate:.2f}",
        errors[-1] < 0.03 and -0.7 < rate < -0.3,
    )


def three_halves_after_training() -> Finding:
    trained = [(trained_deeper(TOY_SHAPE, Depth(), seed).reader, seed) for seed in range(MODELS)]
    fresh = [(_random(TOY_SHAPE, seed), seed) for seed in range(MODELS)]
    (straight, slope), (_, slope_before) = _rule_fit(trained), _rule_fit(fresh)
    return Finding(
        ATTENTION_PAPER,
        "LIME is about 3/2 W_l (alpha v - alpha_h v_h): trained models, large bandwidth",
        f"{MODELS} toy models, 2 texts each: correlation {straight:.2f}, LIME = {slope:.2f} times"
        f" the rule; at random weights, where [UNK] draws as much as a word, {slope_before:.2f}",
        straight > 0.9 and abs(slope - 1) < 0.1,
    )


def explanations_disagree() -> Finding:
    model = trained_deeper(TOY_SHAPE, Depth(), 0).reader
    pairs = closed_forms.rank_correlations(closed_forms.seven_explanations(model, _text(20, 0)))
    with_lime = pairs["alpha-avg", "LIME"]
    return Finding(
        ATTENTION_PAPER,
        "The seven explanations of one text disagree",
        f"rank correlations from {min(pairs.values()):.2f} to {max(pairs.values()):.2f};"
        f" attention with LIME {with_lime:.2f}, gradient x input with LIME"
        f" {pairs['GxI', 'LIME']:.2f}",
        min(pairs.values()) < 0.5 and with_lime < 0.5,
    )


def pieces_of_a_word() -> Finding:
    errors = [
        max(
            abs(subwords.conjunction_by_pieces(k, others) - subwords.kept_of_a_conjunction(k))
            for k in (1, 2, 3, 4)
        )
        for others in (3, 6, 12)
    ]
    shown = ", ".join(f"{error:.3f}" for error in errors)
    return Finding(
        OURS,
        "By pieces, LIME keeps 6k/((k+1)(k+2)) of a word that needs all its k pieces",
        f"largest difference for k up to 4 with 3, 6, 12 other words: {shown}",
        errors[0] > errors[1] > errors[2] and errors[2] < 0.06,
    )


CHECKS = (
    gradient_is_autograd,
    attention_is_blind,
    lime_limit_is_exact,
    paper_form_keeps_the_order,
    integral_is_lime,
    sampling_converges,
    three_halves_after_training,
    explanations_disagree,
    pieces_of_a_word,
)


def _random(shape: Shape, seed: int) -> SingleLayer:
    with seeded(seed):
        return SingleLayer(VOCABULARY, shape).double().eval()


def _text(words: int, seed: int) -> IntArray:
    return distinct_words(np.random.default_rng(seed), words)


def _rule_fit(models: list[tuple[SingleLayer, int]]) -> tuple[float, float]:
    """Correlation of the 3/2 rule with LIME, and LIME's slope on it; means over all texts."""
    fits = []
    for module, seed in models:
        for words in (10, 20):
            reading = closed_forms.read_text(module, _text(words, seed))
            rule, exact = closed_forms.three_halves(reading), closed_forms.lime_integral(reading)
            fits.append([np.corrcoef(rule, exact)[0, 1], rule @ exact / (rule @ rule)])
    straight, slope = np.mean(fits, axis=0)
    return float(straight), float(slope)


def _relative(measured: FloatArray, truth: FloatArray) -> float:
    return float(np.linalg.norm(measured - truth) / np.linalg.norm(truth))
