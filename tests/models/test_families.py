"""Every family of models that people classify texts with: tiny ones from the real configs.

Weights are random: what is tested is that piste reads them right, not that they are clever.
"""

from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoModelForSequenceClassification, MambaConfig, PreTrainedTokenizerFast

import piste
from papers.experiments.architectures import MambaForSequenceClassification
from piste.decision import margins
from piste.errors import PisteError
from piste.models.query import Query
from piste.text.players import split
from tests.conftest import CORPUS

TEXT = "The film was good, naïve café; the plot not bad at all!"
SIZES = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 66, "num_labels": 3, "initializer_range": 0.3,
}  # fmt: skip
DECODER = {"num_key_value_heads": 1, "head_dim": 16, "pad_token_id": None}


@dataclass(frozen=True)
class Family:
    """A config by its name, the kind of its tokenizer, and what it cannot do."""

    config: str
    tokenizer: str
    settings: dict = field(default_factory=dict)
    gradients: bool = True
    attention: bool = True


FAMILIES = {
    "BERT": Family("BertConfig", "wordpiece"),
    "DistilBERT": Family(
        "DistilBertConfig", "wordpiece",
        {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64},
    ),
    "RoBERTa": Family("RobertaConfig", "roberta", {"pad_token_id": 1, "type_vocab_size": 1}),
    "XLM-R": Family("XLMRobertaConfig", "sentencepiece", {"pad_token_id": 1, "type_vocab_size": 1}),
    "ALBERT": Family("AlbertConfig", "albert", {"embedding_size": 16}),
    "ELECTRA": Family("ElectraConfig", "wordpiece", {"embedding_size": 16}),
    "DeBERTa-v2": Family(
        "DebertaV2Config", "albert",
        {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0},
    ),
    "ModernBERT": Family(
        "ModernBertConfig", "wordpiece",
        {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "reference_compile": False,
         "bos_token_id": 2, "eos_token_id": 3},
    ),
    "MPNet": Family("MPNetConfig", "wordpiece", {"pad_token_id": 0}),
    "T5": Family(
        "T5Config", "t5",
        {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2, "pad_token_id": 0,
         "eos_token_id": 1, "decoder_start_token_id": 0, "initializer_factor": 2.0},
        gradients=False, attention=False,
    ),
    "GPT-2": Family(
        "GPT2Config", "byte_level",
        {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "bos_token_id": 0,
         "eos_token_id": 0},
    ),
    "BLOOM": Family("BloomConfig", "byte_level", {"n_layer": 2, "n_head": 2}),
    "Llama": Family("LlamaConfig", "llama", DECODER),
    "Qwen2": Family("Qwen2Config", "byte_level", DECODER),
    "Mistral": Family("MistralConfig", "llama", DECODER),
    "Gemma": Family("GemmaConfig", "llama", DECODER),
    "Mamba": Family("MambaConfig", "byte_level", {"state_size": 4, "expand": 2}, attention=False),
}  # fmt: skip


def roberta_tokenizer():
    """Byte-level BPE between <s> and </s>."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        unk_token="<unk>", model_max_length=64,
    )  # fmt: skip


def llama_tokenizer():
    """BPE over characters with the ▁ mark and bytes to fall back on, behind <s>."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")  # words, to train
    tokenizer.decoder = decoders.Metaspace()
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=names)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>",
        model_max_length=64,
    )  # fmt: skip


def unigram(names, single, **special):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=130, special_tokens=names, unk_token="<unk>")
    tokenizer.train_from_iterator(CORPUS, trainer)
    known = [(name, names.index(name)) for name in names]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, special_tokens=known)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special)


@pytest.fixture(scope="module")
def tokenizers(wordpiece, byte_level, sentencepiece):
    albert = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    return {
        "wordpiece": wordpiece,
        "byte_level": byte_level,
        "sentencepiece": sentencepiece,
        "roberta": roberta_tokenizer(),
        "albert": unigram(albert, "[CLS] $A [SEP]", cls_token="[CLS]", sep_token="[SEP]",
                          unk_token="<unk>", pad_token="<pad>", mask_token="[MASK]"),
        "t5": unigram(["<pad>", "</s>", "<unk>"], "$A </s>", eos_token="</s>", unk_token="<unk>",
                      pad_token="<pad>"),
        "llama": llama_tokenizer(),
    }  # fmt: skip


@pytest.fixture(scope="module", params=list(FAMILIES))
def built(request, tokenizers):
    family = FAMILIES[request.param]
    tokenizer = tokenizers[family.tokenizer]
    torch.manual_seed(0)
    kind = getattr(transformers, family.config)
    given = {**SIZES, "vocab_size": len(tokenizer), **family.settings}
    config = kind(**{name: value for name, value in given.items() if value is not None})
    if isinstance(config, MambaConfig):
        model = MambaForSequenceClassification(config)
    else:
        model = AutoModelForSequenceClassification.from_config(config)
    return family, piste.load(model.eval(), tokenizer, backend="torch")


