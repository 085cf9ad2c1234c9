"""interpreto's perturbation methods, by word; it replaces absent words by the mask token itself."""

from functools import partial
from typing import Any

import interpreto
import torch

from contenders.base import Answer, Game, TorchModel, Unfit, additive
from contenders.with_captum import of_target

BATCH = 32


class Interpreto:
    def __init__(self, model: TorchModel) -> None:
        self.model = model
        self.tokens = 0
        model.model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        ids = named.get("input_ids", positional[0] if positional else None)
        given = named.get("inputs_embeds")
        shape = ids.shape if ids is not None else given.shape
        self.tokens += int(shape[0] * shape[1])

    def explain(self, game: Game, settings: dict[str, Any], passes: float | None) -> Answer:
        if game.is_pair:
            raise Unfit("It takes single texts only.")
        name = settings["algorithm"]
        several = passes is not None and name != "Occlusion"
        method = getattr(interpreto, name)(
            self.model.model,
            self.model.tokenizer,
            batch_size=BATCH,
            inference_mode=partial(all_targets),
            **({"n_perturbations": max(2, round(passes or 0))} if several else {}),
        )
        self.tokens = 0
        found = method(game.text, targets=game.target)[0]
        values = game.laid(list(zip_words(game, found.attributions[0].tolist())))
        answer = additive(game, values, is_shapley=name == "KernelShap")
        answer.passes = self.tokens / game.whole_tokens
        return answer


def zip_words(game: Game, values: list[float]) -> Any:
    """Its words are the tokenizer's; their places are the tokenizer's too."""
    coded = game.model.tokenizer(game.text, truncation=True, return_offsets_mapping=True)
    places: dict[int, tuple[int, int]] = {}
    for owner, (start, end) in zip(coded.word_ids(), coded["offset_mapping"], strict=True):
        if owner is not None:
            first, last = places.get(owner, (start, end))
            places[owner] = (min(first, start), max(last, end))
    for (start, end), value in zip(places.values(), values, strict=True):
        yield start, end, value


def all_targets(logits: torch.Tensor) -> torch.Tensor:
    """Every class against all others; a raw score as it is."""
    columns = [of_target(logits, index) for index in range(logits.shape[-1])]
    return torch.stack(columns, dim=-1)


def make(model: TorchModel) -> Interpreto:
    return Interpreto(model)
