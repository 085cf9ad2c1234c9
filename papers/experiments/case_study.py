"""Paper A, camera-ready, F.8: find the words that carry a long document's decision, edit a few.

The document is made of reviews of one label, read passage by passage: its log-odds are the mean of
the passages', weighted by their words. An edit takes one word out of one passage, wherever it
stands there. Edits are chosen from explanations alone; the model is asked only what came of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from papers.arrays import FloatArray
from papers.experiments.base import Context, Outcome
from papers.experiments.charts import COLOURS, DASHES
from papers.tables import Table
from piste import METHODS, Explanation, Options, Slalom, explain, load
from piste.arrays import Ragged
from piste.decision import Decision
from piste.methods import Method
from piste.models import Classifier

PAPER = (1.515, -0.580, 4)  # log-odds before and after so many edits, of 4,187 tokens
POSITIVE = 1
LIN, STEPS, FLIPS, AHEAD = (
    "SLALOM, highest lin first", "SLALOM, step by step", "context, sets that turn a passage",
    "context, step by step",
)  # fmt: skip
CHANCE = "words at random"


@dataclass(frozen=True)
class CaseStudySettings:
    """How long the document and its passages are, what explaining may cost, how many edits."""

    words: int
    passage: int  # words, at most
    edits: int
    budget: int | None = None  # forward passes for a passage; None: each method's own
    random: int = 5  # orders of the words by chance
    listed: int = 8  # edits in the table


SETTINGS = {
    "tiny": CaseStudySettings(words=60, passage=25, edits=3, budget=30, random=2, listed=2),
    "small": CaseStudySettings(words=3000, passage=300, edits=150),
    "paper": CaseStudySettings(words=3000, passage=300, edits=150, budget=2000),
}


@dataclass(frozen=True)
class Passage:
    """A part of the document that the model reads at once."""

    text: str
    decision: Decision
    share: float  # of the document's words

    def score(self, removed: Sequence[int]) -> float:
        """The log-odds without these players."""
        kept = np.setdiff1d(np.arange(len(self.decision.players)), removed)
        return float(self.decision.margins(Ragged.of([kept.tolist()]))[0])


@dataclass(frozen=True)
class Edit:
    """A word taken out of a passage, all its occurrences there."""

    passage: int
    players: tuple[int, ...]


@dataclass(frozen=True)
class Edited:
    """What came of one way to choose."""

    edits: Sequence[Edit]
    curve: FloatArray  # the document's log-odds after 0, 1, 2 ... edits
    cost: float  # of the explanations, in readings of the document

    @property
    def turned(self) -> int | None:
        """The edits after which the decision is another."""
        below = np.flatnonzero(self.curve < 0)
        return int(below[0]) if len(below) else None


def run(context: Context, settings: CaseStudySettings) -> Outcome:
    """Explain every passage by both methods, and edit."""
    classifier = load()
    examples = [e for e in context.examples("imdb", "test") if e.label == POSITIVE]
    texts = cut([e.text.replace("<br />", " ") for e in examples], settings)
    document = passages(texts, classifier)
    chosen = ways(context, document, classifier, settings)
    found = {
        name: Edited(edits, curve(document, edits), cost) for name, (edits, cost) in chosen.items()
    }
    random = by_chance(document, settings, context.seed)
    return Outcome(
        (_table(found, random), _edits_table(found, document, settings.listed)),
        {"edits": draw(found, random)},
        {
            "document": f"the first positive test reviews of IMDB, {_words(texts):,} words",
            "passages": f"{len(texts)} of at most {settings.passage} words",
            "model": repr(classifier),
            "budget": settings.budget or "each method's own",
            "edits": f"at most {settings.edits}",
        },
        findings(found, random, _words(texts)),
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


def ways(
    context: Context,
    document: Sequence[Passage],
    classifier: Classifier,
    settings: CaseStudySettings,
) -> dict[str, tuple[list[Edit], float]]:
    """The edits of each way to choose, and its cost in readings of the document."""
    explained = {}
    methods: dict[str, Method] = {"slalom": Slalom(), "context": METHODS["context"]}
    for name, method in methods.items():
        context.say(f"explaining {len(document)} passages by {name}")
        explained[name] = [
            explain(
                passage.text,
                classifier,
                method,
                target="positive",
                seed=context.seed,
                budget=settings.budget,
            )
            for passage in document
        ]
    slalom, words = explained["slalom"], explained["context"]
    most = settings.edits
    spent = {name: readings(found) for name, found in explained.items()}
    return {
        LIN: (highest(document, slalom, most), spent["slalom"]),
        STEPS: (step_by_step(document, slalom, most), spent["slalom"]),
        FLIPS: (turning_sets(document, words, most), spent["context"]),
        AHEAD: (step_by_step(document, words, most), spent["context"]),
    }


def readings(explained: Sequence[Explanation]) -> float:
    """What the explanations cost, in readings of the whole document."""
    tokens = sum(explanation.cost.tokens for explanation in explained)
    return tokens / sum(explanation.cost.full_tokens or 0 for explanation in explained)


def words_of(passage: Passage) -> list[tuple[int, ...]]:
    """The players of each distinct word."""
    groups: dict[int, list[int]] = {}
    for index in range(len(passage.decision.players)):
        groups.setdefault(int(passage.decision.players.groups[index]), []).append(index)
    return [tuple(members) for members in groups.values()]


def highest(document: Sequence[Passage], explained: Sequence[Explanation], most: int) -> list[Edit]:
    """By SLALOM's lin, the largest in the whole document first, as the paper ranks words."""
    ranked = [
        (passage.share * float(explanation.scores["lin"][list(word)].sum()), Edit(number, word))
        for number, (passage, explanation) in enumerate(zip(document, explained, strict=True))
        for word in words_of(passage)
    ]
    return [edit for _, edit in sorted(ranked, key=lambda pair: -pair[0])[:most]]


