"""piste itself, in its own environment."""

from dataclasses import dataclass

import piste
from contenders.base import Answer, spans_of


@dataclass
class Piste:
    classifier: object
    method: object
    unit: str
    more: dict[str, str]

    def explain(self, text: str, target: int, samples: int | None) -> Answer:
        found = piste.explain(
            text,
            self.classifier,
            self.method,
            target=target,
            unit=self.unit,
            budget=samples,
            **self.more,
        )
        places = [(player.start, player.end) for player in found.players]
        return Answer(
            scores=spans_of(places, found.scores[found.primary]),
            removal=spans_of(places, found.scores["removal"]),
            explanation=found.to_dict() if found.formula is not None else None,
            tokens=found.cost.tokens,
            sequences=found.cost.forwards,
        )

    def samples_for(self, text: str, budget: float) -> int:
        """The default's sequences, scaled: its tokens a sequence depend on the text."""
        found = piste.explain(text, self.classifier, self.method, unit=self.unit, **self.more)
        cost = found.cost
        encoded = self.classifier.encode(text)
        length = len(encoded.ids) + encoded.frame.size
        return max(12, round(cost.forwards * budget * length / cost.tokens))

    def calibrate(self, text: str, samples: int, tokens: int) -> None:
        """Nothing to learn: the cost of a text is asked of the text itself."""


def make(
    folder: str,
    method: str = "slalom",
    unit: str = "word",
    backend: str = "auto",
    **more: str,
) -> tuple[Piste, None]:
    return Piste(piste.load(folder, backend=backend), method, unit, more), None
