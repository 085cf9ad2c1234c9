"""What the tools answer: plain data, whose fields are the tools' output schema, and its words.

Every answer says how far to trust it (`fidelity`) and what was asked of the model (`cost`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from piste.compare import Comparison
from piste.decision import RAW
from piste.errors import several
from piste.mcp.tools import Trial
from piste.render import together, trust, turns
from piste.render.answer import sentence
from piste.render.clean import one_line, visible
from piste.render.comparison_words import headline, verdict
from piste.render.words import asked, signed
from piste.result.explanation import Explanation
from piste.result.parts import PlayerSet
from piste.result.scores import score

PAIRS = 5  # in the words of an answer; the data holds all words


@dataclass(frozen=True)
class Fidelity:
    """How well the explanation predicts the model on parts of the text it was not fitted to."""

    r2: float | None  # None where it is not known, or nothing was estimated
    rating: str  # "very good", "good", "fair", "poor", "exact" or "unknown"
    in_words: str
    warnings: list[str]  # what must be read before the scores


@dataclass(frozen=True)
class Cost:
    """What was asked of the model for this answer, and for the explanation that it rests on."""

    sequences: int
    forward_passes: float | None  # of the full text
    seconds: float
    in_words: str


@dataclass(frozen=True)
class Decision:
    """What the model decided on the text, towards which label scores are told, and its score."""

    label: str
    against: str | None
    scale: str  # "log-odds" for classes
    score: float
    probability: float | None
    other_labels: list[str]
    model: str


@dataclass(frozen=True)
class Word:
    """A word of the text, in reading order; `index` names its place for predict_without."""

    index: int
    word: str
    score: float  # what it contributes: above 0 it speaks for the label
    error: float | None  # standard error


@dataclass(frozen=True)
class Together:
    """Two words that act together: what they do beyond what each does alone."""

    first: int
    second: int
    interaction: float
    error: float
    in_words: str


@dataclass(frozen=True)
class Explained:
    """Why the model decided as it did: base + the scores of all words = the model's score."""

    answer: str
    decision: Decision
    base: float | None  # the score of the empty text
    words: list[Word]
    together: list[Together]
    fidelity: Fidelity
    cost: Cost


@dataclass(frozen=True)
class Without:
    """The model's own answer to the text without some words, beside what was predicted."""

    answer: str
    removed: list[str]
    decision: Decision  # on the full text
    score: float  # the model's own, without the words
    new_label: str  # what it decides then
    predicted: float | None
    predicted_error: float | None
    fidelity: Fidelity
    cost: Cost


@dataclass(frozen=True)
class WordSet:
    """Words of the text, and the model's own answer without them, or to them alone."""

    indices: list[int]
    words: list[str]
    new_label: str
    score: float


@dataclass(frozen=True)
class Flipped:
    """The fewest words found that turn the decision, and that keep it; verified on the model."""

    answer: str
    decision: Decision
    turned_by_removing: WordSet | None
    kept_by_alone: WordSet | None
    fidelity: Fidelity
    cost: Cost


@dataclass(frozen=True)
class MethodResult:
    """One method's strongest words, and how it did where that was measured."""

    method: str
    strongest: list[Word]
    deletion: float | None  # fall of the probability, strongest first; higher is better
    removal_error: float | None  # of the changes it predicts; lower is better
    fidelity: Fidelity
    cost: Cost


@dataclass(frozen=True)
class Compared:
    """Several methods on one decision: do they agree, and which one to trust here."""

    answer: str
    decision: Decision
    methods: list[MethodResult]
    agreement: list[list[float | None]]  # rank correlations, in the order of the methods
    failed: dict[str, str]
    fidelity: Fidelity  # of the first method
    cost: Cost  # of all methods


def explained(explanation: Explanation) -> Explained:
    lines = [sentence(explanation), "", *_strongest(explanation)]
    links = together.links(explanation, PAIRS)
    if links:
        lines += ["", "Together:", *(f"  {link.text}" for link in links)]
    return Explained(
        _in_words(lines, explanation),
        decided(explanation),
        explanation.base,
        words(explanation),
        [
            Together(
                link.pair.first, link.pair.second, link.pair.effect, link.pair.error, link.text
            )
            for link in links
        ],
        fidelity(explanation),
        cost(explanation),
    )


def flipped(explanation: Explanation) -> Flipped:
    told = [turn.answer for turn in turns.turns(explanation)]
    if explanation.flip is None:
        why = turns.unturned(explanation) or "No set of words was found that turns the decision."
        told.insert(0, why)
    return Flipped(
        _in_words(told, explanation),
        decided(explanation),
        _set(explanation, explanation.flip),
        _set(explanation, explanation.core),
        fidelity(explanation),
        cost(explanation),
    )


