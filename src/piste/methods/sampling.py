"""SLALOM's samples: how many sequences of each kind, how they are drawn, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from piste.arrays import FloatArray, IntArray, Ragged
from piste.decision import Decision
from piste.design import favoured, keep_back, mixed_shares, portions, short, unseen
from piste.errors import InputError, SettingError
from piste.methods.every_class import Classes
from piste.models.query import Query
from piste.result.explanation import Target
from piste.surrogates.slalom.model import count_matrix
from piste.text.players import Players

LEAST_BUDGET = 10  # below this there is nothing to fit
MOST_PLAYERS = 2000  # the fit's matrices have that many rows and columns
LEAST_CHECKED = 5  # fresh short sequences; where there are fewer, some are kept from the fit
ROUND = 1 / 3  # of the sequences that come in rounds: each asks so many
GROWTH = 0.2  # a round is at least so large a part of all that was asked: long runs refit less


@dataclass
class Samples:
    """What was asked so far, and the model's answers."""

    decision: Decision
    classes: Classes | None = None  # fitted together; None: the target alone
    rows: Ragged = field(default_factory=lambda: Ragged.of([]))
    answers: FloatArray = field(default_factory=lambda: np.empty((0, 0)))  # [rows, outputs]
    known: set[bytes] = field(default_factory=set)  # the rows, as the model sees them

    def ask(self, rows: Ragged) -> bool:
        """Add the model's answers to these rows; False where all of them had been asked before.

        By the rows, not by what the model was really asked: it may know answers from elsewhere.
        """
        if not len(rows):
            return False
        before, answers = len(self.known), self.answered(rows)
        self.known.update(self._keys(rows))
        self.answers = np.concatenate([self.answers, answers]) if self.answers.size else answers
        self.rows = Ragged.concat([self.rows, rows])
        return len(self.known) > before

    def _keys(self, rows: Ragged) -> list[bytes]:
        seen = Ragged.concat([self.players.whole, rows])  # the whole text is asked first
        tokens = self.players.tokens(seen)
        return [tokens.row(index).tobytes() for index in range(len(tokens))]

    def answered(self, rows: Ragged) -> FloatArray:
        """The model's scores of these rows [rows, outputs], the target's first."""
        if self.classes is None:
            return self.decision.margins(rows)[:, None]
        return self.classes.scores(self.decision.logits(rows))

    @property
    def players(self) -> Players:
        return self.decision.players

    @property
    def query(self) -> Query:
        return self.decision.query

    @property
    def target(self) -> Target:
        """The target, on the scale of the answers."""
        return self.decision.target if self.classes is None else self.classes.target

    @property
    def margins(self) -> FloatArray:
        """The target's scores [rows]."""
        return self.answers[:, 0]

    @property
    def counts(self) -> sparse.csr_array:
        return counted(self.rows, self.players)

    @property
    def lengths(self) -> IntArray:
        return self.rows.lengths


def counted(rows: Ragged, players: Players) -> sparse.csr_array:
    """How often each distinct player occurs in each row."""
    return count_matrix(rows, players.groups, len(players.first))


def check_size(players: Players) -> None:
    """Refuse a text with more distinct players than a fit can hold."""
    distinct = len(players.first)
    if distinct > MOST_PLAYERS:
        raise InputError(
            f"The text has {distinct:,} distinct {players.unit}s, and {MOST_PLAYERS:,} are the"
            " most that are fitted at once.",
            'Explain it by sentence (unit="sentence"), or in parts.',
        )


def within(sizes: Mapping[str, int], left: int | None) -> dict[str, int]:
    """Sizes scaled down to the budget: words alone come first, they are cheap and say the most."""
    if left is None or sum(sizes.values()) <= left:
        return dict(sizes)
    if left < LEAST_BUDGET:
        raise SettingError(
            f"A budget of {left + 1} sequences is too small to fit anything.",
            f"Give at least {LEAST_BUDGET + 1}.",
        )
    alone = min(sizes["singles"], left // 2)
    others = {kind: size for kind, size in sizes.items() if kind != "singles"}
    total = sum(others.values())
    return {"singles": alone} | {k: n * (left - alone) // total for k, n in others.items()}


def set_apart(
    fitted: Ragged, fresh: Mapping[str, Ragged], players: Players, rng: np.random.Generator
) -> tuple[Ragged, dict[str, Ragged]]:
    """Disjoint rows for fit and checks; kinds with fewer than two rows are left out.

    A text of a few words has so few sequences that the fit would take them all: then some of its
    own are kept back for the check.
    """
    checks, seen = {}, Ragged.concat([fitted, players.whole])
    for kind, candidates in fresh.items():
        checks[kind] = unseen(candidates, seen, players.groups)
        seen = Ragged.concat([seen, checks[kind]])
    if len(checks["short"]) < LEAST_CHECKED:
        fitted, checks["short"] = keep_back(fitted, players.groups, rng)
    return fitted, {kind: rows for kind, rows in checks.items() if len(rows) > 1}


@dataclass(frozen=True)
class Rounds:
    """The sequences that come in rounds: short ones, and subsets of the text."""

    players: Players
    length: int  # of the short ones
    short: int  # in all rounds together
    subsets: int

    def draw(
        self, rng: np.random.Generator, share: float, odds: FloatArray | None = None
    ) -> Ragged:
        """A share of the sequences; players enter the short ones by their odds, or uniformly."""
        count, weights = _portion(self.short, share), self.players.ids.lengths
        if odds is None:
            few = short(rng, len(self.players.first), count, self.length)
        else:
            few = favoured(rng, odds, count, self.length)
        shares = mixed_shares(_portion(self.subsets, share))
        rows = Ragged.concat([self.players.of_groups(few), portions(rng, shares, weights)])
        return self.players.complete(rows, rng)

    def next(
        self, rng: np.random.Generator, odds: FloatArray | None, asked: int, left: int
    ) -> Ragged:
        """The next round after so many rows, of which `left` more may be asked."""
        share = max(ROUND, GROWTH * asked / max(1, self.short + self.subsets))
        rows = self.draw(rng, share, odds)
        return rows.take(np.sort(rng.permutation(len(rows))[:left]))


def _portion(size: int, share: float) -> int:
    return int(np.ceil(size * share))
