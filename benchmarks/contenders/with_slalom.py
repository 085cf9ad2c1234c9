"""slalom-explanations, the paper's package: by token, with its own fit and batches of 16."""

from dataclasses import dataclass

from slalom_explanations import SLALOMLocalExplanantions

from contenders.base import Answer, Meter, TorchModel, spans_of

SEQUENCE = 5  # tokens of a sample: three and the two special ones


@dataclass
class Slalom:
    model: TorchModel

    def explain(self, text: str, target: int, samples: int | None) -> Answer:
        encoded = self.model.encode(text)
        chosen = {} if samples is None else {"n_samples": samples}
        explainer = SLALOMLocalExplanantions(
            self.model.model, device="cpu", modes=["lin", "value", "imp"], **chosen
        )
        # It explains class 1 against class 0: the other class has the opposite values.
        sign = 1 if target == 1 else -1
        lin, value, importance = explainer.get_signed_importance_for_tokens(encoded.ids)
        pairs = zip(encoded.spans, value, importance, strict=True)
        return Answer(
            scores=spans_of(encoded.spans, sign * lin),
            slalom=[(*span, float(sign * v), float(s)) for span, v, s in pairs],
        )

    def samples_for(self, text: str, budget: float) -> int:
        return round(budget * self.model.length(text) / SEQUENCE)

    def calibrate(self, text: str, samples: int, tokens: int) -> None:
        """Nothing to learn: every sample has five tokens."""


def make(folder: str) -> tuple[Slalom, Meter]:
    model = TorchModel(folder)
    return Slalom(model), model.meter
