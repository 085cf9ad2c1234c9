"""interpreto's perturbation methods, by word; absent words are replaced by the mask token."""

from dataclasses import dataclass

import interpreto
import torch

from contenders.base import BATCH, Answer, Calibrated, Meter, TorchModel, spans_of


@dataclass
class Interpreto(Calibrated):
    algorithm: str = "Lime"

    def explain(self, text: str, target: int, samples: int | None) -> Answer:
        several = samples is not None and self.algorithm != "Occlusion"
        method = getattr(interpreto, self.algorithm)(
            self.model.model,
            self.model.tokenizer,
            batch_size=BATCH,
            inference_mode=_log_odds,
            **({"n_perturbations": samples} if several else {}),
        )
        found = method(text, targets=target)[0]
        encoded = self.model.encode(text)
        return Answer(spans_of(encoded.word_spans(), found.attributions[0].tolist()))


def _log_odds(logits: torch.Tensor) -> torch.Tensor:
    """Each class against the other one."""
    return logits - logits.flip(-1)


def make(folder: str, algorithm: str) -> tuple[Interpreto, Meter]:
    model = TorchModel(folder)
    return Interpreto(model, algorithm=algorithm), model.meter
