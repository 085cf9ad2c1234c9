"""slalom-explanations, the paper's package: by token, with its own fit and batches of 16."""

from typing import Any

import numpy as np
from slalom_explanations import SLALOMLocalExplanantions

from contenders.base import Answer, Game, Masks, TooLittle, TorchModel, Unfit

SEQUENCE = 5  # tokens of a sample: three and the two special ones
SAMPLES = 500  # its default
BERT = [101], [102]  # the special ids that it writes around every sequence


class Slalom:
    def explain(self, game: Game, settings: dict[str, Any], passes: float | None) -> Answer:
        row = game.row
        if game.is_pair or row["outputs"] != 2:
            raise Unfit("It explains class 1 against class 0 of single texts.")
        if (row["prefix"], row["suffix"]) != BERT:
            raise Unfit("It writes BERT's special ids around every sequence.")
        samples = SAMPLES if passes is None else round(passes * game.whole_tokens / SEQUENCE)
        if samples < 16:
            raise TooLittle
        ids = np.array([token for word in row["ids"] for token in word])
        explainer = SLALOMLocalExplanantions(
            game.model.model, device="cpu", modes=["lin", "value", "imp"], n_samples=samples
        )
        # The other class has the opposite values.
        sign = 1 if game.target == 1 else -1
        lin, value, importance = explainer.get_signed_importance_for_tokens(ids.tolist())
        game.tokens += samples * SEQUENCE
        owners = np.repeat(np.arange(game.words), game.lengths)
        weights, values = np.exp(importance - np.max(importance)), sign * np.asarray(value)

        def predict(masks: Masks) -> np.ndarray:
            """By the formula: the mean of the values, weighted by the exponentials of importances.

            It says nothing of the empty part.
            """
            kept = masks[:, owners] * weights
            total = kept.sum(axis=1)
            return np.where(total > 0, kept @ values / np.where(total > 0, total, 1), 0.0)

        return Answer(np.bincount(owners, sign * np.asarray(lin), game.words), predict)


def make(model: TorchModel) -> Slalom:
    return Slalom()
