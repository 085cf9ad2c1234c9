"""A Hugging Face BERT whose weights make it a given SLALOM (Proposition 5.1 of arXiv 2405.13536).

`slalom_transformer` needs no normalisation and is the SLALOM exactly. A real BERT normalises after
every step and squashes its answer with a tanh. Two things get the SLALOM through:

* A number x is stored as the pair (x, -x), and a third pair fills every embedding up to the same
  length. Mean and variance are then alike for all tokens, and normalising changes nothing.
* Values are stored `small` times their size. What the classification token gathers then changes
  its length, and bends the tanh, by the square of `small` only.

So this one is the SLALOM up to a relative error of about `small` squared.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification

IMPORTANCE, VALUE, FILLER = 0, 2, 4  # each coordinate is followed by its negative
UNHEARD = 60.0  # the listener's importance is so far below the least: exp(-60) is 1e-26
SMALL = 1e-5


def slalom_bert(
    values: Tensor,
    importances: Tensor,
    *,
    layers: int = 1,
    heads: int = 1,
    head_size: int = 6,
    small: float = SMALL,
) -> BertForSequenceClassification:
    """The model, in float64. Token i is the i-th value; the last id is the classification token.

    Put that one first: logit 1 - logit 0 is then F of the tokens behind it.
    """
    width = heads * head_size
    if width < 6:
        raise ValueError(f"{heads} heads of {head_size} are too narrow: three pairs need 6")
    config = BertConfig(
        vocab_size=len(values) + 1, hidden_size=width, num_hidden_layers=layers,
        num_attention_heads=heads, intermediate_size=width, num_labels=2, pad_token_id=None,
    )  # fmt: skip
    model = BertForSequenceClassification(config).double().eval()
    table, unit_s, unit_v = _embeddings(values.double(), importances.double(), width, small)
    with torch.no_grad():
        _silence(model)
        model.bert.embeddings.word_embeddings.weight.copy_(table)
        _attend(model.bert.encoder.layer[0].attention, unit_s)
        _answer(model, unit_v)
    return model


def _embeddings(
    values: Tensor, importances: Tensor, width: int, small: float
) -> tuple[Tensor, float, float]:
    """Rows of mean 0 and variance 1 [tokens + 1, width], and the units of the two numbers."""
    listener = importances.min() - UNHEARD
    s = torch.cat([importances, listener[None]])
    v = torch.cat([values, values.new_zeros(1)])
    unit_s = 1 / float(s.abs().max())
    unit_v = small / max(1.0, float(v.abs().max()))
    stored = torch.stack([unit_s * s, unit_v * v], dim=1)
    filler = (width / 2 - stored.square().sum(dim=1)).sqrt()  # variance 1: squares sum to the width
    table = torch.zeros(len(s), width, dtype=torch.float64)
    for place, number in ((IMPORTANCE, stored[:, 0]), (VALUE, stored[:, 1]), (FILLER, filler)):
        table[:, place], table[:, place + 1] = number, -number
    return table, unit_s, unit_v


def _silence(model: nn.Module) -> None:
    """Every weight 0, but the normalisations as they are."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.zero_()
            module.bias.zero_()
        elif isinstance(module, nn.Embedding):
            module.weight.zero_()


def _attend(attention: Any, unit_s: float) -> None:
    """The first head: constant query, key the importance, value the value."""
    inner = attention.self
    inner.query.bias[0] = 1.0
    inner.key.weight[0, IMPORTANCE] = math.sqrt(inner.attention_head_size) / unit_s
    inner.value.weight[0, VALUE] = 1.0
    for place, sign in ((VALUE, 1.0), (VALUE + 1, -1.0)):
        attention.output.dense.weight[place, 0] = sign


def _answer(model: Any, unit_v: float) -> None:
    """The pooler passes the value through its tanh; the head gives it back its size."""
    model.bert.pooler.dense.weight[0, VALUE] = 1.0
    for label, sign in ((0, -0.5), (1, 0.5)):
        model.classifier.weight[label, 0] = sign / unit_v
