"""OpenVINO on a CPU behind the same protocol: the torch model converted once, checked, cached."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from piste.errors import ModelError, few
from piste.explanation import FloatArray
from piste.files import cache_directory
from piste.models.huggingface import HuggingFaceClassifier, unpadded
from piste.models.pretrained import evaluating
from piste.models.protocol import Outputs
from piste.models.tokens import ANY_TYPE, plain, quiet, types_of
from piste.ragged import IntArray
from piste.text.cutting import truncated
from piste.text.encoding import TYPE, Encoding

log = logging.getLogger(__name__)

SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
LARGEST_DIFFERENCE = 1e-3  # of a logit, against torch
PROBE = "A short text, and then some more words, to see that both say the same. "


class CannotCompile(Exception):
    """Why the model stays in torch."""


@dataclass(frozen=True, repr=False)
class CompiledClassifier:
    """A Hugging Face classifier whose forward pass runs in OpenVINO."""

    origin: HuggingFaceClassifier
    request: Any  # openvino.CompiledModel
    difference: float  # largest seen between its logits and torch's
    stamp: int  # of the weights that were compiled

    def __repr__(self) -> str:
        return f"<{few((self.name,))}: {few(self.labels, 8)}; {self.backend}>"

    @property
    def name(self) -> str:
        return self.origin.name

    @property
    def labels(self) -> tuple[str, ...]:
        return self.origin.labels

    @property
    def outputs(self) -> Outputs:
        return self.origin.outputs

    @property
    def backend(self) -> str:
        return f"openvino {version('openvino')}, logits within {self.difference:.0e} of torch"

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        return self.origin.encode(text, pair)

    def logits(self, ids: IntArray) -> FloatArray:
        stale = _stamp(self.origin.model) != self.stamp  # trained on since
        if stale or (len(self.request.inputs) < 3 and types_of(ids) is not None):
            return self.origin.logits(ids)
        return _infer(self.request, ids)

    def show(self, ids: IntArray) -> str:
        return self.origin.show(ids)

    # What OpenVINO does not give is asked of the torch model that it was made from.
    def token_id(self, name: str) -> int | None:
        return self.origin.token_id(name)

    def embed(self, ids: IntArray) -> FloatArray:
        return self.origin.embed(ids)

    def gradients(
        self, embeddings: FloatArray, index: int, types: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        return self.origin.gradients(embeddings, index, types)

    def attentions(self, ids: IntArray) -> tuple[FloatArray, int]:
        return self.origin.attentions(ids)


def available() -> bool:
    return find_spec("openvino") is not None


def devices() -> list[str]:
    """What OpenVINO could compute on here; piste uses its CPU."""
    import openvino

    return [str(name) for name in openvino.Core().available_devices]


def compile_classifier(classifier: HuggingFaceClassifier) -> CompiledClassifier:
    """The compiled twin. Raises `CannotCompile` with the reason when there is none."""
    if not available():
        raise ModelError("OpenVINO is not installed.", "Install it: pip install 'piste[fast]'.")
    if classifier.model.device.type != "cpu":
        raise CannotCompile(f"the model is on {classifier.model.device}, not on the CPU")
    try:
        request = _compiled(classifier)
        difference = _difference(classifier, request)
    except Exception as error:  # a converter may fail in any way; torch still works
        raise CannotCompile(f"it does not convert ({str(error).strip()[:200]})") from error
    if not difference <= LARGEST_DIFFERENCE:
        raise CannotCompile(f"its logits differ from torch's by {difference:.1e}")
    return CompiledClassifier(classifier, request, difference, _stamp(classifier.model))


def _compiled(classifier: HuggingFaceClassifier) -> Any:
    inputs = 3 if 1 < classifier.reader.types < ANY_TYPE else 2
    folder = cache_directory() / "openvino" / f"{_key(classifier.model)}-{inputs}"
    core = new_core()
    with _calm():
        graph = _cached(core, folder) or _convert(classifier.model, inputs, folder)
    return core.compile_model(graph, "CPU", SETTINGS | _threads())


def _threads() -> dict[str, str]:
    """As many threads as a worker of a run may use; all, where nobody says."""
    given = os.environ.get("PISTE_THREADS")
    return {} if given is None else {"INFERENCE_NUM_THREADS": given}


def new_core() -> Any:
    """OpenVINO, with a place for what it compiles."""
    import openvino

    core, folder = openvino.Core(), cache_directory() / "openvino"
    with contextlib.suppress(OSError):  # without a place to cache, every load compiles anew
        folder.mkdir(parents=True, exist_ok=True)
        core.set_property({"CACHE_DIR": str(folder / "kernels")})
    return core


def _key(model: Any) -> str:
    """Changes with the weights, the architecture and the versions that convert them."""
    digest = hashlib.blake2b(digest_size=16)
    for package in ("openvino", "torch", "transformers"):
        digest.update(f"{package} {version(package)}\n".encode())
    digest.update(model.config.to_json_string(use_diff=False).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _stamp(model: Any) -> int:
    """Changes when a weight is written to or replaced: torch counts the writes."""
    return hash(tuple((weight._version, weight.data_ptr()) for weight in model.parameters()))


def _cached(core: Any, folder: Path) -> Any | None:
    """The converted model of an earlier load; None where there is none that can be read."""
    path = folder / "model.xml"
    if not path.exists():
        return None
    try:
        return core.read_model(path)
    except RuntimeError:
        shutil.rmtree(folder, ignore_errors=True)  # damaged: convert it anew
        return None


def _convert(model: Any, inputs: int, folder: Path) -> Any:
    import openvino

    log.info("Converting the model for OpenVINO, once: the result is kept in %s.", folder.parent)
    examples = (torch.ones((2, 5), dtype=torch.int64),) * inputs
    with torch.no_grad(), evaluating(model), unpadded(model):
        graph = openvino.convert_model(_Logits(model), example_input=examples)
    dynamic = openvino.PartialShape([-1, -1])
    graph.reshape(dict.fromkeys(graph.inputs, dynamic))
    _keep(graph, folder)
    return graph


def _keep(graph: Any, folder: Path) -> None:
    """Write beside, then rename: another process never sees half a model."""
    import openvino

    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        openvino.save_model(graph, Path(beside) / "model.xml", compress_to_fp16=False)
        os.rename(beside, folder)
        os.mkdir(beside)  # for the temporary directory to remove


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


def _infer(request: Any, ids: IntArray) -> FloatArray:
    ids = np.ascontiguousarray(ids)
    given = [plain(ids), np.ones_like(ids), ids // TYPE][: len(request.inputs)]
    return np.asarray(request(given)[0], dtype=np.float64)


def _difference(classifier: HuggingFaceClassifier, request: Any) -> float:
    """The largest difference of a logit on pieces of a text, from one token to the limit."""
    encoded = truncated(classifier.encode(PROBE * 40))
    largest = 0.0
    for length in (1, 2, 3, 5, 17, 64, len(encoded.ids)):
        body = encoded.ids[:length]
        frame = encoded.frame
        rows = [[*frame.prefix, *order, *frame.suffix] for order in (body, body[::-1])]
        ids = np.array(rows, dtype=np.int64)
        if len(request.inputs) > 2:
            ids[1] += TYPE  # as if it were a second text
        gap = np.abs(_infer(request, ids) - classifier.logits(ids)).max()
        largest = max(largest, float(gap)) if np.isfinite(gap) else float("inf")
    return largest


@contextlib.contextmanager
def _calm() -> Iterator[None]:
    """Tracing warns about every branch it takes; nobody can act on that."""
    tracer = logging.getLogger("torch.jit")
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, tracer.disabled = tracer.disabled, True
        try:
            yield
        finally:
            tracer.disabled = before
