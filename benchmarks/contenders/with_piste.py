"""piste itself, in its own environment, and the linear models that it is compared with."""

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from context_rivals import ridge

import piste
from contenders.base import Answer, Game, Masks, TooLittle, TorchModel, Unfit, additive
from piste.design.parts import parts_between
from piste.methods import context
from piste.methods.context import asking
from piste.text.encoding import Encoding

EXACT = 1e-9  # a tolerance that no explanation reaches before it has asked all it may
LINEAR_PASSES = 70  # of ridge where no other number is wanted
NEVER_LESS = 12  # passes that context needs for anything


class Piste:
    def __init__(self, model: TorchModel) -> None:
        self.classifier = piste.load(model.folder)

    def explain(self, game: Game, settings: dict[str, Any], passes: float | None) -> Answer:
        method = settings["method"]
        if method in ("ridge", "pairs"):
            return linear(game, passes or LINEAR_PASSES, pairs=method == "pairs")
        if game.absence == "mask" and method != "context":
            raise Unfit("Only context is prepared for masks.")
        if game.absence == "mask":
            return described(self._masked(game, passes), game)
        answer = described(self._explained(game, settings, passes), game)
        if method == "occlusion":  # what words do alone, taken to add up
            answer.predict = additive(game, answer.scores).predict
        return answer

    def _explained(
        self, game: Game, settings: dict[str, Any], passes: float | None
    ) -> piste.Explanation:
        row, method = game.row, settings["method"]
        more = {"pair": row["second"], "target": game.target}
        if "effort" in settings:
            more["effort"] = settings["effort"]
        text = row["first"]
        if passes is None:
            return piste.explain(text, self.classifier, method, **more)
        if method == "context":
            return at_cost(passes, text, self.classifier, **more)
        usual = piste.explain(text, self.classifier, method, **more).cost
        budget = round(passes * game.whole_tokens * usual.forwards / usual.tokens)
        if budget < 2 * game.words:
            raise TooLittle
        return piste.explain(text, self.classifier, method, **more, budget=budget, tolerance=0.001)

    def _masked(self, game: Game, passes: float | None) -> piste.Explanation:
        """Context on the game itself: an absent word is masked there."""
        played = Played(game)
        if passes is None:
            return piste.explain(game.text, played, "context", target=1)
        # Every part costs a whole pass here, whatever it keeps.
        return at_cost(passes, game.text, played, target=1, budget=round(passes))


def at_cost(passes: float, text: str, classifier: Any, **more: Any) -> piste.Explanation:
    """Context at another cost than its efforts have, and without an early end."""
    if passes < NEVER_LESS:
        raise TooLittle
    with patch.dict(asking.PASSES, thorough=passes), patch.object(context, "TOLERANCE", EXACT):
        return piste.explain(text, classifier, "context", effort="thorough", **more)


def described(explanation: piste.Explanation, game: Game) -> Answer:
    """What is judged of an explanation, laid on the words of the game."""
    scores = explanation.scores[explanation.primary]
    asked = explanation.parts.parts if explanation.parts is not None else np.zeros((0, len(scores)))
    known = {np.packbits(part).tobytes() for part in asked.astype(bool)}
    answer = Answer(
        scores=scores,
        predict=predictor(explanation),
        is_shapley=explanation.primary in ("effect", "shapley"),
        asked=lambda masks: np.array([np.packbits(mask).tobytes() in known for mask in masks]),
    )
    if game.absence == "delete":
        answer.passes = explanation.cost.tokens / game.whole_tokens
    if "effect" in explanation.scores and explanation.parts.tells_pairs:
        answer.pairs, answer.near = pairs_of(explanation, len(scores)), True
    return answer


def predictor(explanation: piste.Explanation) -> Any:
    def predict(masks: Masks) -> np.ndarray:
        parts = [np.flatnonzero(mask).tolist() for mask in masks]
        return np.array([explanation.predict(part).score for part in parts])

    try:
        predict(np.ones((1, len(explanation.players)), dtype=bool))
    except piste.PisteError:  # it has no surrogate
        return None
    return predict


def pairs_of(explanation: piste.Explanation, count: int) -> np.ndarray:
    pairs = np.zeros((count, count))
    for pair in explanation.pairs(count * count):
        pairs[pair.first, pair.second] = pairs[pair.second, pair.first] = pair.effect
    return pairs


def linear(game: Game, passes: float, pairs: bool) -> Answer:
    """Ridge regression on parts of 30 to 100 %; its penalty by leave-one-out."""
    parts = distinct(game, passes)
    if len(parts) < 4:
        raise TooLittle
    predict = ridge(parts, game(parts), pairs=pairs)
    empty = np.zeros((1, game.words), dtype=bool)
    base = float(predict(empty)[0])
    singles = predict(np.eye(game.words, dtype=bool)) - base
    if not pairs:
        return additive(game, singles, base=base)
    first, second = np.triu_indices(game.words, k=1)
    both = np.zeros((len(first), game.words), dtype=bool)
    both[np.arange(len(first)), first] = both[np.arange(len(first)), second] = True
    found = np.zeros((game.words, game.words))
    found[first, second] = predict(both) - base - singles[first] - singles[second]
    found += found.T
    return Answer(singles + found.sum(axis=1) / 2, predict, pairs=found, near=True)


def distinct(game: Game, passes: float) -> Masks:
    """Random parts of 30 to 100 %, none twice, that cost so many passes together."""
    rng = np.random.default_rng(0)
    drawn = parts_between(rng, game.words, 10 * game.samples(passes), 0.3, 1.0)
    first = np.sort(np.unique(np.packbits(drawn, axis=1), axis=0, return_index=True)[1])
    parts = drawn[first]
    inside = parts @ game.lengths if game.absence == "delete" else game.lengths.sum()
    costs = np.broadcast_to(inside + game.frame, len(parts))
    return np.asarray(parts[np.cumsum(costs) <= passes * game.whole_tokens])


@dataclass
class Played:
    """A game as a classifier: its tokens are the words, and the answers are the game's."""

    game: Game
    name: str = "game"
    backend: str = "game"
    labels: tuple[str, ...] = ("others", "target")
    outputs: str = "classes"
    same: dict[tuple[int, ...], int] = field(default_factory=dict)

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        words = [tuple(span) for span in self.game.row["words"]]
        ids = map(tuple, self.game.row["ids"])
        keys = tuple(self.same.setdefault(one, len(self.same)) for one in ids)
        return Encoding(text, tuple(range(len(words))), tuple(words), keys)

    def logits(self, ids: np.ndarray) -> np.ndarray:
        masks = np.zeros((len(ids), self.game.words), dtype=bool)
        np.put_along_axis(masks, ids, True, axis=1)
        scores = self.game(masks)
        return np.stack([np.zeros_like(scores), scores], axis=1)

    def show(self, ids: np.ndarray) -> str:
        return " ".join(map(str, ids.ravel()))


def make(model: TorchModel) -> Piste:
    return Piste(model)
