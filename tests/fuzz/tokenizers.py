"""Tokenizers of every kind, made in memory, each with a model that knows its ids."""

from collections.abc import Callable

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import piste
from piste.models.protocol import Classifier
from tests.conftest import CORPUS, SPECIALS, tiny_bert

UNKNOWN = "[UNK]"


def _classifier(tokenizer: Tokenizer) -> Classifier:
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token=UNKNOWN, pad_token="[PAD]", model_max_length=10**6
    )
    model = tiny_bert(len(fast))
    model.config.max_position_embeddings = 10**6  # it is never asked: only its ids are counted
    return piste.load(model, fast, backend="torch")


def wordpiece() -> Classifier:
    made = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=150, special_tokens=SPECIALS)
    made.train_from_iterator(CORPUS, trainer)
    return _classifier(made)


def byte_bpe() -> Classifier:
    made = Tokenizer(models.BPE(unk_token=UNKNOWN))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=SPECIALS
    )
    made.train_from_iterator(CORPUS, trainer)
    return _classifier(made)


def fallback_bpe() -> Classifier:
    """As Llama has it: unknown characters in bytes, one character several tokens."""
    made = Tokenizer(models.BPE(unk_token=UNKNOWN, byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    codes = [f"<0x{code:02X}>" for code in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=450, special_tokens=[*SPECIALS, *codes])
    made.train_from_iterator(CORPUS, trainer)
    return _classifier(made)


def unigram() -> Classifier:
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=SPECIALS, unk_token=UNKNOWN)
    made.train_from_iterator(CORPUS, trainer)
    return _classifier(made)


def stripped() -> Classifier:
    """A normalizer that changes lengths: accents, case, compatibility forms, removed characters."""
    made = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    made.normalizer = normalizers.Sequence(
        [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
         normalizers.Replace("the", "")]
    )  # fmt: skip
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator(CORPUS, trainers.WordLevelTrainer(special_tokens=SPECIALS))
    return _classifier(made)


KINDS: dict[str, Callable[[], Classifier]] = {
    "wordpiece": wordpiece,
    "byte-bpe": byte_bpe,
    "fallback-bpe": fallback_bpe,
    "unigram": unigram,
    "stripped": stripped,
}