def step_by_step(
    document: Sequence[Passage], explained: Sequence[Explanation], most: int
) -> list[Edit]:
    """Always the edit that, after those before it, is predicted to lower the document most."""
    removed: list[tuple[int, ...]] = [() for _ in document]
    left = [words_of(passage) for passage in document]
    best = [_best(document[n], explained[n], removed[n], left[n]) for n in range(len(document))]
    edits: list[Edit] = []
    while len(edits) < most and any(words for words in left):
        number = max(range(len(best)), key=lambda n: best[n][0])
        word = best[number][1]
        edits.append(Edit(number, word))
        removed[number] += word
        left[number].remove(word)
        best[number] = _best(document[number], explained[number], removed[number], left[number])
    return edits


def _best(
    passage: Passage,
    explanation: Explanation,
    removed: tuple[int, ...],
    left: Sequence[tuple[int, ...]],
) -> tuple[float, tuple[int, ...]]:
    """The largest predicted fall of the document that one more word brings, and that word."""
    if not left:
        return -np.inf, ()
    before = explanation.change(removed) if removed else 0.0
    falls = [explanation.change((*removed, *word)) - before for word in left]
    place = int(np.argmax(falls))
    return passage.share * falls[place], left[place]


def turning_sets(
    document: Sequence[Passage], explained: Sequence[Explanation], most: int
) -> list[Edit]:
    """The sets that turn a passage: first where an edit is predicted to bring most."""
    ranked = []
    for number, (passage, explanation) in enumerate(zip(document, explained, strict=True)):
        flip = explanation.flip
        if flip is not None and explanation.target.score > 0:
            edits = list(_edits_of(number, passage, flip.players))
            fall = passage.share * (explanation.target.score - flip.predicted)
            ranked.append((fall / len(edits), edits))
    ranked.sort(key=lambda pair: -pair[0])
    return [edit for _, edits in ranked for edit in edits][:most]


def _edits_of(number: int, passage: Passage, players: Sequence[int]) -> Iterator[Edit]:
    """A set's players, those of one word together."""
    for word in words_of(passage):
        taken = tuple(index for index in word if index in players)
        if taken:
            yield Edit(number, taken)


def curve(document: Sequence[Passage], edits: Sequence[Edit]) -> FloatArray:
    """The model's log-odds of the document after 0, 1, 2 ... edits."""
    scores = np.array([passage.decision.target.score for passage in document])
    shares = np.array([passage.share for passage in document])
    removed: list[list[int]] = [[] for _ in document]
    points = [float(shares @ scores)]
    for edit in edits:
        removed[edit.passage] += edit.players
        scores[edit.passage] = document[edit.passage].score(removed[edit.passage])
        points.append(float(shares @ scores))
    return np.array(points)


def by_chance(document: Sequence[Passage], settings: CaseStudySettings, seed: int) -> FloatArray:
    """The mean curve of words in random order."""
    rng = np.random.default_rng(seed)
    every = [Edit(n, word) for n, passage in enumerate(document) for word in words_of(passage)]
    orders = [rng.permutation(len(every))[: settings.edits] for _ in range(settings.random)]
    curves = [curve(document, [every[index] for index in order]) for order in orders]
    return np.asarray(np.mean(curves, axis=0))


def findings(found: Mapping[str, Edited], random: FloatArray, words: int) -> tuple[str, ...]:
    """After how many edits the decision turns."""
    start, (before, after, edits) = float(random[0]), PAPER
    turned = {
        name: "not within the edits tried" if one.turned is None else f"after {one.turned} edits"
        for name, one in found.items()
    }
    said = "; ".join(f"{name}: {when}" for name, when in turned.items())
    return (
        f"The document of {words:,} words has log-odds {start:+.2f}. It turns: {said}. As many"
        f" words at random leave {random[-1]:+.2f}.",
        f"In the paper {edits} edits chosen by hand from SLALOM's scores bring a document of 4,187"
        f" tokens from {before:+.3f} to {after:+.3f}. Ours takes words out and writes none, and its"
        " score is a mean over passages, in which one edit moves one passage only.",
    )


def draw(found: Mapping[str, Edited], random: FloatArray) -> Figure:
    """Log-odds by the number of edits."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.axhline(0, color="#999999", linewidth=0.8)
    for index, (name, one) in enumerate(found.items()):
        axes.plot(one.curve, DASHES[index], color=COLOURS[index], label=name)
    axes.plot(random, color="#999999", label=CHANCE)
    axes.set(xlabel="words taken out", ylabel="log-odds of the document")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _table(found: Mapping[str, Edited], random: FloatArray) -> Table:
    marks = sorted({min(mark, len(random) - 1) for mark in (4, 16, 64, 150)})
    rows = [
        (
            name,
            f"{one.cost:.0f}",
            "–" if one.turned is None else str(one.turned),
            *(f"{one.curve[m]:+.2f}" if m < len(one.curve) else "–" for m in marks),
        )
        for name, one in found.items()
    ]
    rows.append((CHANCE, "0", "–", *(f"{random[mark]:+.2f}" for mark in marks)))
    columns = (
        "edits chosen by", "readings spent", "turns after", *(f"after {m}" for m in marks)
    )  # fmt: skip
    title = f"Log-odds of the document after so many edits; {random[0]:+.2f} before"
    return Table(title, columns, tuple(rows))


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
