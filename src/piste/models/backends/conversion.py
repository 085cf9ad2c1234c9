"""A torch model as a graph of OpenVINO's. The one part of compiling that needs torch itself."""

from __future__ import annotations

import contextlib
import inspect
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from piste.models.backends import openvino_runtime
from piste.models.backends.huggingface import unpadded
from piste.models.backends.pretrained import evaluating, quiet


def convert(model: Any, inputs: int) -> Any:
    """The graph: ids, mask and, of three inputs, token types in; logits out."""
    openvino = openvino_runtime.library()
    examples = (torch.ones((2, 5), dtype=torch.int64),) * inputs
    with _calm(), torch.no_grad(), evaluating(model), unpadded(model):
        graph = openvino.convert_model(_Logits(model), example_input=examples)
    dynamic = openvino.PartialShape([-1, -1])
    graph.reshape(dict.fromkeys(graph.inputs, dynamic))
    return graph


class _Logits(torch.nn.Module):
    """What is traced: ids, mask and types, where the model knows several, in; logits out."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        # A decoder's cache of keys is an object that no converter understands.
        takes_cache = "use_cache" in inspect.signature(model.forward).parameters
        self.settings = {"use_cache": False} if takes_cache else {}

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> Any:
        given = {"input_ids": input_ids, "attention_mask": attention_mask}
        if token_type_ids is not None:
            given["token_type_ids"] = token_type_ids
        return self.model(**given, **self.settings).logits


@contextlib.contextmanager
def _calm() -> Iterator[None]:
    """Tracing warns about every branch it takes; nobody can act on that."""
    tracer = logging.getLogger("torch.jit")
    with quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, tracer.disabled = tracer.disabled, True
        try:
            yield
        finally:
            tracer.disabled = before
