"""Small classifiers of the real architectures, not trained yet, and tokenizers for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedTokenizerFast,
)

from piste.errors import choices

LABELS = {0: "negative", 1: "positive"}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
NAMES = {"bert": "BERT", "distilbert": "DistilBERT", "gpt2": "GPT-2"}  # as the papers write them
ARCHITECTURES = tuple(NAMES)
CLASSES: dict[str, tuple[Any, Any]] = {
    "bert": (BertConfig, BertForSequenceClassification),
    "distilbert": (DistilBertConfig, DistilBertForSequenceClassification),
    "gpt2": (GPT2Config, GPT2ForSequenceClassification),
}


@dataclass(frozen=True)
class Size:
    """How large a model is built."""

    layers: int = 2
    width: int = 128
    heads: int = 4
    longest: int = 512


def build(architecture: str, size: Size, vocabulary: int) -> Any:
    """A fresh two-class model of the real `transformers` class."""
    if architecture not in CLASSES:
        raise choices("architecture", architecture, ARCHITECTURES)
    config, model = CLASSES[architecture]
    own = {  # beside the names below, which every config understands
        "bert": {"intermediate_size": 4 * size.width},
        "distilbert": {"hidden_dim": 4 * size.width},
        "gpt2": {"bos_token_id": 1, "eos_token_id": 1},
    }
    return model(
        config(
            vocab_size=vocabulary,
            hidden_size=size.width,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            max_position_embeddings=size.longest,
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
