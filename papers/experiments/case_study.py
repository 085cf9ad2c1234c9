"""Paper A, camera-ready, F.8: find the words that carry a long document's decision, edit a few.

The document is made of reviews of one label, read passage by passage: its log-odds are the mean of
the passages', weighted by their words. An edit takes one word out of one passage, wherever it
stands there. Edits are chosen from explanations alone; the model is asked only what came of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from papers.arrays import FloatArray
from papers.experiments.base import Context as Run
from papers.experiments.base import Outcome
from papers.experiments.charts import COLOURS, DASHES
from papers.experiments.edits import (
    Edit,
    Edited,
    Passage,
    Way,
    curve,
    highest,
    readings,
    step_by_step,
    turning_sets,
    words_of,
)
from papers.tables import Table
from piste import Context, Explanation, Method, Options, Slalom, explain, load
from piste.decision import Decision
from piste.models import Classifier

PAPER = (1.515, -0.580, 4)  # log-odds before and after so many edits, of 4,187 tokens
POSITIVE = 1
FEW = 8  # words that may be taken out to turn one passage
METHODS: dict[str, Method] = {"SLALOM": Slalom(), "context": Context()}
WAYS: dict[str, tuple[str, Way]] = {
    "SLALOM, highest lin first": ("SLALOM", highest("lin")),
    "SLALOM, step by step": ("SLALOM", step_by_step),
    "context, highest effect first": ("context", highest("effect")),
    "context, step by step": ("context", step_by_step),
    "context, sets that turn a passage": ("context", turning_sets),
}
CHANCE = "words at random"


@dataclass(frozen=True)
class CaseStudySettings:
    """How long the document and its passages are, what explaining may cost, how many edits."""

    words: int
    passage: int  # words, at most
    edits: int
    budget: int | None = None  # forward passes for a passage; None: each method's own
    random: int = 3  # orders of the words by chance
    listed: int = 8  # edits in the table


SETTINGS = {
    "tiny": CaseStudySettings(words=60, passage=25, edits=3, budget=30, random=2, listed=2),
    "small": CaseStudySettings(words=2500, passage=300, edits=100),
    "paper": CaseStudySettings(words=3000, passage=300, edits=150, budget=2000),
}


def run(context: Run, settings: CaseStudySettings) -> Outcome:
    """Explain every passage by both methods, and edit."""
    classifier = load()
    examples = [e for e in context.examples("imdb", "test") if e.label == POSITIVE]
    texts = cut([e.text.replace("<br />", " ") for e in examples], settings)
    document = passages(texts, classifier)
    explained = explanations(context, texts, classifier, settings)
    context.say("editing")
    found = {
        name: Edited.of(document, way(document, explained[method], settings.edits))
        for name, (method, way) in WAYS.items()
    }
    random = by_chance(document, settings, context.seed)
    spent = {method: readings(of) for method, of in explained.items()}
    few = turned_passages(document, explained)
    return Outcome(
        (
            _table(found, random, spent),
            _passage_table(few),
            _edits_table(found, document, settings.listed),
        ),
        {"edits": draw(found, random)},
        {
            "document": f"the first positive test reviews of IMDB, {_words(texts):,} words",
            "passages": f"{len(texts)} of at most {settings.passage} words",
            "model": repr(classifier),
            "budget": settings.budget or "each method's own",
            "edits": f"at most {settings.edits}",
        },
        findings(found, random, few, _words(texts)),
    )


def cut(texts: Sequence[str], settings: CaseStudySettings) -> list[str]:
    """The first texts, until there are words enough, in passages."""
    parts: list[str] = []
    for text in texts:
        words = text.split()
        starts = range(0, len(words), settings.passage)
        parts += [" ".join(words[at : at + settings.passage]) for at in starts]
        if _words(parts) >= settings.words:
            break
    return parts


def passages(texts: Sequence[str], classifier: Classifier) -> list[Passage]:
    """Each with its decision; all on the log-odds of the positive label."""
    options, total = Options(target="positive"), _words(texts)
    return [
        Passage(text, Decision.on(text, classifier, options), len(text.split()) / total)
        for text in texts
    ]


def explanations(
    context: Run, texts: Sequence[str], classifier: Classifier, settings: CaseStudySettings
) -> dict[str, list[Explanation]]:
    """Of every passage, by both methods."""
    explained: dict[str, list[Explanation]] = {}
    for name, method in METHODS.items():
        context.say(f"explaining {len(texts)} passages by {name}")
        explained[name] = [
            explain(
                text,
                classifier,
                method,
                target="positive",
                seed=context.seed,
                budget=settings.budget,
            )
            for text in texts
        ]
    return explained


def turned_passages(
    document: Sequence[Passage], explained: Mapping[str, Sequence[Explanation]]
) -> dict[str, list[int | None]]:
    """How many words turn each positive passage, a few at most, by each way to choose them."""
    found: dict[str, list[int | None]] = {name: [] for name in WAYS}
    for number, passage in enumerate(document):
        if passage.decision.target.score > 0:
            alone = [replace(passage, share=1.0)]
            for name, (method, way) in WAYS.items():
                edits = way(alone, [explained[method][number]], FEW)
                found[name].append(Edited.of(alone, edits).turned)
    return found


def by_chance(document: Sequence[Passage], settings: CaseStudySettings, seed: int) -> FloatArray:
    """The mean curve of words in random order."""
    rng = np.random.default_rng(seed)
    every = [Edit(n, word) for n, passage in enumerate(document) for word in words_of(passage)]
    orders = [rng.permutation(len(every))[: settings.edits] for _ in range(settings.random)]
    curves = [curve(document, [every[index] for index in order]) for order in orders]
    return np.asarray(np.mean(curves, axis=0))


def findings(
    found: Mapping[str, Edited],
    random: FloatArray,
    few: Mapping[str, Sequence[int | None]],
    words: int,
) -> tuple[str, ...]:
    """After how many edits the decision turns, of a passage and of the document."""
    start, (before, after, edits) = float(random[0]), PAPER
    turned = {
        name: "not within those tried" if one.turned is None else f"{one.turned} words"
        for name, one in found.items()
    }
    said = "; ".join(f"{name}: {when}" for name, when in turned.items())
    passages = "; ".join(
        f"{name}: {len(_counts(counts))} of {len(counts)}" for name, counts in few.items()
    )
    return (
        f"Passages that turn when at most {FEW} of their words are taken out: {passages}.",
        f"The document of {words:,} words has log-odds {start:+.2f}. Words taken out until it"
        f" turns: {said}. {len(random) - 1} words at random leave {random[-1]:+.2f}.",
        f"In the paper {edits} edits chosen from SLALOM's scores bring a document of 4,187 tokens"
        f" from {before:+.3f} to {after:+.3f}. Our edits take words out and write none, and our"
        " document's score is a mean over passages, in which an edit moves one passage only.",
    )


def draw(found: Mapping[str, Edited], random: FloatArray) -> Figure:
    """Log-odds by the number of edits."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.axhline(0, color="#999999", linewidth=0.8)
    for index, (name, one) in enumerate(found.items()):
        axes.plot(one.curve, DASHES[index % len(DASHES)], color=COLOURS[index], label=name)
    axes.plot(random, color="#999999", label=CHANCE)
    axes.set(xlabel="words taken out", ylabel="log-odds of the document")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _table(found: Mapping[str, Edited], random: FloatArray, spent: Mapping[str, float]) -> Table:
    marks = sorted({min(mark, len(random) - 1) for mark in (4, 16, 64, 100)})
    rows = [
        (
            name,
            f"{spent[WAYS[name][0]]:.0f}",
            "–" if one.turned is None else str(one.turned),
            *(f"{one.curve[mark]:+.2f}" if mark < len(one.curve) else "–" for mark in marks),
        )
        for name, one in found.items()
    ]
    rows.append((CHANCE, "0", "–", *(f"{random[mark]:+.2f}" for mark in marks)))
    columns = ("words chosen by", "readings spent", "turns after", *(f"after {m}" for m in marks))
    title = f"Log-odds of the document without so many words; {random[0]:+.2f} before"
    return Table(title, columns, tuple(rows))


def _passage_table(few: Mapping[str, Sequence[int | None]]) -> Table:
    rows = tuple(
        (
            name,
            f"{len(_counts(counts))} of {len(counts)}",
            f"{np.mean(_counts(counts)):.1f}" if _counts(counts) else "–",
        )
        for name, counts in few.items()
    )
    columns = ("words chosen by", "passages turned", "words taken out of these, mean")
    return Table(f"Single passages, at most {FEW} words taken out of each", columns, rows)


def _counts(counts: Sequence[int | None]) -> list[int]:
    return [count for count in counts if count is not None]


def _edits_table(found: Mapping[str, Edited], document: Sequence[Passage], listed: int) -> Table:
    rows = []
    for name, one in found.items():
        words = [
            f"{document[edit.passage].decision.players.items[edit.players[0]].text}"
            f" ({edit.passage + 1})"
            for edit in one.edits[:listed]
        ]
        rows.append((name, ", ".join(words) or "none"))
    return Table("The first edits: word (passage)", ("chosen by", "words"), tuple(rows))


def _words(texts: Sequence[str]) -> int:
    return sum(len(text.split()) for text in texts)
