"""captum's Lime and KernelShap over the words of the text; absent words are deleted."""

from dataclasses import dataclass

import torch
from captum import attr

from contenders.base import BATCH, Answer, Calibrated, Meter, TorchModel, spans_of


@dataclass
class Captum(Calibrated):
    algorithm: str = "Lime"

    def explain(self, text: str, target: int, samples: int | None) -> Answer:
        encoded = self.model.encode(text)

        def log_odds(masks: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(self.model.of_masks(encoded, masks.numpy(), target))

        found = getattr(attr, self.algorithm)(log_odds).attribute(
            torch.ones(1, len(encoded.words)),
            baselines=0,
            perturbations_per_eval=BATCH,
            **({} if samples is None else {"n_samples": samples}),
        )
        return Answer(spans_of(encoded.word_spans(), found[0].tolist()))


def make(folder: str, algorithm: str) -> tuple[Captum, Meter]:
    model = TorchModel(folder)
    return Captum(model, algorithm=algorithm), model.meter
