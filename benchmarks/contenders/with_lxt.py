"""AttnLRP by the package lxt, in an environment of its own; run only where it is asked for.

lxt's licence (Clear BSD) allows use and redistribution and grants no patent rights; its authors
write that LRP is patented and free of charge for personal and scientific purposes only. So nothing
of it is in piste, and `peers.py` leaves it out unless `--with attn-lrp` says otherwise.
"""

from typing import Any

import torch
import transformers.models.bert.modeling_bert as bert
from lxt.efficient import monkey_patch

from contenders.base import Answer, Game, TorchModel, Unfit

monkey_patch(bert)  # before any model is loaded


class AttnLrp:
    def explain(self, game: Game, settings: dict[str, Any], passes: float | None) -> Answer:
        if game.model.model.config.model_type != "bert" or game.is_pair:
            raise Unfit("Only single texts in front of BERT are prepared for it.")
        row = game.row
        words = [token for ids in row["ids"] for token in ids]
        ids = torch.tensor([[*row["prefix"], *words, *row["suffix"]]])
        model = game.model.model
        embeddings = model.get_input_embeddings()(ids).detach().requires_grad_()
        logits = model(inputs_embeds=embeddings, attention_mask=torch.ones_like(ids)).logits
        logits[0, game.target].backward()  # as its documentation does: the logit of the class
        game.tokens += 2 * ids.numel()  # there and back
        relevance = (embeddings * embeddings.grad).sum(-1)[0].detach()
        inside = relevance[len(row["prefix"]) : ids.shape[1] - len(row["suffix"])]
        parts = torch.split(inside, game.lengths.tolist())
        return Answer(torch.stack([part.sum() for part in parts]).numpy().astype(float))


def make(model: TorchModel) -> AttnLrp:
    return AttnLrp()
