"""shap: Kernel over the words of the text (absent ones deleted), Partition over its tokens
(absent ones replaced by the mask token, as its Text masker does).
"""

from dataclasses import dataclass

import numpy as np
import shap

from contenders.base import BATCH, Answer, Calibrated, Meter, TorchModel, spans_of


@dataclass
class Kernel(Calibrated):
    l1_reg: str | bool = "num_features(10)"  # its default: scores for ten features, zeros else

    def explain(self, text: str, target: int, samples: int | None) -> Answer:
        encoded = self.model.encode(text)
        nothing = np.zeros((1, len(encoded.words)))
        explainer = shap.KernelExplainer(
            lambda masks: self.model.of_masks(encoded, masks, target), nothing
        )
        values = explainer.shap_values(
            np.ones(len(encoded.words)), nsamples=samples or "auto", l1_reg=self.l1_reg, silent=True
        )
        return Answer(spans_of(encoded.word_spans(), values))


@dataclass
class Partition(Calibrated):
    def explain(self, text: str, target: int, samples: int | None) -> Answer:
        explainer = shap.Explainer(
            lambda texts: self.model.of_texts(texts, target),
            shap.maskers.Text(self.model.tokenizer),
        )
        found = explainer([text], max_evals=samples or 500, batch_size=BATCH, silent=True)
        coded = self.model.tokenizer(text, return_offsets_mapping=True)
        # One value a token, special tokens included; those have empty spans.
        return Answer(spans_of(coded["offset_mapping"], found.values[0]))


def make(
    folder: str, algorithm: str = "kernel", l1_reg: str | bool = "num_features(10)"
) -> tuple[Calibrated, Meter]:
    model = TorchModel(folder)
    explainer = Partition(model) if algorithm == "partition" else Kernel(model, l1_reg=l1_reg)
    return explainer, model.meter
