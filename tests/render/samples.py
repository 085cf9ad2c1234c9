"""Explanations made by hand, for the rendering tests."""

import copy
import functools
import re
from typing import Any

import numpy as np

import piste
from piste.result.explanation import Explanation, Player, Target
from piste.result.facts import Agreement, Cost, Fidelity, FitReport
from piste.result.parts import Pair

REVIEW = (
    "I went in expecting very little, and for the first twenty minutes the film seemed determined "
    "to prove me right: a clumsy opening, a dull voice-over, and a hero who mumbles.\n\n"
    "Then something wonderful happens. The second act is a superb, tender piece of writing, the "
    "camera finally moves with purpose, and the two leads are simply brilliant together. Even the "
    "score, which I found annoying at first, becomes moving. It is not a perfect film; the ending "
    "drags and one subplot is a mess. But I left the cinema smiling, and I would happily see it "
    "again. A warm, funny, beautiful surprise."
)
TASTE = {
    "wonderful": 2.4,
    "superb": 2.9,
    "brilliant": 2.6,
    "beautiful": 2.1,
    "funny": 1.2,
    "warm": 1.1,
    "perfect": 1.7,
    "moving": 1.0,
    "happily": 1.3,
    "tender": 0.9,
    "surprise": 0.5,
    "smiling": 0.8,
    "clumsy": -2.0,
    "dull": -2.6,
    "mess": -2.3,
    "annoying": -2.2,
    "drags": -1.5,
    "mumbles": -1.0,
    "not": -1.1,
    "little": -0.7,
    "but": 0.4,
}


def words_of(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"[^\W_]+(?:[-'][^\W_]+)*", text)]


def players_of(text: str, spans: list[tuple[int, int]]) -> tuple[Player, ...]:
    groups: dict[str, int] = {}
    found = []
    for start, end in spans:
        word = text[start:end].lower()
        group = groups.setdefault(word, len(groups))
        found.append(Player(text[start:end], start, end, (group + 5,), group))
    return tuple(found)


def slalom_scores(players: tuple[Player, ...], seed: int = 3) -> dict[str, np.ndarray]:
    """Plausible scores: taste words pull, the rest is near 0; equal groups share a score."""
    rng = np.random.default_rng(seed)
    size = max((p.group for p in players), default=-1) + 1
    value, importance = rng.normal(0, 0.25, size), rng.normal(-0.4, 0.5, size)
    for player in players:
        taste = TASTE.get(player.text.lower(), 0.0)
        if taste:
            value[player.group] = taste
            importance[player.group] = 0.2 + 0.35 * abs(taste) + 0.2 * rng.normal()
    importance -= importance.mean() if size else 0.0
    index = [p.group for p in players]
    v, s = value[index], importance[index]
    share = np.exp(s) / max(np.exp(s).sum(), 1e-9)
    return {
        "value": v,
        "importance": s,
        "lin": v * np.exp(s),
        "removal": v * share,
        "shapley": v * share * 1.1,
    }


def sample(
    text: str = REVIEW, spans: list[tuple[int, int]] | None = None, **changes: Any
) -> Explanation:
    players = players_of(text, words_of(text) if spans is None else spans)
    fields: dict[str, Any] = {
        "text": text,
        "players": players,
        "scores": slalom_scores(players),
        "primary": "lin",
        "target": Target(1, "positive", "log-odds", 3.9, 0.9802, ("negative", "positive")),
        "cost": Cost(412, 2310, 0.31, 0.09, 33),
        "method": "slalom",
        "settings": {"budget": 400, "lengths": "short"},
        "unit": "word",
        "repeats": "shared",
        "seed": 0,
        "budget": None,
        "model": "piste-demo",
        "backend": "torch 2.13.0 on cpu",
        "versions": {"piste": "0.1.0", "numpy": "2.4.6"},
        "fidelity": Fidelity(
            {"short": Agreement(0.81, 0.5, 90), "deletions": Agreement(0.64, 0.7, 40)}
        ),
        "fit": FitReport(True, 12, 0.2),
        "surrogate_score": 3.6,
        "frame_share": 0.18,
        "notes": ("The importance of 2 words could not be told apart from 0.",),
    }
    return Explanation(**(fields | changes))


def weighted(**changes: Any) -> Explanation:
    """An explanation of another method, with a single score of another name."""
    base = sample()
    return sample(
        **{
            "scores": {"weight": base.scores["lin"]},
            "primary": "weight",
            "method": "lime",
            "surrogate_score": None,
            "frame_share": None,
            **changes,
        }
    )


def many(count: int = 10_000) -> Explanation:
    text = " ".join(f"word{i % (count // 2)}" for i in range(count))
    return sample(text)


MEAL = "the meal was not good but how many dishes were great and fine"
WORTH = {"good": 2.0, "great": 2.0, "fine": 2.0, "not": -0.5}


def feel(texts: list[Any]) -> np.ndarray:
    """A model that knows three combinations: not good, how many, and great that is fine too."""
    scores = []
    for text in texts:
        words = set((text if isinstance(text, str) else " ".join(text)).split())
        score = sum(WORTH.get(word, 0.0) for word in words)
        score -= 5.0 * ({"not", "good"} <= words)
        score += 3.0 * ({"how", "many"} <= words)
        score -= 1.5 * ({"great", "fine"} <= words)
        scores.append(score)
    return np.array(scores)


@functools.cache
def in_context(text: str = MEAL, pair: str | None = None, unit: str = "word") -> Explanation:
    """An explanation by `context`, with interactions."""
    model = piste.from_function(feel, ["no", "yes"], name="feel")
    return piste.explain(text, model, pair=pair, unit=unit)


def crowded() -> Explanation:
    """Arcs from the first word of the second text to several others, close to each other."""
    both = "A man is playing a guitar on a stage", "Nobody is playing a guitar"
    explanation = copy.copy(in_context(both[0], pair=both[1]))
    ends = [(3, 9), (9, 12), (5, 9), (2, 9)]
    pairs = [Pair(*two, 2.0 - 0.1 * place, 0.01) for place, two in enumerate(ends)]
    object.__setattr__(explanation, "pairs", lambda most=10: pairs[:most])
    return explanation
