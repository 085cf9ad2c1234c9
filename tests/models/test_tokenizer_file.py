"""What stands in for a tokenizer of transformers reads exactly as it does, or is not used."""

import json

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from piste.models.backends.pretrained import QuietReader
from piste.models.backends.reading import Reader
from piste.models.backends.tokenizer_file import TokenizerFile, agree, facts_of, written_down
from piste.models.fingerprint import tokenizer_digest
from tests.conftest import byte_level_tokenizer, wordpiece_tokenizer
from tests.models.test_families import llama_tokenizer, roberta_tokenizer, unigram

ODD = (
    "The film was good, naïve café; the plot not bad at all!",
    " two  blanks\tand\n\nlines ",
    "不错的电影 🙂👩‍👩‍👧 \u200bхорошо e\u0301 İ ẞ ﬁn",
    "[CLS] [SEP] [MASK] <s> </s> <pad> <unk> <mask> <|endoftext|> inside",
    "word " * 600,
    "x" * 300,
    ".",
)


def xlm_roberta():
    names = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return unigram(list(names.values()), "<s> $A </s>", **names)


def albert():
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return unigram(list(names.values()), "[CLS] $A [SEP]", **names)


def t5():
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return unigram(list(names.values()), "$A </s>", **names)


def splitting():
    """Special tokens that a text spells out are words."""
    tokenizer = wordpiece_tokenizer()
    tokenizer.split_special_tokens = True
    return tokenizer


def with_added_words():
    tokenizer = wordpiece_tokenizer()
    tokenizer.add_tokens(["superbly", "café au lait"])
    tokenizer.add_special_tokens({"additional_special_tokens": ["[USER]"]})
    return tokenizer


# Trained rules, the class that transformers reads them with, and its settings.
FAMILIES = {
    "BERT": (wordpiece_tokenizer, "BertTokenizer", {}),
    "BERT, cased": (wordpiece_tokenizer, "BertTokenizer", {"do_lower_case": False}),
    "DistilBERT": (wordpiece_tokenizer, "DistilBertTokenizer", {}),
    "ELECTRA": (wordpiece_tokenizer, "ElectraTokenizer", {}),
    "MPNet": (wordpiece_tokenizer, "MPNetTokenizer", {}),
    "RoBERTa": (roberta_tokenizer, "RobertaTokenizer", {}),
    "RoBERTa, blank first": (roberta_tokenizer, "RobertaTokenizer", {"add_prefix_space": True}),
    "GPT-2": (byte_level_tokenizer, "GPT2Tokenizer", {}),
    "Qwen2": (byte_level_tokenizer, "Qwen2Tokenizer", {}),
    "XLM-R": (xlm_roberta, "XLMRobertaTokenizer", {}),
    "ALBERT": (albert, "AlbertTokenizer", {}),
    "DeBERTa-v2": (albert, "DebertaV2Tokenizer", {}),
    "T5": (t5, "T5Tokenizer", {}),
    "Llama": (llama_tokenizer, "LlamaTokenizer", {}),
    "plain": (wordpiece_tokenizer, "PreTrainedTokenizerFast", {}),
    "no types": (
        wordpiece_tokenizer,
        "PreTrainedTokenizerFast",
        {"model_input_names": ["input_ids", "attention_mask"]},
    ),
    "tidy": (wordpiece_tokenizer, "BertTokenizer", {"clean_up_tokenization_spaces": True}),
    "special tokens split": (splitting, "PreTrainedTokenizerFast", {}),
    "added words": (with_added_words, "BertTokenizer", {}),
}


@pytest.fixture(scope="module", params=list(FAMILIES))
def both(request, tmp_path_factory):
    """A tokenizer as a user loads it, and what is read from what was written down of it."""
    make, kind, settings = FAMILIES[request.param]
    folder = tmp_path_factory.mktemp("tokenizer")
    make().save_pretrained(folder)
    file = folder / "tokenizer_config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(config | {"tokenizer_class": kind} | settings), encoding="utf-8")
    theirs = AutoTokenizer.from_pretrained(folder)
    written = written_down(theirs)
    if written is None and int(transformers.__version__.split(".")[0]) < 5:
        pytest.skip("piste reads with this version of transformers itself")
    assert written is not None
    return readers(theirs, TokenizerFile(written.rules, json.loads(json.dumps(written.facts))))


def readers(theirs, ours, types=2):
    limit = int(theirs.model_max_length)
    known = {"limit": limit, "vocabulary": None, "types": types, "notice": "a notice"}
    return QuietReader(theirs, **known), Reader(ours, **known)


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("pair", [None, *ODD[:4]])
def test_ids_offsets_special_tokens_types_and_limits_are_the_same(both, text, pair):
    theirs, ours = both
    assert ours.encode(text, pair) == theirs.encode(text, pair)


@settings(max_examples=30, deadline=None)
@given(st.text(min_size=1, max_size=60), st.none() | st.text(max_size=20))
def test_any_text_is_read_the_same(both, text, pair):
    theirs, ours = both
    assert ours.encode(text, pair) == theirs.encode(text, pair)


def test_words_come_back_the_same_and_so_do_replacements_and_the_fingerprint(both):
    theirs, ours = both
    for text in ODD:
        ids = theirs.tokenizer(text)["input_ids"]
        assert ours.tokenizer.decode(ids) == theirs.tokenizer.decode(ids)
    for name in ("unk", "mask", "pad"):
        assert ours.token_id(name) == theirs.token_id(name)
    assert tokenizer_digest(ours.tokenizer) == tokenizer_digest(theirs.tokenizer)
    assert ours.tokenizer.model_max_length == theirs.tokenizer.model_max_length
    assert agree(theirs, ours)


class Shouting(PreTrainedTokenizerFast):
    """Does something to the text before its rules see it."""

    def _encode_plus(self, text, *more, **settings):
        return super()._encode_plus(text.upper(), *more, **settings)


def test_a_class_that_does_more_than_its_rules_is_not_written_down():
    rules = wordpiece_tokenizer().backend_tokenizer
    assert written_down(PreTrainedTokenizerFast(tokenizer_object=rules)) is not None
    assert written_down(Shouting(tokenizer_object=rules)) is None
    assert written_down(object()) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda tokenizer: setattr(tokenizer, "normalizer", normalizers.Lowercase()),
        lambda tokenizer: setattr(tokenizer, "pre_tokenizer", pre_tokenizers.Whitespace()),
        lambda tokenizer: setattr(tokenizer, "model", models.WordLevel({"a": 1}, unk_token="a")),
    ],
)
def test_rules_that_read_differently_do_not_agree(change):
    theirs = wordpiece_tokenizer()
    assert agree(*readers(theirs, written_down(theirs)))
    other = wordpiece_tokenizer()
    change(other.backend_tokenizer)
    file = TokenizerFile(other.backend_tokenizer.to_str(), facts_of(theirs))
    assert not agree(*readers(theirs, file))
