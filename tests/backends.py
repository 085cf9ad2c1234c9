"""One small classifier of every kind that piste can ask, for contracts that hold for all of them.

Each builder is a context manager: what it starts, it ends.
"""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import piste
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from tests.conftest import (
    CORPUS,
    byte_level_tokenizer,
    tiny_bert,
    tiny_gpt2,
    wordpiece_tokenizer,
)
from tests.endpoint import Server
from tests.models.test_language_model import LABELS, PROMPT, tiny_causal
from tests.models.test_onnx import Export, export


@contextlib.contextmanager
def torch_encoder() -> Iterator[Classifier]:
    """In training mode: dropout would change every answer."""
    tokenizer = wordpiece_tokenizer()
    yield piste.load(tiny_bert(len(tokenizer)).train(), tokenizer, backend="torch")


@contextlib.contextmanager
def torch_decoder() -> Iterator[Classifier]:
    """With a padding token that occurs in texts."""
    tokenizer = byte_level_tokenizer()
    model = tiny_gpt2(len(tokenizer))
    model.config.pad_token_id = int(tokenizer("a")["input_ids"][0])
    yield piste.load(model.train(), tokenizer, backend="torch")


@contextlib.contextmanager
def compiled() -> Iterator[Classifier]:
    tokenizer = wordpiece_tokenizer()
    yield piste.load(tiny_bert(len(tokenizer)), tokenizer, backend="openvino")


@contextlib.contextmanager
def onnx() -> Iterator[Classifier]:
    tokenizer = wordpiece_tokenizer()
    model = tiny_bert(len(tokenizer))
    with tempfile.TemporaryDirectory() as folder:
        model.config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        export(Path(folder) / "model.onnx", Export(model))
        yield piste.load(folder)


@contextlib.contextmanager
def function() -> Iterator[Classifier]:
    """One that is not made for threads: it keeps its input where another call would find it."""
    kept: dict[str, list[str]] = {}

    def lengths(texts: list[str]) -> list[float]:
        kept["texts"] = texts
        scores = np.zeros(len(texts))
        for index, text in enumerate(kept["texts"]):
            scores[index % len(scores)] = len(text)
        return list(scores[: len(kept["texts"])])

    yield piste.from_function(lengths)


@contextlib.contextmanager
def ids_function() -> Iterator[Classifier]:
    yield piste.from_function(
        lambda ids: np.stack([ids.sum(axis=1), ids.max(axis=1)], axis=1),
        tokenizer=wordpiece_tokenizer(),
    )


@contextlib.contextmanager
def language_model() -> Iterator[Classifier]:
    tokenizer = byte_level_tokenizer()
    tokenizer.model_max_length = 10**6
    yield piste.from_llm(tiny_causal(len(tokenizer)).train(), LABELS, PROMPT, tokenizer)


@contextlib.contextmanager
def endpoint() -> Iterator[Classifier]:
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


@contextlib.contextmanager
def scikit_learn() -> Iterator[Classifier]:
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    yield as_classifier(pipeline.fit(CORPUS, [1, 0, 1, 0] * 5))


BACKENDS: dict[str, Callable[[], AbstractContextManager[Classifier]]] = {
    builder.__name__: builder
    for builder in (
        torch_encoder,
        torch_decoder,
        compiled,
        onnx,
        function,
        ids_function,
        language_model,
        endpoint,
        scikit_learn,
    )
}
