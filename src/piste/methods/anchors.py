"""Anchors for text: a few words that keep the decision whatever becomes of the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from piste.errors import SettingError, whole_number
from piste.explanation import Target
from piste.methods.base import Attribution
from piste.methods.coalitions import BoolArray, Game, affordable, check_removal
from piste.models.query import Query
from piste.text.players import Players

BATCH = 12  # samples of a rule at a time
Rule = frozenset[int]  # players that are kept


@dataclass(frozen=True)
class Anchors:
    """A smallest set of words that keeps the decision with high probability (Anchors).

    1. Rules of one word, then of one word more, by beam search (Ribeiro et al., AAAI 2018).
    2. A rule is tried on random copies of the text that keep its words and each other word with
       probability 1/2; its precision is how often the decision stays.
    3. Samples go to the rules whose Kullback-Leibler confidence bounds leave their rank open.
    4. The first rule whose lower bound reaches the precision is the anchor.
    """

    precision: float = 0.95
    confidence: float = 0.95
    beam: int = 4
    largest: int = 6  # words of a rule, at most
    samples: int = 3000  # in all, at most
    removal: Literal["delete", "unk", "mask", "pad"] = "delete"

    def __post_init__(self) -> None:
        check_removal(self.removal)
        for name in ("beam", "largest", "samples"):
            whole_number(name, getattr(self, name), 1)
        if not (0.5 < self.precision < 1 and 0.5 < self.confidence < 1):
            raise SettingError(
                "precision or confidence is out of range.", "Give numbers between 0.5 and 1."
            )

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        limit = affordable(query, self.samples, kept_back=1, least=2 * BATCH)
        query.plan(limit)
        search = _Search(self, Game(query, players, target, self.removal), rng, limit)
        rule, found = search.run()
        inside = np.zeros(len(players))
        inside[sorted(rule)] = 1.0
        words = ", ".join(repr(players.items[index].text) for index in sorted(rule))
        low, high = search.bounds(rule)
        held = f"in {search.mean(rule):.0%} of {search.tried(rule)} random copies"
        sure = f"{held} (between {low:.0%} and {high:.0%})"
        if found and not rule:
            note = f"The decision stays {sure}, whatever is removed: no word is needed for it."
        elif found:
            note = f"Keeping {words} keeps the decision {sure}, whatever else is removed."
        else:
            note = (
                f"No rule of up to {self.largest} words is sure to keep the decision"
                f" {self.precision:.0%} of the time; the best found, {words}, keeps it {sure}."
            )
        return Attribution(primary="anchor", scores={"anchor": inside}, notes=(note,))


@dataclass
class _Search:
    settings: Anchors
    game: Game
    rng: np.random.Generator
    limit: int
    kept: dict[Rule, int] = field(default_factory=dict)  # how often the decision stayed
    asked: dict[Rule, int] = field(default_factory=dict)
    spent: int = 0
    whole: bool = field(init=False)

    def __post_init__(self) -> None:
        everybody = np.ones((1, len(self.game.players)), dtype=bool)
        self.whole = bool(self.game.decides(everybody)[0])

    def run(self) -> tuple[Rule, bool]:
        """The anchor and True, or the best rule found and False."""
        count = len(self.game.players)
        beam: list[Rule] = [frozenset()]
        best: Rule = frozenset()
        self._sample([best])
        if self._settled(best):  # nothing needs to be kept
            return best, True
        for _ in range(min(self.settings.largest, count)):
            rules = {rule | {player} for rule in beam for player in range(count)} - set(beam)
            ordered = sorted(rules, key=sorted)
            # In random order: where the limit does not reach all, it is not the last words' fault.
            shuffled = self.rng.permutation(len(ordered)).tolist()
            beam = self._strongest([ordered[index] for index in shuffled])
            sure = [rule for rule in beam if self._settled(rule)]
            if sure:
                return max(sure, key=self.mean), True
            best = max([*beam, best], key=lambda rule: (self.mean(rule), -len(rule)))
            if not self._left():
                break
        return best, False

    def _strongest(self, rules: list[Rule]) -> list[Rule]:
        """The beam's best, by samples where upper and lower bounds still overlap (KL-LUCB)."""
        self._sample([rule for rule in rules if rule not in self.asked])
        enough = self.spent + self._left() // 3  # close races must not eat what proof will need
        while True:
            ranked = sorted(rules, key=self.mean, reverse=True)
            inside, outside = ranked[: self.settings.beam], ranked[self.settings.beam :]
            if not outside or self.spent >= enough:
                return inside
            weakest = min(inside, key=lambda rule: self.bounds(rule)[0])
            rival = max(outside, key=lambda rule: self.bounds(rule)[1])
            if self.bounds(rival)[1] - self.bounds(weakest)[0] < 0.15:
                return inside
            self._sample([weakest, rival])

    def _settled(self, rule: Rule) -> bool:
        """Sample until the rule's precision is surely above or surely below what is wanted."""
        wanted = self.settings.precision
        while self._left():
            low, high = self.bounds(rule)
            if low >= wanted:
                return True
            if high < wanted or self.mean(rule) < wanted - 0.1:
                return False
            self._sample([rule])
        return self.bounds(rule)[0] >= wanted

    def _sample(self, rules: list[Rule]) -> None:
        """A batch of random copies for each rule, as far as the limit goes, asked together."""
        rules = rules[: self._left() // BATCH]
        if not rules:
            return
        count = len(self.game.players)
        keep = self.rng.random((len(rules) * BATCH, count)) < 0.5
        for place, rule in enumerate(rules):
            keep[place * BATCH : (place + 1) * BATCH, sorted(rule)] = True
        stays = self._decided(keep).reshape(len(rules), BATCH).sum(axis=1)
        for rule, times in zip(rules, stays.tolist(), strict=True):
            self.kept[rule] = self.kept.get(rule, 0) + int(times)
            self.asked[rule] = self.asked.get(rule, 0) + BATCH
        self.spent += len(rules) * BATCH

    def _decided(self, keep: BoolArray) -> BoolArray:
        """Where the model decides as it does on the whole text: for the target, or not for it."""
        return np.asarray(self.game.decides(keep) == self.whole)

    def _left(self) -> int:
        """Samples that may still be asked; less than a batch is none."""
        query = self.game.query
        left = self.limit - self.spent
        left = left if query.left is None else min(left, query.left)
        return left if left >= BATCH else 0

    def mean(self, rule: Rule) -> float:
        return self.kept.get(rule, 0) / max(1, self.asked.get(rule, 0))

    def tried(self, rule: Rule) -> int:
        return self.asked.get(rule, 0)

    def bounds(self, rule: Rule) -> tuple[float, float]:
        """The precisions that the samples allow, at the confidence asked for."""
        tried = self.asked.get(rule, 0)
        if not tried:
            return 0.0, 1.0
        level = np.log(1 / (1 - self.settings.confidence)) / tried
        return _kl_bound(self.mean(rule), level, 0.0), _kl_bound(self.mean(rule), level, 1.0)


def _kl_bound(mean: float, level: float, end: float) -> float:
    """The precision furthest from the mean, towards `end`, with KL divergence up to `level`."""
    near, far = mean, end
    for _ in range(30):
        middle = (near + far) / 2
        near, far = (middle, far) if _kl(mean, middle) <= level else (near, middle)
    return near


def _kl(p: float, q: float) -> float:
    q = min(max(q, 1e-12), 1 - 1e-12)
    first = p * np.log(p / q) if p > 0 else 0.0
    second = (1 - p) * np.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return float(first + second)
