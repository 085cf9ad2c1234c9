"""A cluster without a model: the engine's own shards, retries and commits, in simulated time.

The graph is that of `piste.runs.ray_engine`: one task reads shards in order, each actor holds
IN_FLIGHT of them and works on one, and the driver commits what comes back, one by one. Actors die
at random and start again with a model to load, and what they held is made again, RETRIES times at
most; some are slow for good. What a step takes is given, as measured.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from piste.runs.ray_engine import IN_FLIGHT, RETRIES


@dataclass(frozen=True)
class Rates:
    """Seconds that steps take, and how often things go wrong."""

    read: float  # a shard, by the one task that reads
    work: float  # a shard, by an actor: explained and written
    commit: float  # a shard, by the driver
    load: float  # a model, whenever an actor starts
    between_deaths: float = math.inf  # seconds that an actor lives on average
    slow: float = 0.0  # share of the actors that are stragglers
    slowness: float = 3.0  # times as long as the others
    spread: float = 0.2  # standard deviation of a shard's work, of its mean


@dataclass
class Outcome:
    """What became of a simulated run."""

    seconds: float = 0.0
    committed: Counter[int] = field(default_factory=Counter)
    deaths: int = 0
    wasted: float = 0.0  # seconds of work that died with its actor
    driver: float = 0.0  # seconds in which the driver was busy
    failed: int | None = None  # the shard that was tried too often

    @property
    def driver_share(self) -> float:
        return self.driver / self.seconds if self.seconds else 0.0


@dataclass
class _Actor:
    factor: float
    dies: float  # when
    queue: deque[int] = field(default_factory=deque)
    life: int = 0  # events of an earlier life do not count
    began: float | None = None  # with the first of the queue


class Simulation:
    """Events in order of time. A shard is a number, as in the engine."""

    def __init__(self, shards: int, actors: int, rates: Rates, seed: int = 0) -> None:
        self.shards, self.rates, self.draw = shards, rates, random.Random(seed)
        self.now, self.events, self.order = 0.0, list[tuple[float, int, Callable[[], None]]](), 0
        self.read = 0  # shards that the reader has handed over
        self.reader_free, self.driver_free = 0.0, 0.0
        self.attempts: Counter[int] = Counter()
        self.outcome = Outcome()
        slow = round(rates.slow * actors)
        self.actors = [_Actor(rates.slowness if i < slow else 1.0, 0.0) for i in range(actors)]

    def run(self) -> Outcome:
        for actor in self.actors:
            self._start(actor)
        while self.events and not self._is_over:
            self.now, _, event = heapq.heappop(self.events)
            event()
        self.outcome.seconds = max(self.now, self.driver_free)
        return self.outcome

    @property
    def _is_over(self) -> bool:
        return self.outcome.failed is not None or len(self.outcome.committed) == self.shards

    def _at(self, when: float, event: Callable[[], None]) -> None:
        self.order += 1
        heapq.heappush(self.events, (when, self.order, event))

    def _start(self, actor: _Actor) -> None:
        """An actor begins a life: it loads the model, and may die at any time from now on."""
        actor.life += 1
        actor.began = None
        actor.dies = self.now + self._lifetime()
        life = actor.life
        if math.isfinite(actor.dies):
            self._at(actor.dies, lambda: self._die(actor, life))
        self._at(self.now + self.rates.load, lambda: self._next(actor, life))

    def _lifetime(self) -> float:
        mean = self.rates.between_deaths
        return self.draw.expovariate(1 / mean) if math.isfinite(mean) else math.inf

    def _next(self, actor: _Actor, life: int) -> None:
        """Fill the actor's queue from the reader, and begin with the first shard of it."""
        if life != actor.life or actor.began is not None:
            return
        while len(actor.queue) < IN_FLIGHT and self.read < self.shards:
            self.reader_free = max(self.reader_free, self.now) + self.rates.read
            actor.queue.append(self.read)
            self.read += 1
        if actor.queue:
            actor.began = max(self.now, self.reader_free)
            noise = max(0.1, self.draw.gauss(1.0, self.rates.spread))
            ends = actor.began + self.rates.work * actor.factor * noise
            self._at(ends, lambda: self._finish(actor, life))

    def _finish(self, actor: _Actor, life: int) -> None:
        """The shard is staged; the driver commits it when its turn comes."""
        if life != actor.life:
            return
        self.driver_free = max(self.driver_free, self.now) + self.rates.commit
        self.outcome.driver += self.rates.commit
        self.outcome.committed[actor.queue.popleft()] += 1
        actor.began = None
        self._next(actor, life)

    def _die(self, actor: _Actor, life: int) -> None:
        """The actor starts again; what it held is tried again, by it, as Ray does."""
        if life != actor.life:
            return
        self.outcome.deaths += 1
        if actor.began is not None:
            self.outcome.wasted += max(0.0, self.now - actor.began)
            self.attempts[actor.queue[0]] += 1
            if self.attempts[actor.queue[0]] > RETRIES:
                self.outcome.failed = actor.queue[0]
                return
        self._start(actor)


def simulated(shards: int, actors: int, rates: Rates, seed: int = 0) -> Outcome:
    """A run of so many shards by so many actors."""
    return Simulation(shards, actors, rates, seed).run()
