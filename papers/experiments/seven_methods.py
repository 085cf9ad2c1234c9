"""Paper B: seven explanations of one sentence, and how far they agree over many reviews."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.arrays import FloatArray, IntArray, rank_correlation
from papers.experiments import single_layer_imdb as imdb
from papers.experiments.base import Context, Outcome
from papers.experiments.seven_figures import Scores, correlation, highlights, matrices, shown
from papers.tables import Table
from papers.theory.closed_forms import EXPLANATIONS, seven_explanations
from papers.theory.lime_by_subsets import Removal
from papers.theory.single_layer import UNK, SingleLayer, negated


@dataclass(frozen=True)
class SevenMethodsSettings:
    """The model, and how many reviews are explained."""

    model: imdb.SingleLayerSettings
    reviews: int


SETTINGS = {
    "tiny": SevenMethodsSettings(imdb.SETTINGS["tiny"], reviews=4),
    "small": SevenMethodsSettings(imdb.SETTINGS["small"], reviews=40),
    "paper": SevenMethodsSettings(imdb.SETTINGS["paper"], reviews=1_000),
}


@dataclass(frozen=True)
class MethodAgreement:
    """How far the explanations agree on one text, or on the mean of many."""

    ranks: FloatArray  # Spearman's correlation [7, 7]
    sizes: FloatArray  # the same of absolute scores [7, 7]
    signs: FloatArray  # share of words whose signs differ [7, 7]
    negative: FloatArray  # share of words with a negative score [7]
    texts: int = 1


def run(context: Context, settings: SevenMethodsSettings) -> Outcome:
    """Explain the sentence and a sample of test reviews."""
    stage = imdb.stage(context, settings.model)
    module, ids = stage.model.exact, stage.sentence.ids
    scores = seven_explanations(module, ids)
    here = compare(_of_known_words(scores, ids))
    sample = measure(module, stage.texts(settings.reviews), context.say)
    turned = turned_round(module, ids)
    return stage.outcome(
        tables=(
            _matrix(here.ranks, "Rank correlation (Spearman) of the sentence's words"),
            _matrix(sample.ranks, f"Mean rank correlation over {sample.texts:,} test reviews"),
            _matrix(
                sample.signs, "Share of words whose signs differ, same reviews", "{:.0%}".format
            ),
            _by_method(sample, turned),
        ),
        figures={
            "highlights": highlights(by_place(scores, ids), stage.sentence),
            "correlations": matrices(here.ranks, sample.ranks, sample.texts),
        },
        settings=_reported(sample),
        findings=findings(here, sample, turned),
    )


def compare(scores: Scores) -> MethodAgreement:
    """Ranks and signs of every pair."""
    table = np.array([scores[name] for name in EXPLANATIONS])
    signs = np.sign(table)
    return MethodAgreement(
        ranks=_each_pair(table, rank_correlation),
        sizes=_each_pair(np.abs(table), rank_correlation),
        signs=_each_pair(signs, lambda one, other: float(np.mean(one != other))),
        negative=np.asarray((signs < 0).mean(axis=1)),
    )


def measure(
    module: SingleLayer, texts: Sequence[IntArray], say: Callable[[str], None] = lambda _: None
) -> MethodAgreement:
    """The mean over texts; those with fewer than two known words order nothing and do not count."""
    ordered = [ids for ids in texts if len(np.setdiff1d(ids[1:], UNK)) > 1]
    compared = []
    for number, ids in enumerate(ordered, start=1):
        say(f"explaining review {number} of {len(ordered)}")
        compared.append(compare(_of_known_words(seven_explanations(module, ids), ids)))
    return MethodAgreement(
        ranks=_mean([one.ranks for one in compared]),
        sizes=_mean([one.sizes for one in compared]),
        signs=_mean([one.signs for one in compared]),
        negative=_mean([one.negative for one in compared]),
        texts=len(compared),
    )


def turned_round(module: SingleLayer, ids: IntArray) -> dict[str, float]:
    """Correlation of each explanation with itself once the last layer, and with it f, is negated.

    1: the explanation does not see the last layer's sign; -1: it turns round with the model.
    """
    one, other = (
        _of_known_words(seven_explanations(m, ids), ids) for m in (module, negated(module))
    )
    return {name: float(np.corrcoef(one[name], other[name])[0, 1]) for name in EXPLANATIONS}


def by_place(scores: Scores, ids: IntArray) -> dict[str, FloatArray]:
    """Each place's score: that of its word, which all its places share [tokens]."""
    owner = Removal(lambda rows: rows, ids).owner[1:]
    return {name: scores[name][owner] for name in EXPLANATIONS}