def plain(classifier, text):
    """What the user's own code would get."""
    inputs = classifier.tokenizer(text, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        return classifier.model(**inputs).logits.double().numpy()[0]


def test_the_frame_is_what_the_tokenizer_adds(built):
    _, classifier = built
    encoding = classifier.encode(TEXT)
    framed = [*encoding.frame.prefix, *encoding.ids, *encoding.frame.suffix]
    assert framed == classifier.tokenizer(TEXT)["input_ids"]
    bare = classifier.tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    assert list(encoding.ids) == bare


def test_the_answer_is_the_one_of_a_plain_call(built):
    _, classifier = built
    found = piste.explain(TEXT, classifier, "occlusion", target=1)
    expected = margins(plain(classifier, TEXT)[None], classifier, 1)[0]
    assert found.target.score == pytest.approx(expected, abs=1e-4)


def test_offsets_point_at_the_text(built):
    _, classifier = built
    encoding = classifier.encode(TEXT)
    words = split(encoding).items
    assert all(TEXT[player.start : player.end] == player.text for player in words)
    assert "".join(player.text for player in words) == TEXT.replace(" ", "")
    assert [token for player in words for token in player.ids] == list(encoding.ids)


def test_batches_do_not_change_the_scores(built):
    _, classifier = built
    encoding = classifier.encode(TEXT)
    players = split(encoding)
    rows = players.tokens(players.whole.of([[0, 1, 2], [2, 1, 0], [3, 4, 5], [5], [0, 1, 2]]))
    together = Query(classifier, encoding.frame).logits(rows)
    alone = Query(classifier, encoding.frame, batch_tokens=1).logits(rows)
    assert together == pytest.approx(alone, abs=1e-4)
    assert np.ptp(together, axis=0).max() > 1e-3  # it does react to the words


def test_slalom_explains_it(built):
    _, classifier = built
    found = piste.explain(TEXT, classifier)
    assert found.fidelity is not None
    assert all(np.isfinite(scores).all() for scores in found.scores.values())
    assert [player.text for player in found.players][:2] == ["The", "film"]


@pytest.mark.parametrize("method", ["gradients", "integrated-gradients"])
def test_gradients_or_a_reason(built, method):
    family, classifier = built
    if not family.gradients:
        with pytest.raises(PisteError, match="slalom"):
            piste.explain(TEXT, classifier, method)
        return
    found = piste.explain(TEXT, classifier, method)
    scores = found.scores[found.primary]
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() > 0
    # The answer to embeddings is the answer to the tokens.
    assert not [note for note in found.notes if "somewhat different" in note]


@pytest.mark.parametrize("method", ["attention", "rollout"])
def test_attention_or_a_reason(built, method):
    family, classifier = built
    if not family.attention:
        with pytest.raises(PisteError, match="slalom"):
            piste.explain(TEXT, classifier, method)
        return
    found = piste.explain(TEXT, classifier, method)
    scores = found.scores[found.primary]
    assert (scores >= 0).all()
    assert 0 < scores.sum() <= 1 + 1e-6


def test_left_or_right_padding_and_a_padding_token_change_nothing(built):
    family, classifier = built
    before = piste.explain(TEXT, classifier, "occlusion").scores["removal"]
    tokenizer, config = deepcopy(classifier.tokenizer), classifier.model.config
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:  # what people set to make batches work
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    if family.tokenizer in ("byte_level", "llama"):
        was, config.pad_token_id = config.pad_token_id, tokenizer.pad_token_id
    after = piste.explain(
        TEXT, piste.load(classifier.model, tokenizer, backend="torch"), "occlusion"
    )
    if family.tokenizer in ("byte_level", "llama"):
        config.pad_token_id = was
    assert after.scores["removal"] == pytest.approx(before, abs=1e-5)


@pytest.mark.slow
def test_compiled_it_says_the_same_or_stays_in_torch_and_says_why(built):
    _, classifier = built
    fast = piste.load(classifier.model, classifier.tokenizer)
    slow = piste.explain(TEXT, classifier, "occlusion")
    found = piste.explain(TEXT, fast, "occlusion")
    assert found.scores["removal"] == pytest.approx(slow.scores["removal"], abs=1e-3)
    said = [note for note in found.notes if "not compiled" in note]
    for length in (9, 17, 33, 57):  # of which a compiled model pads all but the first
        encoding = fast.encode(TEXT)
        ids = encoding.frame.around(np.resize(np.array(encoding.ids), (3, length - 2)))
        assert fast.logits(ids) == pytest.approx(classifier.logits(ids), abs=1e-3)
    assert ("openvino" in fast.backend) != bool(said)
