"""Classifiers of the real architectures, not trained yet, and tokenizers for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BloomConfig,
    BloomForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    MambaConfig,
    MambaModel,
    MambaPreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from piste.errors import choices

LABELS = {0: "negative", 1: "positive"}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
NAMES = {"bert": "BERT", "distilbert": "DistilBERT", "gpt2": "GPT-2"}  # as the papers write them
ARCHITECTURES = tuple(NAMES)


class MambaForSequenceClassification(MambaPreTrainedModel):  # type: ignore[misc]
    """A Mamba with a classification head, which `transformers` lacks.

    Logits are read at the last token that is no padding (which stands at the right).
    """

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


CLASSES: dict[str, tuple[Any, Any]] = {
    "bert": (BertConfig, BertForSequenceClassification),
    "distilbert": (DistilBertConfig, DistilBertForSequenceClassification),
    "gpt2": (GPT2Config, GPT2ForSequenceClassification),
    "bloom": (BloomConfig, BloomForSequenceClassification),
    "mamba": (MambaConfig, MambaForSequenceClassification),
}


@dataclass(frozen=True)
class Size:
    """How large a model is built."""

    layers: int = 2
    width: int = 128
    heads: int = 4
    longest: int = 512
    state: int = 16  # numbers that a channel of a Mamba remembers


def build(architecture: str, size: Size, vocabulary: int) -> Any:
    """A fresh two-class model of the real `transformers` class."""
    if architecture not in CLASSES:
        raise choices("architecture", architecture, list(CLASSES))
    config, model = CLASSES[architecture]
    attention = {"num_attention_heads": size.heads, "max_position_embeddings": size.longest}
    own = {  # beside the names below, which every config understands
        "bert": {"intermediate_size": 4 * size.width, **attention},
        "distilbert": {"hidden_dim": 4 * size.width, **attention},
        "gpt2": {"bos_token_id": 1, "eos_token_id": 1, **attention},
        "bloom": {"num_attention_heads": size.heads},  # it has no table of positions
        "mamba": {"state_size": size.state},  # nor attention
    }
    return model(
        config(
            vocab_size=vocabulary,
            hidden_size=size.width,
            num_hidden_layers=size.layers,
            id2label=LABELS,
            num_labels=2,
            pad_token_id=0,
            **own[architecture],
        )
    )


def word_tokenizer(words: Sequence[str], *, frame: bool = True) -> PreTrainedTokenizerFast:
    """A tokenizer whose tokens are whole words, with [CLS] and [SEP] around a text or without."""
    known = {word: number for number, word in enumerate((*SPECIAL, *words))}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return _pretrained(tokenizer, frame)


def wordpieces(texts: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A tokenizer of BERT's kind, made from the texts."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=list(SPECIAL), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _pretrained(tokenizer, frame=True)


def _pretrained(tokenizer: Tokenizer, frame: bool) -> PreTrainedTokenizerFast:
    """As `transformers` wants it; framed by [CLS] and [SEP] if wanted."""
    if frame:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=512,
    )
