"""A real BERT with planted weights: it is the SLALOM, and piste finds the SLALOM in it."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

import piste
from papers.theory.slalom_bert import slalom_bert

WORDS = 20
SHAPES = [{}, {"heads": 4}, {"layers": 3, "heads": 2, "head_size": 8}, {"heads": 2, "head_size": 3}]


def planted(**settings):
    rng = np.random.default_rng(0)
    values, importances = 3 * rng.normal(size=WORDS), rng.normal(size=WORDS)
    model = slalom_bert(torch.from_numpy(values), torch.from_numpy(importances), **settings)
    return model, values, importances


def distance(model, values, importances, ids) -> float:
    """The largest difference between the model's log-odds and the formula."""
    weights = np.exp(importances[ids])
    expected = (weights * values[ids]).sum(axis=1) / weights.sum(axis=1)
    framed = np.column_stack([np.full(len(ids), WORDS), ids])
    with torch.no_grad():
        logits = model(torch.from_numpy(framed)).logits.numpy()
    return float(np.abs(logits[:, 1] - logits[:, 0] - expected).max())


@pytest.mark.parametrize("settings", SHAPES)
@pytest.mark.parametrize("length", [1, 9])
def test_it_is_the_slalom(settings, length):
    ids = np.random.default_rng(1).integers(WORDS, size=(30, length))
    assert distance(*planted(**settings), ids) < 1e-8


def test_what_is_left_falls_with_the_square_of_small():
    ids = np.random.default_rng(1).integers(WORDS, size=(30, 5))
    coarse, fine = (distance(*planted(small=small), ids) for small in (1e-2, 1e-3))
    assert coarse / fine == pytest.approx(100, rel=0.05)


def test_too_narrow_a_model_is_refused():
    with pytest.raises(ValueError, match="three pairs need 6"):
        planted(head_size=5)


def test_piste_recovers_it_through_its_own_door():
    model, values, importances = planted(layers=2, heads=2)
    vocabulary = {f"w{index}": index for index in range(WORDS)} | {"[CLS]": WORDS}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", WORDS)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token="[CLS]", model_max_length=64
    )
    classifier = piste.load(model, fast, backend="torch")
    text = " ".join(f"w{index}" for index in range(WORDS))
    found = piste.explain(text, classifier, "slalom-ana", target=1)
    assert found.scores["value"] == pytest.approx(values, abs=1e-5)
    assert found.scores["importance"] == pytest.approx(importances - importances.mean(), abs=1e-3)
