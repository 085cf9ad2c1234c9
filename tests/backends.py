"""One small classifier of every kind that piste can ask, for contracts that hold for all of them.

Each builder is a context manager: what it starts, it ends. The first line of its docstring is its
title in the table of docs/reliability.md. Torch loads when a builder is used.
"""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

import piste
from piste.models.protocol import Classifier

Builder = Callable[[], AbstractContextManager[Classifier]]
BACKENDS: dict[str, Builder] = {}


def backend(builder: Callable[[], Iterator[Classifier]]) -> Builder:
    """Put the builder into the table."""
    BACKENDS[builder.__name__] = contextlib.contextmanager(builder)
    return BACKENDS[builder.__name__]


def title(name: str) -> str:
    """The first line of a builder's docstring."""
    return (BACKENDS[name].__doc__ or "").strip().split("\n")[0].removesuffix(".")


@backend
def torch_encoder() -> Iterator[Classifier]:
    """torch encoder in training mode.

    Dropout would change every answer.
    """
    from tests.conftest import tiny_bert, wordpiece_tokenizer

    tokenizer = wordpiece_tokenizer()
    yield piste.load(tiny_bert(len(tokenizer)).train(), tokenizer, backend="torch")


@backend
def torch_decoder() -> Iterator[Classifier]:
    """torch GPT-2 with a padding token.

    The token occurs in texts.
    """
    from tests.conftest import byte_level_tokenizer, tiny_gpt2

    tokenizer = byte_level_tokenizer()
    model = tiny_gpt2(len(tokenizer))
    model.config.pad_token_id = int(tokenizer("a")["input_ids"][0])
    yield piste.load(model.train(), tokenizer, backend="torch")


@backend
def compiled() -> Iterator[Classifier]:
    """compiled (OpenVINO)"""
    from tests.conftest import tiny_bert, wordpiece_tokenizer

    tokenizer = wordpiece_tokenizer()
    yield piste.load(tiny_bert(len(tokenizer)), tokenizer, backend="openvino")


@backend
def onnx() -> Iterator[Classifier]:
    """ONNX"""
    from tests.conftest import tiny_bert, wordpiece_tokenizer
    from tests.models.test_onnx import Export, export

    tokenizer = wordpiece_tokenizer()
    model = tiny_bert(len(tokenizer))
    with tempfile.TemporaryDirectory() as folder:
        model.config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        export(Path(folder) / "model.onnx", Export(model))
        yield piste.load(folder)


@backend
def function() -> Iterator[Classifier]:
    """function of texts

    One that is not made for threads: it keeps its input where another call would find it.
    """
    kept: dict[str, list[str]] = {}

    def lengths(texts: list[str]) -> list[float]:
        kept["texts"] = texts
        scores = np.zeros(len(texts))
        for index, text in enumerate(kept["texts"]):
            scores[index % len(scores)] = len(text)
        return list(scores[: len(kept["texts"])])

    yield piste.from_function(lengths)


@backend
def ids_function() -> Iterator[Classifier]:
    """function of token ids"""
    from tests.conftest import wordpiece_tokenizer

    yield piste.from_function(
        lambda ids: np.stack([ids.sum(axis=1), ids.max(axis=1)], axis=1),
        tokenizer=wordpiece_tokenizer(),
    )


@backend
def language_model() -> Iterator[Classifier]:
    """language model with a prompt"""
    from tests.conftest import byte_level_tokenizer
    from tests.models.test_language_model import LABELS, PROMPT, tiny_causal

    tokenizer = byte_level_tokenizer()
    tokenizer.model_max_length = 10**6
    yield piste.from_llm(tiny_causal(len(tokenizer)).train(), LABELS, PROMPT, tokenizer)


@backend
def endpoint() -> Iterator[Classifier]:
    """endpoint"""
    from tests.endpoint import Server

    server = Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield piste.from_endpoint(
                server.url,
                ("positive", "negative"),
                "Is this positive or negative?\n{text}\nAnswer:",
                model="test",
                cache=Path(folder) / "answers.sqlite",
            )
        finally:
            server.shutdown()
            server.server_close()


@backend
def scikit_learn() -> Iterator[Classifier]:
    """scikit-learn pipeline"""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from piste.models.loading import as_classifier
    from tests.conftest import CORPUS

    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    yield as_classifier(pipeline.fit(CORPUS, [1, 0, 1, 0] * 5))
