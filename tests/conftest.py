"""Small real models and tokenizers of the three kinds, built here: no hub is needed."""

import os

import pytest
import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedTokenizerFast,
)

import piste
from tests.browser import ARGUMENTS, browser_path

# Workers of pytest-xdist are given 80 columns; transcripts are as wide as by default.
os.environ.pop("COLUMNS", None)

pytest.register_assert_rewrite("tests.contracts")
torch.set_num_threads(1)  # the tests run side by side

CORPUS = [
    "the film was good, the acting superb and the plot not bad at all",
    "a bad film with a terrible plot; I don't know why they made it",
    "great fun for the whole family! naïve café, 3.14 stars",
    "unbelievable, unforgettable, incomprehensible storytelling",
] * 5
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Converted models of the tests stay out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PISTE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _whatever_is_faster():
    """`backend="auto"` compiles in all tests but those of the choice, however busy the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("piste.models.backends.speed.CLEARLY", float("inf"))
        yield


@pytest.fixture(scope="session")
def demo():
    return piste.load(backend="torch")


@pytest.fixture(scope="session")
def compiled_demo(_own_cache):
    return piste.load(backend="openvino")


@pytest.fixture(scope="session")
def wordpiece():
    return wordpiece_tokenizer()


def wordpiece_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=120, special_tokens=SPECIALS)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )


@pytest.fixture(scope="session")
def byte_level():
    return byte_level_tokenizer()


def byte_level_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"]
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", model_max_length=64
    )


@pytest.fixture(scope="session")
def sentencepiece():
    """Unigram pieces with the ▁ mark, as XLM-R and T5 have them, framed by <s> ... </s>."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>"
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        model_max_length=64,
    )


def tiny_bert(vocabulary: int, seed: int = 0, **settings: object) -> BertForSequenceClassification:
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        **settings,
    )
    # Larger than usual weights: an untrained model with answers that differ.
    config.initializer_range = 0.3
    return BertForSequenceClassification(config).eval()


def tiny_gpt2(vocabulary: int, seed: int = 0) -> GPT2ForSequenceClassification:
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=vocabulary, n_embd=32, n_layer=2, n_head=4, n_positions=64, num_labels=2,
        bos_token_id=0, eos_token_id=0, initializer_range=0.3,
    )  # fmt: skip
    return GPT2ForSequenceClassification(config).eval()


@pytest.fixture(scope="session")
def bert(wordpiece):
    return piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")


@pytest.fixture(scope="session")
def gpt2(byte_level):
    return piste.load(tiny_gpt2(len(byte_level)), byte_level, backend="torch")


@pytest.fixture(scope="session")
def bert_on_sentencepiece(sentencepiece):
    return piste.load(tiny_bert(len(sentencepiece)), sentencepiece, backend="torch")


@pytest.fixture(scope="module")
def browser():
    """The system's browser or Playwright's; where CI has none that fails, elsewhere it skips."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        path = browser_path(driver)
        if path is None:
            reason = "no Chromium or Chrome: make browser"
            pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