def without(
    explanation: Explanation,
    removed: Sequence[int],
    trial: Trial,
    predicted: tuple[float | None, float | None],
) -> Without:
    """predicted: score and error."""
    target, true, label = explanation.target, trial.score, trial.after
    names = [together.named(explanation, index) for index in removed]
    turned = "still" if label == trial.before else "then"
    decides = "gives" if target.scale == RAW else f"{turned} says {one_line(label)}:"
    lines = [
        f"Without {', '.join(names)} the model {decides}"
        f" {target.scale} {signed(true)} instead of {signed(target.score)}"
        f" for {one_line(target.label)} (its own answer)."
    ]
    guess, error = predicted
    if guess is not None:
        give = "" if error is None else f" ±{error:.2f}"
        lines.append(f"The explanation predicted {signed(guess)}{give}.")
    return Without(
        _in_words(lines, explanation, trial.asked),
        [explanation.players[index].text for index in removed],
        decided(explanation),
        true,
        label,
        guess,
        error,
        fidelity(explanation),
        cost(explanation, trial.asked),
    )


def compared(comparison: Comparison) -> Compared:
    methods = [_method(name, one, comparison) for name, one in comparison.explanations.items()]
    explanations = list(comparison.explanations.values())
    lines = [headline(comparison), *(f"  {_method_line(one)}" for one in methods)]
    lines += [f"  {name} could not run: {why}" for name, why in comparison.failed.items()]
    total = Cost(
        sum(one.cost.sequences for one in methods)
        + (comparison.protocol.forwards if comparison.protocol else 0),
        None,
        sum(one.cost.seconds for one in methods),
        f"Cost: {asked(*explanations)}"
        + (
            f", and {several(comparison.protocol.forwards, 'sequence')} to measure"
            if comparison.protocol
            else ""
        )
        + ".",
    )
    first = fidelity(comparison.first)
    lines += [verdict(comparison), f"{methods[0].method}: {first.in_words}", total.in_words]
    return Compared(
        visible("\n".join(lines)),
        decided(comparison.first),
        methods,
        [[_number(value) for value in row] for row in comparison.agreement.tolist()],
        dict(comparison.failed),
        first,
        total,
    )


def _method(name: str, explanation: Explanation, comparison: Comparison) -> MethodResult:
    measured = comparison.measured.get(name)
    strongest = sorted(words(explanation), key=lambda word: -abs(word.score))[:PAIRS]
    return MethodResult(
        name,
        strongest,
        None if measured is None else measured.deletion,
        None if measured is None else measured.removal_error,
        fidelity(explanation),
        cost(explanation),
    )


def _method_line(result: MethodResult) -> str:
    strongest = ", ".join(f"“{one_line(w.word)}” {signed(w.score)}" for w in result.strongest)
    return f"{result.method}: {strongest}"


def decided(explanation: Explanation) -> Decision:
    target = explanation.target
    return Decision(
        target.label,
        target.against,
        target.scale,
        target.score,
        target.probability,
        [label for label in target.labels if label != target.label],
        explanation.model,
    )


def words(explanation: Explanation) -> list[Word]:
    name = explanation.primary
    errors = explanation.errors.get(name)
    return [
        Word(
            index,
            player.text,
            float(explanation.scores[name][index]),
            None if errors is None else float(errors[index]),
        )
        for index, player in enumerate(explanation.players)
    ]


def fidelity(explanation: Explanation) -> Fidelity:
    told = trust.statements(explanation)
    said = [one.text for one in told if one.topic is trust.Topic.FIDELITY]
    exact = trust.exact(explanation)
    r2 = None if exact or explanation.fidelity is None else explanation.fidelity.r2
    rating = "exact" if exact else trust.rating(r2)
    return Fidelity(r2, rating, " ".join(said), [one.text for one in told if one.warning])


def cost(explanation: Explanation, more: int = 0) -> Cost:
    """more: how many sequences were asked besides."""
    spent = explanation.cost
    seconds = spent.query_seconds + spent.fit_seconds
    besides = f", and {more} sequences for this answer" if more else ""
    said = f"Cost: {asked(explanation)}, {seconds:.1f} s{besides} ({explanation.method})."
    return Cost(spent.forwards + more, spent.passes, seconds, said)


def _strongest(explanation: Explanation) -> list[str]:
    name = explanation.primary
    lines = [f"{name} of the strongest words:"]
    if score(name).adds_up and explanation.base is not None:
        lines = [
            f"{name} of the strongest words (the empty text scores {signed(explanation.base)}):"
        ]
    for row in explanation.top():
        times = f" ({row.occurrences}×)" if row.occurrences > 1 else ""
        error = f" ±{row.errors[name]:.2f}" if name in row.errors else ""
        lines.append(f"  “{one_line(row.name)}”{times} {signed(row.scores[name])}{error}")
    return lines


def _in_words(lines: Sequence[str], explanation: Explanation, more: int = 0) -> str:
    """The answer with its warnings first, then fidelity and cost."""
    found = fidelity(explanation)
    ends = ["", found.in_words, cost(explanation, more).in_words]
    return visible("\n".join([*found.warnings, *lines, *ends]))


def _set(explanation: Explanation, players: PlayerSet | None) -> WordSet | None:
    if players is None:
        return None
    names = [explanation.players[index].text for index in players.players]
    return WordSet(list(players.players), names, players.label, players.score)


def _number(value: float) -> float | None:
    return value if value == value else None
