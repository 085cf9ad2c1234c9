"""What belongs to the user's process is as it was, after work and after errors."""

import copy
import csv
import locale
import logging
import os
import pickle
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
import torch
import transformers

import piste
from piste.errors import PisteError
from tests.conftest import tiny_bert, tiny_gpt2

TEXT = "the film was good, the acting superb and the plot not bad"


def process_state() -> dict[str, Any]:
    """Everything that a library could change behind its user's back."""
    loggers = ("", "transformers", "huggingface_hub", "torch.jit", "matplotlib", "openvino", "nncf")
    return {
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "torch random": torch.random.get_rng_state().tolist(),
        "numpy random": [str(part) for part in np.random.get_state()],  # noqa: NPY002
        "python random": random.getstate(),
        "grad mode": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "default dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "numpy errors": np.geterr(),
        "numpy printing": str(np.get_printoptions()),
        "pictures": dict(matplotlib.rcParams),
        "backend": matplotlib.get_backend(auto_select=False),
        "warnings": (list(warnings.filters), warnings.showwarning),
        "logging": [
            (name, log.level, log.disabled, log.propagate, len(log.handlers))
            for name in loggers
            for log in [logging.getLogger(name)]
        ],
        "verbosity": transformers.utils.logging.get_verbosity(),
        "bars": transformers.utils.logging.is_progress_bar_enabled(),
        "recursion": sys.getrecursionlimit(),
        "hooks": (sys.excepthook, sys.stdout, sys.stderr, threading.excepthook),
        "locale": locale.setlocale(locale.LC_ALL),
        "signals": [signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)],
        "cells": csv.field_size_limit(),
        "environment": {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"},
        "folder": os.getcwd(),
    }


def model_state(model: Any) -> dict[str, Any]:
    return {
        "training": [module.training for module in model.modules()],
        "flags": [weight.requires_grad for weight in model.parameters()],
        "gradients": [weight.grad is None for weight in model.parameters()],
        "device": {str(weight.device) for weight in model.parameters()},
        "dtype": {weight.dtype for weight in model.parameters()},
        "weights": {name: value.clone() for name, value in model.state_dict().items()},
        "config": model.config.to_dict(),
        "attention": model.config._attn_implementation,
        "hooks": [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()],
    }


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name, value in one.items():
        if name == "weights":
            assert all(torch.equal(v, other[name][k]) for k, v in value.items())
        else:
            assert value == other[name], name


@pytest.fixture
def models(wordpiece, byte_level):
    """Two kinds of model in an uneven state: in training, partly frozen."""
    bert, gpt2 = tiny_bert(len(wordpiece)).train(), tiny_gpt2(len(byte_level)).train()
    bert.bert.encoder.eval()
    for weight in bert.bert.embeddings.parameters():
        weight.requires_grad_(False)
    gpt2.config.pad_token_id = 0
    return [(bert, wordpiece), (gpt2, byte_level)]


@pytest.fixture(autouse=True)
def _warm() -> None:
    """What libraries do once, on their import, is not what is asked here."""
    first = piste.explain("good film", piste.from_function(lambda texts: [1.0] * len(texts)))
    first.plot()
    first.to_html()
    piste.load(backend="openvino")
    import datasets  # noqa: F401
    import pyarrow.parquet  # noqa: F401


WORK: dict[str, Callable[..., object]] = {
    "explain": lambda asked: piste.explain(TEXT, asked),
    "each method": lambda asked: [piste.explain(TEXT, asked, name) for name in piste.METHODS],
    "compare": lambda asked: piste.compare(TEXT, asked, measure=True).to_html(),
    "pictures": lambda asked: [str(piste.explain(TEXT, asked).plot()), str(asked)],
}


@pytest.mark.parametrize("what", WORK)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("backend", ["torch", "auto"])
def test_work_leaves_no_trace(what: str, which: int, backend: str, models) -> None:
    model, tokenizer = models[which]
    before, inside = process_state(), model_state(model)
    told = copy.deepcopy(tokenizer.init_kwargs)
    try:
        WORK[what](piste.load(model, tokenizer, backend=backend))
    except PisteError:
        assert what == "each method"  # a decoder has no padding to replace by
    same(before, process_state())
    same(inside, model_state(model))
    assert tokenizer.init_kwargs == told


def test_loading_from_disk_leaves_no_trace(tmp_path) -> None:
    before = process_state()
    piste.load()
    piste.load(backend="torch")
    same(before, process_state())


def test_evaluating_leaves_no_trace(models, tmp_path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("text\nthe film was good\nthe plot was bad\n")
    model, tokenizer = models[0]
    asked = piste.load(model, tokenizer, backend="torch")
    before, inside = process_state(), model_state(model)
    metrics = ["deletion", "randomisation"]
    piste.evaluate(path, asked, ["slalom", "gradients"], metrics, out=tmp_path / "out")
    same(before, process_state())
    same(inside, model_state(model))


def test_an_error_leaves_no_trace(models, monkeypatch) -> None:
    model, tokenizer = models[0]
    asked = piste.load(model, tokenizer, backend="torch")
    before, inside = process_state(), model_state(model)
    for raised in (ValueError("no"), KeyboardInterrupt(), MemoryError(), RuntimeError("no")):

        def fail(*_: object, raised: BaseException = raised, **__: object) -> None:
            raise raised

        with monkeypatch.context() as patch:
            patch.setattr(model, "forward", fail)
            for method in ("slalom", "gradients", "attention"):
                with pytest.raises((PisteError, KeyboardInterrupt, RuntimeError)):
                    piste.explain(TEXT, asked, method)
    same(before, process_state())
    same(inside, model_state(model))


def test_the_callers_grad_mode_is_kept(models) -> None:
    model, tokenizer = models[0]
    asked = piste.load(model, tokenizer, backend="torch")
    plain = piste.explain(TEXT, asked, "gradients").to_dict()
    for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with mode():
            before = process_state()
            again = piste.explain(TEXT, asked, "gradients").to_dict()
            same(before, process_state())
        assert again["scores"] == plain["scores"]


def test_a_model_can_be_pickled_after_its_attention_was_asked(models) -> None:
    model, tokenizer = models[0]
    asked = piste.load(model, tokenizer, backend="torch")
    first = piste.explain(TEXT, asked, "attention").to_dict()["scores"]
    pickle.dumps(model)
    assert piste.explain(TEXT, asked, "attention").to_dict()["scores"] == first


def test_the_comparison_sees_a_trace() -> None:
    before = process_state()
    torch.rand(1)
    with pytest.raises(AssertionError, match="torch random"):
        same(before, process_state())
