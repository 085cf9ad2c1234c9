"""An open question of arXiv 2402.03485: what do subword tokenizers do to word-level LIME?

LIME removes words; a tokenizer may see several pieces in one. Removing the pieces one by one
instead leaves torn words, which the model has hardly ever met. Measured on the embedded model, on
sentences with words it splits: LIME (every subset, large bandwidth, removed means deleted) with
words as features, and with pieces as features, whose coefficients are then added up for each word.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from papers.arrays import BoolArray, FloatArray, IntArray, rank_correlation
from papers.tables import Table
from papers.theory.lime_by_subsets import (
    LIME_BANDWIDTH,
    Game,
    every_subset,
    exact_lime,
    subset_odds,
)
from piste import load
from piste.arrays import Ragged
from piste.decision import Decision
from piste.models import Classifier
from piste.options import Options

BANDWIDTHS = (math.inf, LIME_BANDWIDTH)
SUMMARY_COLUMNS = ("words", "measured", "large bandwidth", "lime's bandwidth")
POSITIVE = 1  # the explained label of the embedded model
TEXTS = (
    "a dull mess of overacted melodrama",
    "the storyline was incomprehensible yet oddly mesmerizing",
    "a tedious pretentious snoozefest",
    "laughably amateurish dialogue ruined it",
    "the soundtrack is hauntingly beautiful",
    "an underwhelming and forgettable sequel",
    "exquisitely photographed and wonderfully understated",
    "disappointingly lifeless performances throughout",
    "shamelessly manipulative but heartwarming",
)


@dataclass(frozen=True)
class SplitWords:
    """One text, its words scored in three ways, LIME's with each of `BANDWIDTHS`."""

    words: tuple[str, ...]
    pieces: IntArray  # how many each word has [words]
    by_word: FloatArray  # LIME with words as features [bandwidths, words]
    by_piece: FloatArray  # LIME with pieces as features, summed [bandwidths, words]
    removal: FloatArray  # what deleting the word really changes [words]
    torn: float  # the share of LIME's samples, by pieces, that tear a word


def kept_of_a_conjunction(pieces: int) -> float:
    """What piece-level LIME keeps of a word whose effect needs all its k pieces: 6k/((k+1)(k+2)).

    With many words and a large bandwidth each piece is kept with the same odds p, uniform on 0
    to 1: E[product of k pieces] = 1 / (k + 1), and least squares gives each piece 6/((k+1)(k+2)).
    For one and two pieces that is all of it. Since products of pieces span every function of
    them, the sum over two pieces is the word's whole effect, whatever the pieces do together.
    """
    return 6 * pieces / ((pieces + 1) * (pieces + 2))


def conjunction_by_pieces(pieces: int, others: int, bandwidth: float = math.inf) -> float:
    """The same, measured: a text of one such word and `others` that have no effect."""
    coefficients = exact_lime(
        lambda kept: np.asarray(kept[:, :pieces].all(axis=1), dtype=np.float64),
        pieces + others,
        bandwidth,
    )
    return float(coefficients[:pieces].sum())


def conjunctions(others: int = 10) -> Table:
    """What is left of a word that needs all its pieces, by their number."""
    rows = [
        (
            str(pieces),
            f"{kept_of_a_conjunction(pieces):.2f}",
            f"{conjunction_by_pieces(pieces, others):.2f}",
            f"{conjunction_by_pieces(pieces, others, LIME_BANDWIDTH):.2f}",
        )
        for pieces in range(1, 7)
    ]
    columns = ("pieces", "6k/((k+1)(k+2))", "measured", "measured, lime's bandwidth")
    title = f"What LIME by pieces keeps of a word that needs them all ({others} other words)"
    return Table(title, columns, tuple(rows))


