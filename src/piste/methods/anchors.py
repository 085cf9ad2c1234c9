"""Anchors for text: a few words that keep the decision whatever becomes of the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from piste.arrays import BoolArray
from piste.decision import Decision
from piste.errors import SettingError, percent
from piste.methods.base import Attribution, Method
from piste.methods.game import Game, affordable, check_removal
from piste.options import whole_number

BATCH = 12  # samples of a rule at a time
POOL = 384  # copies that a beam shares with its extensions
BLOCK = 90  # copies of a proof between two looks; one block is enough where all keep the decision
PROMISING = 0.05  # below the precision: worth a proof
CLOSE = 0.15  # overlap of bounds that is left undecided
Rule = frozenset[int]  # players that are kept


@dataclass(frozen=True)
class Anchors(Method):
    """A smallest set of words that keeps the decision with high probability (Anchors).

    1. Rules of one word, then of one word more, by beam search (Ribeiro et al., AAAI 2018).
    2. A rule is tried on random copies of the text that keep its words and each other word with
       probability 1/2; its precision is how often the decision stays.
    3. Samples go to the rules whose Kullback-Leibler confidence bounds leave their rank open.
    4. A promising rule is proven on fresh copies; the first whose exact lower bound reaches the
       precision is the anchor. The confidence holds for the whole search.
    """

    name: ClassVar[str] = "anchors"

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
                f"precision is {self.precision!r} and confidence is {self.confidence!r}.",
                "Give numbers between 0.5 and 1.",
            )

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players = decision.query, decision.players
        limit = affordable(query, self.samples, kept_back=1, least=2 * BATCH)
        query.plan(limit)
        search = _Search(self, Game(decision, self.removal), rng, limit)
        rule, proof = search.run()
        inside = np.zeros(len(players))
        inside[sorted(rule)] = 1.0
        words = ", ".join(repr(players.items[index].text) for index in sorted(rule))
        note = _note(words, proof or search.tally(rule), proof is not None, self)
        return Attribution(primary="anchor", scores={"anchor": inside}, notes=(note,))


@dataclass
class Tally:
    """How often the decision was kept, out of how many samples."""

    kept: int = 0
    tried: int = 0

    def add(self, stays: BoolArray) -> None:
        self.kept += int(stays.sum())
        self.tried += len(stays)

    @property
    def mean(self) -> float:
        return self.kept / max(1, self.tried)

    def bounds(self, error: float) -> tuple[float, float]:
        """The precisions that the samples allow, each end wrong with probability `error`."""
        if not self.tried:
            return 0.0, 1.0
        level = np.log(1 / error) / self.tried
        return _kl_bound(self.mean, level, 0.0), _kl_bound(self.mean, level, 1.0)

    def at_least(self, error: float) -> float:
        """The exact (Clopper-Pearson) lower bound, wrong with probability `error`."""
        if not self.kept:
            return 0.0
        from scipy.special import betaincinv  # other methods start without it

        return float(betaincinv(self.kept, self.tried - self.kept + 1, error))


@dataclass
class _Search:
    settings: Anchors
    game: Game
    rng: np.random.Generator
    limit: int
    tallies: dict[Rule, Tally] = field(default_factory=dict)
    spent: int = 0
    proofs: int = 0  # rules put to the proof so far
    whole: bool = field(init=False)

    def __post_init__(self) -> None:
        everybody = np.ones((1, len(self.game.players)), dtype=bool)
        self.whole = bool(self.game.decides(everybody)[0])

    def run(self) -> tuple[Rule, Tally | None]:
        """The anchor and the tally that proves it, or the best rule found and None."""
        best: Rule = frozenset()
        beam = [best]
        rules = self._extended(beam)
        for size in range(min(self.settings.largest, len(self.game.players)) + 1):
            for rule in beam:
                proof = self._proven(rule)
                if proof is not None:
                    return rule, proof
            best = max([*beam, best], key=lambda rule: (self.tally(rule).mean, -len(rule)))
            if not self._left() or size == self.settings.largest:
                break
            rules = self._extended(beam) if size else rules
            beam = self._strongest(rules)
        return best, None

    def tally(self, rule: Rule) -> Tally:
        return self.tallies.setdefault(rule, Tally())

    def _extended(self, beam: list[Rule]) -> list[Rule]:
        """Copies for each rule of the beam, which also try its extensions: half of them keep any
        given word. The extensions, in random order.
        """
        count, rules = len(self.game.players), set()
        for rule, (keep, stays) in zip(
            beam, self._sample(beam, self._pool(len(beam))), strict=True
        ):
            for player in set(range(count)) - rule:
                longer = rule | {player}
                self.tally(longer).add(stays[keep[:, player]])
                rules.add(longer)
        # In random order: where the limit does not reach all, it is not the last words' fault.
        ordered = sorted(rules, key=sorted)
        return [ordered[index] for index in self.rng.permutation(len(ordered)).tolist()]

    def _pool(self, rules: int) -> int:
        return max(BATCH, min(POOL, self._left() // 4) // rules)

    def _strongest(self, rules: list[Rule]) -> list[Rule]:
        """The beam's best, by samples where upper and lower bounds still overlap (KL-LUCB)."""
        enough = self.spent + self._left() // 3  # close races must not eat what proof will need
        error = 1 - self.settings.confidence
        while True:
            ranked = sorted(rules, key=lambda rule: self.tally(rule).mean, reverse=True)
            inside, outside = ranked[: self.settings.beam], ranked[self.settings.beam :]
            if not outside or self.spent >= enough:
                return inside
            weakest = min(inside, key=lambda rule: self.tally(rule).bounds(error)[0])
            rival = max(outside, key=lambda rule: self.tally(rule).bounds(error)[1])
            gap = self.tally(rival).bounds(error)[1] - self.tally(weakest).bounds(error)[0]
            if gap < CLOSE:
                return inside
            self._sample([weakest, rival], BATCH)

    def _proven(self, rule: Rule) -> Tally | None:
        """Fresh samples that prove the precision of the rule; None where they do not.

        The search has picked the rule for its luck, so its samples prove nothing. The chance of
        error is split over all looks at all rules that are ever put to the proof.
        """
        wanted = self.settings.precision
        if self.tally(rule).mean < wanted - PROMISING:
            return None
        self.proofs += 1
        proof, enough = Tally(), self.spent + self._left() // 2
        for look in range(1, 10**6):
            size = min(BLOCK, self._left())
            if not size or (look > 1 and self.spent >= enough):
                return None
            ((_, stays),) = self._sample([rule], size)
            proof.add(stays)
            error = (1 - self.settings.confidence) / (self.proofs * (self.proofs + 1))
            if proof.at_least(error / (look * (look + 1))) >= wanted:
                return proof
            if proof.mean < wanted - PROMISING:
                return None
        raise AssertionError("unreachable")

    def _sample(self, rules: list[Rule], size: int) -> list[tuple[BoolArray, BoolArray]]:
        """Random copies of each rule and whether they keep the decision, all asked together."""
        size = min(size, self._left() // len(rules))
        count = len(self.game.players)
        keep = self.rng.random((len(rules), size, count)) < 0.5
        for place, rule in enumerate(rules):
            keep[place][:, sorted(rule)] = True
        # As on the whole text: for the target, or not for it.
        decided = self.game.decides(keep.reshape(len(rules) * size, count)) == self.whole
        self.spent += len(decided)
        samples = list(zip(keep, decided.reshape(len(rules), size), strict=True))
        for rule, (_, stays) in zip(rules, samples, strict=True):
            self.tally(rule).add(stays)
        return samples

    def _left(self) -> int:
        """Samples left in the budget; 0 where less than a batch is left."""
        query = self.game.query
        left = self.limit - self.spent
        left = left if query.left is None else min(left, query.left)
        return left if left >= BATCH else 0


def _note(words: str, tally: Tally, proven: bool, settings: Anchors) -> str:
    held = f"in {percent(tally.mean)} of {tally.tried} random copies"
    if not proven:
        return (
            f"No rule of up to {settings.largest} words is sure to keep the decision"
            f" {percent(settings.precision)} of the time; the best found, {words or 'none'}, keeps"
            f" it {held}."
        )
    bound, level = percent(settings.precision), percent(settings.confidence)
    sure = f"{held} (at least {bound}, with {level} confidence)"
    if not words:
        return (
            f"The decision stays {sure} with half of the words removed: no single word is needed."
        )
    return f"With {words} the decision stays {sure} with half of the other words removed."


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
