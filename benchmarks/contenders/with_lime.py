"""lime's text explainer. It is given log-odds to fit: fitted to probabilities it would explain
another number than the one everybody is judged by.
"""

from typing import Any

import numpy as np
from lime.lime_text import LimeTextExplainer

from contenders.base import Answer, Game, TooLittle, TorchModel, additive

SAMPLES = 5000  # its default


class Lime:
    def explain(self, game: Game, settings: dict[str, Any], passes: float | None) -> Answer:
        samples = SAMPLES if passes is None else game.samples(passes)
        if samples < 3:
            raise TooLittle
        found = LimeTextExplainer(random_state=0).explain_instance(
            game.text,
            lambda texts: self._column(game, texts),
            labels=(0,),
            num_features=len(game.text),  # all words: its default shows the ten strongest only
            num_samples=samples,
        )
        words, ranked, shares = found.domain_mapper.indexed_string, [], []
        for index, weight in found.as_map()[0]:
            # The coefficient is that of removing all occurrences: each ranks by it, and predicts
            # by its share of it.
            places = [int(place) for place in words.string_position(index)]
            length = len(words.word(index))
            ranked += [(start, start + length, weight) for start in places]
            shares += [(start, start + length, weight / len(places)) for start in places]
        answer = additive(game, game.laid(shares), base=float(found.intercept[0]))
        answer.scores = game.laid(ranked)
        return answer

    @staticmethod
    def _column(game: Game, texts: list[str]) -> np.ndarray:
        return game.of_texts(texts)[:, None]


def make(model: TorchModel) -> Lime:
    return Lime()
