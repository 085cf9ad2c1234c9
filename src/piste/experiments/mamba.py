"""A Mamba with a classification head at the last token; `transformers` has none of its own."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import MambaConfig, MambaModel, MambaPreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class MambaForSequenceClassification(MambaPreTrainedModel):  # type: ignore[misc]
    """Logits from the last token that is no padding (which stands at the right)."""

    def __init__(self, config: MambaConfig) -> None:
        super().__init__(config)
        self.backbone = MambaModel(config)
        self.score = nn.Linear(config.hidden_size, config.num_labels, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """The state of a token depends on the tokens before it only, so padding does no harm."""
        given = {"input_ids": input_ids, "inputs_embeds": inputs_embeds}
        states = self.backbone(**given).last_hidden_state
        length = states.shape[1]
        last = (
            torch.full((len(states),), length) if attention_mask is None else attention_mask.sum(1)
        )
        last = last - 1
        logits = self.score(states[torch.arange(len(states), device=states.device), last])
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)