def findings(
    here: MethodAgreement, sample: MethodAgreement, turned: Mapping[str, float]
) -> tuple[str, ...]:
    """What the paper says of the seven, by our numbers."""
    upper = np.triu_indices(len(EXPLANATIONS), 1)
    pairs, means = here.ranks[upper], sample.ranks[upper]
    low = int((pairs < 0.5).sum())
    disagree = "disagree" if low else "agree more than the paper says"
    blind = [shown(name) for name in EXPLANATIONS if turned[name] > 0]
    seeing = [shown(name) for name in EXPLANATIONS if turned[name] < 0]
    return (
        f"The seven {disagree}: the rank correlations of the sentence's words lie between"
        f" {pairs.min():.2f} and {pairs.max():.2f}; {low} of {len(pairs)} pairs"
        f" are below 0.5. Over {sample.texts:,} reviews the means lie between {means.min():.2f} and"
        f" {means.max():.2f}.",
        _negative_finding(sample),
        f"When the last layer is negated, so that every answer turns round, {_listed(seeing)} turn"
        f" round with it and {_listed(blind)} stay as they are.",
        _nearest_finding(sample),
    )


def _negative_finding(sample: MethodAgreement) -> str:
    share = {name: sample.negative[row] for row, name in enumerate(EXPLANATIONS)}
    attention = max(share["alpha-avg"], share["alpha-max"])
    never = "never negative" if attention == 0 else f"negative on {attention:.1%} of words"
    return (
        f"Attention is {never}; LIME is negative on {share['LIME']:.0%} of a review's words, G×I on"
        f" {share['GxI']:.0%}, G-avg on {share['G-avg']:.0%}. LIME and G×I, which both have a sign,"
        f" differ in it on {_pair(sample.signs, 'GxI', 'LIME'):.0%} of words."
    )


def _nearest_finding(sample: MethodAgreement) -> str:
    with_lime = {name: _pair(sample.ranks, name, "LIME") for name in EXPLANATIONS[:-1]}
    best = max(with_lime, key=lambda name: with_lime[name])
    return (
        f"The nearest to LIME is {shown(best)} (mean rank correlation {with_lime[best]:.2f});"
        f" attention's is {with_lime['alpha-avg']:.2f} with LIME's signed scores and"
        f" {_pair(sample.sizes, 'alpha-avg', 'LIME'):.2f} with their sizes."
    )


def _matrix(table: FloatArray, title: str, cell: Callable[[float], str] = correlation) -> Table:
    names = tuple(map(shown, EXPLANATIONS))
    rows = tuple((name, *map(cell, row)) for name, row in zip(names, table, strict=True))
    return Table(title, ("", *names), rows)


def _by_method(sample: MethodAgreement, turned: Mapping[str, float]) -> Table:
    rows = tuple(
        (
            shown(name),
            f"{sample.negative[row]:.0%}",
            correlation(_pair(sample.ranks, name, "LIME")),
            correlation(_pair(sample.sizes, name, "LIME")),
            correlation(turned[name]),
        )
        for row, name in enumerate(EXPLANATIONS)
    )
    columns = ("negative words", "rank correlation with LIME", "of absolute scores")
    last = "correlation with itself, last layer negated"
    return Table(f"By explanation, {sample.texts:,} test reviews", ("", *columns, last), rows)


def _reported(sample: MethodAgreement) -> dict[str, object]:
    return {
        "reviews compared": f"the first {sample.texts:,} of the test file",
        "scores": "one a distinct word, summed over its places; unknown words left out",
        "LIME": "its limit for endless samples and a large width, by the exact integral",
        "target": "log-odds of positive",
    }


def _of_known_words(scores: Scores, ids: IntArray) -> dict[str, FloatArray]:
    """Without [UNK]: many words in one, and LIME cannot remove it."""
    known = np.unique(ids[1:]) != UNK
    return {name: scores[name][known] for name in EXPLANATIONS}


def _each_pair(
    table: FloatArray, measured: Callable[[FloatArray, FloatArray], float]
) -> FloatArray:
    return np.array([[measured(one, other) for other in table] for one in table])


def _mean(tables: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.mean(tables, axis=0))


def _pair(table: FloatArray, one: str, other: str) -> float:
    return float(table[EXPLANATIONS.index(one), EXPLANATIONS.index(other)])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