def measure(classifier: Classifier, text: str) -> SplitWords:
    """Word-level and piece-level LIME of one text."""
    by_word, by_piece = (
        Decision.on(text, classifier, Options(target=POSITIVE, unit=unit, repeats="separate"))
        for unit in ("word", "token")
    )
    words = by_word.players
    owner = np.repeat(np.arange(len(words)), words.ids.lengths)
    of_words = owner == np.arange(len(words))[:, None]  # [words, pieces]
    game = _game(by_word)
    one_out = game(~np.eye(len(words), dtype=bool))
    whole = game(np.ones((1, len(words)), dtype=bool))
    return SplitWords(
        words=tuple(player.text for player in words.items),
        pieces=words.ids.lengths,
        by_word=_lime(game, len(words)),
        by_piece=_lime(_game(by_piece), len(by_piece.players)) @ of_words.T,
        removal=np.asarray(whole - one_out),
        torn=_torn(owner),
    )


def _lime(game: Game, players: int) -> FloatArray:
    """Coefficients [bandwidths, players]; the query answers the same question once only."""
    return np.stack([exact_lime(game, players, bandwidth) for bandwidth in BANDWIDTHS])


def subwords(texts: Sequence[str] = TEXTS) -> tuple[Table, Table]:
    """A table of the split words, and one of how well the two ways agree."""
    classifier = load("demo", backend="torch")
    measured = [measure(classifier, text) for text in texts]
    rows = [row for one in measured for row in _word_rows(one)]
    columns = ("word", "pieces", "by words", "by pieces, summed", "deleting it changes")
    return (
        Table("LIME's coefficients of split words", columns, tuple(rows)),
        Table("The two ways compared", SUMMARY_COLUMNS, _summary(measured)),
    )


def _game(decision: Decision) -> Game:
    def answers(kept: BoolArray) -> FloatArray:
        return decision.margins(Ragged.masked(kept))

    return answers


def _torn(owner: IntArray) -> float:
    """How likely a random removal of pieces leaves part of a word."""
    kept = every_subset(len(owner))
    sizes = np.bincount(owner)
    left = np.stack([kept[:, owner == word].sum(axis=1) for word in range(len(sizes))], axis=1)
    return float(subset_odds(kept) @ ((left > 0) & (left < sizes)).any(axis=1))


def _word_rows(one: SplitWords) -> list[tuple[str, ...]]:
    return [
        (
            one.words[i],
            str(one.pieces[i]),
            f"{one.by_word[0, i]:+.2f}",
            f"{one.by_piece[0, i]:+.2f}",
            f"{one.removal[i]:+.2f}",
        )
        for i in np.flatnonzero(one.pieces > 1)
    ]


def _summary(measured: Sequence[SplitWords]) -> tuple[tuple[str, ...], ...]:
    pieces = np.concatenate([one.pieces for one in measured])
    by_word, by_piece = (
        np.concatenate([getattr(one, name) for one in measured], axis=1)
        for name in ("by_word", "by_piece")
    )
    removal = np.concatenate([one.removal for one in measured])
    torn = f"{np.mean([one.torn for one in measured]):.2f}"
    rows: list[tuple[str, ...]] = [("all", "samples that tear a word", torn, torn)]
    for kind, chosen in (("split", pieces > 1), ("whole", pieces == 1)):
        columns = [
            _comparison(words[chosen], parts[chosen], removal[chosen])
            for words, parts in zip(by_word, by_piece, strict=True)
        ]
        rows += [
            (f"{chosen.sum()} {kind}", name, *(f"{column[name]:.2f}" for column in columns))
            for name in columns[0]
        ]
    return tuple(rows)


def _comparison(by_word: FloatArray, by_piece: FloatArray, removal: FloatArray) -> dict[str, float]:
    return {
        "rank correlation of the two": rank_correlation(by_word, by_piece),
        "mean difference / mean size": float(
            np.abs(by_word - by_piece).mean() / np.abs(by_word).mean()
        ),
        "sign the same": float(np.mean(by_word * by_piece > 0)),
        "by words, with deleting": rank_correlation(by_word, removal),
        "by pieces, with deleting": rank_correlation(by_piece, removal),
    }
