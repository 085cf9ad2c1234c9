"""lime's text explainer. It is given log-odds to fit: fitted to probabilities it would explain
another number than the one everybody is judged by.
"""

from dataclasses import dataclass

import numpy as np
from lime.lime_text import LimeTextExplainer

from contenders.base import Answer, Calibrated, Meter, TorchModel


@dataclass
class Lime(Calibrated):
    def explain(self, text: str, target: int, samples: int | None) -> Answer:
        explainer = LimeTextExplainer(random_state=0)
        chosen = {} if samples is None else {"num_samples": samples}
        found = explainer.explain_instance(
            text,
            lambda texts: self._both(texts, target),
            labels=(target,),
            num_features=len(text),  # all words: its default shows the ten strongest only
            **chosen,
        )
        return _answer(found, target)

    def _both(self, texts: list[str], target: int) -> np.ndarray:
        towards = self.model.of_texts(texts, target)
        columns = [-towards, -towards]
        columns[target] = towards
        return np.stack(columns, axis=1)


def _answer(found, target: int) -> Answer:
    """Every occurrence is ranked by the word's coefficient, which is that of removing them all:
    the removal of one is predicted by its share.
    """
    words = found.domain_mapper.indexed_string
    scores, removal = [], []
    for index, weight in found.as_map()[target]:
        places = [int(place) for place in words.string_position(index)]
        for start in places:
            end = start + len(words.word(index))
            scores.append((start, end, float(weight)))
            removal.append((start, end, float(weight) / len(places)))
    return Answer(scores, removal)


def make(folder: str) -> tuple[Lime, Meter]:
    model = TorchModel(folder)
    return Lime(model), model.meter
