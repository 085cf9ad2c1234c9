"""captum: Lime, KernelShap and FeatureAblation over the words, integrated gradients by token."""

from typing import Any

import torch
from captum import attr

from contenders.base import Answer, Game, TooLittle, TorchModel, Unfit, additive

AT_ONCE = 64
STEPS = 50  # of integrated gradients, its default


class Captum:
    def explain(self, game: Game, settings: dict[str, Any], passes: float | None) -> Answer:
        name = settings["algorithm"]
        if name == "IntegratedGradients":
            return integrated_gradients(game, passes)

        def scores(masks: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(game(masks.numpy()))

        wanted = {} if passes is None else {"n_samples": game.samples(passes)}
        if wanted.get("n_samples", 2) < 2:
            raise TooLittle
        values = getattr(attr, name)(scores).attribute(
            torch.ones(1, game.words), baselines=0, perturbations_per_eval=AT_ONCE, **wanted
        )
        return additive(game, values[0].numpy(), is_shapley=name == "KernelShap")


def integrated_gradients(game: Game, passes: float | None) -> Answer:
    """From [MASK] in every place to the text, through the embeddings; a step counts as one pass."""
    if game.is_pair:
        raise Unfit("Only single texts are prepared for it.")
    steps = STEPS if passes is None else max(2, round(passes))
    model, row = game.model.model, game.row
    words = [token for ids in row["ids"] for token in ids]
    ids = torch.tensor([[*row["prefix"], *words, *row["suffix"]]])
    start = torch.tensor([[*row["prefix"], *([row["mask"]] * len(words)), *row["suffix"]]])

    def scores(embeddings: torch.Tensor) -> torch.Tensor:
        logits = model(inputs_embeds=embeddings, attention_mask=ids.new_ones(embeddings.shape[:2]))
        return of_target(logits.logits, game.target)

    embed = model.get_input_embeddings()
    with torch.no_grad():
        ends = embed(ids), embed(start)
    values = attr.IntegratedGradients(scores).attribute(
        ends[0], baselines=ends[1], n_steps=steps, internal_batch_size=16
    )
    game.tokens += steps * ids.numel()
    inside = values.sum(dim=-1)[0, len(row["prefix"]) : ids.shape[1] - len(row["suffix"])]
    parts = torch.split(inside, game.lengths.tolist())
    return Answer(torch.stack([part.sum() for part in parts]).detach().numpy().astype(float))


def of_target(logits: torch.Tensor, target: int) -> torch.Tensor:
    """The same number as `Game.scores`, with gradients."""
    if logits.shape[1] == 1:
        return logits[:, 0]
    others = [index for index in range(logits.shape[1]) if index != target]
    return logits[:, target] - torch.logsumexp(logits[:, others], dim=1)


def make(model: TorchModel) -> Captum:
    return Captum()
