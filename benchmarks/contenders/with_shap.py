"""shap: Kernel over the words of the text, Partition over its tokens (its Text masker)."""

from typing import Any

import numpy as np
import shap

from contenders.base import Answer, Game, TooLittle, TorchModel, additive

EVALUATIONS = 500  # Partition's default


class Shap:
    def explain(self, game: Game, settings: dict[str, Any], passes: float | None) -> Answer:
        if settings["algorithm"] == "partition":
            return partition(game, passes)
        samples = "auto" if passes is None else game.samples(passes)
        if samples != "auto" and samples < 4:
            raise TooLittle
        # Its default keeps scores for ten words, and gives all others 0.
        kept = "num_features(10)" if settings.get("ten") else False
        explainer = shap.KernelExplainer(game, np.zeros((1, game.words)))
        values = explainer.shap_values(
            np.ones(game.words), nsamples=samples, l1_reg=kept, silent=True
        )
        base = float(np.ravel(explainer.expected_value)[0])
        return additive(game, values, base=base, is_shapley=True)


def partition(game: Game, passes: float | None) -> Answer:
    tokenizer = game.model.tokenizer
    most = EVALUATIONS if passes is None else max(4, round(passes))
    explainer = shap.Explainer(
        lambda texts: game.of_texts([str(text) for text in texts]), shap.maskers.Text(tokenizer)
    )
    found = explainer([game.text], max_evals=most, batch_size=32, silent=True)
    # One value a token, special tokens included; those have empty places.
    places = tokenizer(game.text, return_offsets_mapping=True)["offset_mapping"]
    values = [float(value) for value in np.ravel(found.values[0])]
    spans = [(start, end, value) for (start, end), value in zip(places, values, strict=True)]
    return additive(game, game.laid(spans), is_shapley=True)


def make(model: TorchModel) -> Shap:
    return Shap()
