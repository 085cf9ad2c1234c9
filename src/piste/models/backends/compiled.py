"""OpenVINO on a CPU behind the same protocol: the torch model converted once, checked, cached."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.errors import ModelError, several
from piste.models.backends import graph_cache, openvino_runtime, shapes, speed
from piste.models.backends.openvino_runtime import Network
from piste.models.backends.reading import ANY_TYPE, plain, types_of
from piste.models.fingerprint import content_digest, weights_digest
from piste.models.loading_errors import is_out_of_memory
from piste.models.protocol import Outputs, described
from piste.text.encoding import TYPE, Encoding, truncated

if TYPE_CHECKING:
    from piste.models.backends.huggingface import HuggingFaceClassifier
    from piste.models.backends.stored import LazyOrigin

log = logging.getLogger(__name__)

LARGEST_DIFFERENCE = 1e-3  # of a logit, against torch
RECOMPILATIONS = 3  # of a model that keeps changing, before it stays in torch
PROBE = "A short text, and then some more words, to see that both say the same. "


class CannotCompile(Exception):
    """Why the model stays in torch."""


@dataclass(frozen=True)
class Copy:
    """A compiled copy of a torch model as it was."""

    network: Network
    digest: str  # of the weights that were compiled
    difference: float  # largest seen between its logits and torch's
    precision: str = openvino_runtime.EXACT
    limit: int = 0  # tokens of the longest sequence, where padding changes nothing; else 0

    def logits(self, ids: IntArray) -> FloatArray:
        if not self.limit:
            return _infer(self.network, ids)
        return shapes.answers(partial(_infer, self.network), ids, self.limit)


@dataclass(repr=False)
class CompiledClassifier:
    """A Hugging Face classifier whose forward pass runs in OpenVINO.

    Where the compiled copy does not answer as the torch model does, torch answers.
    """

    origin: HuggingFaceClassifier | LazyOrigin
    copy: Copy | None  # None: torch answers from now on
    recompilations: int = 0
    trouble: str = ""  # what made torch answer
    choice: str = ""  # why the backend that answers was chosen, where piste chose
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __repr__(self) -> str:
        return described(self)

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
        copy, chosen = self.copy, f", {self.choice}" if self.choice else ""
        if copy is None:
            return self.origin.backend + chosen
        name = openvino_runtime.name(copy.precision)
        return f"{name}, logits within {copy.difference:.0e} of torch{chosen}"

    @property
    def precision(self) -> str:
        """What it computes in, where that is less than the weights have; else ""."""
        copy = self.copy
        return "" if copy is None or copy.precision == openvino_runtime.EXACT else copy.precision

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        return self.origin.encode(text, pair)

    def logits(self, ids: IntArray) -> FloatArray:
        copy = self.copy
        if copy is None or (len(copy.network.inputs) < 3 and types_of(ids) is not None):
            return self.origin.logits(ids)
        try:
            return copy.logits(ids)
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            said, (rows, tokens) = openvino_runtime.reason(error), ids.shape
            self._stay_in_torch(
                f"compiled, it fails on {several(rows, 'sequence')} of {several(tokens, 'token')}"
                f" ({said})"
            )
            return self.origin.logits(ids)

    def verify(self, ids: IntArray | None) -> str:
        """Compare the compiled answer to one sequence [1, tokens] with torch's; None: the weights
        with those that were compiled, for who asks about many texts.

        Returns a note where the model has changed since it was compiled; it is then compiled anew.
        Training, hooks and writes to the weights cannot be noticed otherwise. A model that piste
        read from files is nobody else's to change, and is not compared.
        """
        with self.lock:
            if self.copy is None or self.origin.owned or self._is_current(self.copy, ids):
                return ""
            self._recompile(ids)
            if self.copy is None:
                return ""  # `notes` tells why
        return (
            "The model was changed after it was loaded, so it was compiled again."
            ' While you are training it, load it with backend="torch".'
        )

    def notes(self, may_ask: bool = True, whole: FloatArray | None = None) -> tuple[str, ...]:
        return (self.trouble,) if self.trouble else ()

    def _is_current(self, copy: Copy, ids: IntArray | None) -> bool:
        if ids is None:
            return _digest(self.origin.model) == copy.digest
        return self._agrees(copy, ids)

    def _agrees(self, copy: Copy, ids: IntArray) -> bool:
        expected = self.origin.logits(ids)
        gap = float(np.abs(self.logits(ids) - expected).max())
        if copy.precision != openvino_runtime.EXACT:  # too coarse to see a small change
            return gap <= 4 * copy.difference and _digest(self.origin.model) == copy.digest
        rounding = 4 * copy.difference + shapes.rounding(expected)
        if gap <= rounding:
            return True
        return gap <= LARGEST_DIFFERENCE and _digest(self.origin.model) == copy.digest

    def _recompile(self, ids: IntArray | None) -> None:
        if self.recompilations == RECOMPILATIONS:
            self._stay_in_torch("it changed again and again after it was loaded")
            return
        self.recompilations += 1
        try:
            precision = openvino_runtime.EXACT if self.copy is None else self.copy.precision
            self.copy = _checked_copy(self.origin, precision)
            if not self._is_current(self.copy, ids):
                self._stay_in_torch("compiled, it answers this text differently")
        except CannotCompile as error:
            self._stay_in_torch(str(error))

    def _stay_in_torch(self, reason: str) -> None:
        with self.lock:
            self.copy, self.trouble, self.choice = None, torch_notice(reason), ""
        log.warning(self.trouble)

    def show(self, ids: IntArray) -> str:
        return self.origin.show(ids)

    # What OpenVINO does not give is asked of the torch model that it was made from.
    def token_id(self, name: str) -> int | None:
        return self.origin.token_id(name)

    def embed(self, ids: IntArray) -> FloatArray:
        return self.origin.embed(ids)

    def gradients(
        self,
        embeddings: FloatArray,
        index: int,
        types: IntArray | None = None,
        against: int | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        return self.origin.gradients(embeddings, index, types, against)

    def attentions(self, ids: IntArray) -> tuple[FloatArray, int]:
        return self.origin.attentions(ids)


def torch_notice(reason: object) -> str:
    """The note on a model that could not be compiled, or no longer runs compiled."""
    return f"The model runs in torch, not compiled: {reason}."


def compile_classifier(
    classifier: HuggingFaceClassifier,
    *,
    choose: bool = False,
    precision: str = openvino_runtime.EXACT,
) -> CompiledClassifier:
    """The classifier with a compiled copy. Raises `CannotCompile` with the reason for none.

    choose: leave the copy out where torch is clearly faster on this machine.
    """
    if not openvino_runtime.available():
        raise ModelError("OpenVINO is not installed.", "Install it: pip install 'piste[fast]'.")
    if classifier.model.device.type != "cpu":
        raise CannotCompile(f"the model is on {classifier.model.device}, not on the CPU")
    openvino_runtime.check_precision(precision)
    copy = _checked_copy(classifier, precision)
    if not choose:
        return CompiledClassifier(classifier, copy)
    measured = _speed(classifier, copy)
    faster = None if measured.prefers_torch else copy
    return CompiledClassifier(classifier, faster, choice=measured.reason)


def _speed(classifier: HuggingFaceClassifier, copy: Copy) -> speed.Speed:
    """How fast both are here: as it was measured before, or measured now."""
    folder = cache_folder(classifier, copy.digest)
    before = None if folder is None else speed.read(folder)
    if before is not None:
        return before
    encoded = truncated(classifier.encode(PROBE * 12))
    asked = speed.batches(encoded.ids, encoded.frame)
    measured = speed.measure(classifier.logits, copy.logits, asked, classifier.name)
    if folder is not None:
        speed.keep(measured, folder)
    return measured


def _checked_copy(classifier: HuggingFaceClassifier | LazyOrigin, precision: str) -> Copy:
    """The model compiled as it is now, where its answers are torch's."""
    try:
        digest = _digest(classifier.model)
        folder = cache_folder(classifier, digest)
        network, difference = _compiled(classifier, folder)
        if folder is not None and not difference <= LARGEST_DIFFERENCE:
            graph_cache.remove(folder)  # of another model after all: convert it anew
            network, difference = _compiled(classifier, None)
        copy = Copy(network, digest, difference)
        if difference <= LARGEST_DIFFERENCE:
            copy = replace(copy, limit=_limit_with_padding(classifier, network))
            if precision != openvino_runtime.EXACT:
                return _coarse_copy(classifier, folder, precision, copy)
    except Exception as error:  # a converter may fail in any way; torch still works
        raise CannotCompile(f"OpenVINO cannot run it ({openvino_runtime.reason(error)})") from error
    if not difference <= LARGEST_DIFFERENCE:
        raise CannotCompile(f"its logits differ from torch's by {difference:.1e}")
    return copy


def _coarse_copy(
    classifier: HuggingFaceClassifier | LazyOrigin, folder: Path | None, precision: str, exact: Copy
) -> Copy:
    """The same graph in a lower precision. It was checked in float32, so only rounding differs."""
    network, difference = _compiled(classifier, folder, precision)
    if not np.isfinite(difference):
        raise RuntimeError(f"its logits in {precision} are not finite")
    return replace(exact, network=network, difference=difference, precision=precision)


def cache_folder(classifier: HuggingFaceClassifier | LazyOrigin, digest: str) -> Path | None:
    """Where the converted model is kept; None for one that its weights do not tell all of.

    Hooks, a patched forward or a class of somebody else's are traced into the graph, and another
    model with the same weights must not be answered by it.
    """
    of_transformers = type(classifier.model).__module__.startswith("transformers.")
    if not (classifier.owned and of_transformers):
        return None
    return graph_cache.folder_for(f"{digest}-{_inputs(classifier)}")


def _inputs(classifier: HuggingFaceClassifier | LazyOrigin) -> int:
    """Ids, mask and, where the model knows several, token types."""
    return 3 if 1 < classifier.reader.types < ANY_TYPE else 2


def _compiled(
    classifier: HuggingFaceClassifier | LazyOrigin,
    folder: Path | None,
    precision: str = openvino_runtime.EXACT,
) -> tuple[Network, float]:
    """The model on OpenVINO, and how far its logits are from torch's."""
    graph = None if folder is None else graph_cache.read(folder)
    if graph is None:
        log.info("Converting the model for OpenVINO.")
        graph = _convert(classifier.model, _inputs(classifier))
        if folder is not None:
            graph_cache.keep(graph, folder)
    network = Network(graph, precision)
    return network, _difference(classifier, network)


def _digest(model: Any) -> str:
    """Changes with the weights, the architecture and the versions that convert them."""
    packages = ("openvino", "torch", "transformers")
    return content_digest([weights_digest(model), *(f"{p} {version(p)}" for p in packages)])


def _convert(model: Any, inputs: int) -> Any:
    from piste.models.backends.conversion import convert  # torch

    return convert(model, inputs)


def _infer(network: Network, ids: IntArray, mask: IntArray | None = None) -> FloatArray:
    """mask [rows, tokens]: 0 where ids are padding; None where none are."""
    ids = np.ascontiguousarray(ids)
    mask = np.ones_like(ids) if mask is None else np.ascontiguousarray(mask)
    return network([plain(ids), mask, ids // TYPE][: len(network.inputs)])


def _limit_with_padding(classifier: HuggingFaceClassifier | LazyOrigin, network: Network) -> int:
    """The longest sequence that the model reads; 0 where masked padding changes its answers."""
    encoded, limit = truncated(classifier.encode(PROBE * 40)), classifier.reader.limit
    cut = (np.array([encoded.ids[:length]], dtype=np.int64) for length in shapes.TRIED)
    sequences = map(encoded.frame.around, cut)
    return limit if shapes.ignores_padding(partial(_infer, network), sequences, limit) else 0


def _difference(classifier: HuggingFaceClassifier | LazyOrigin, network: Network) -> float:
    """The largest difference of a logit on pieces of a text, from one token to the limit.

    In batches of one, two and three: a number of rows may be baked into a graph.
    """
    encoded = truncated(classifier.encode(PROBE * 40))
    frame = encoded.frame
    largest = 0.0
    for length in (1, 2, 3, 5, 17, 64, len(encoded.ids)):
        body = encoded.ids[:length]
        orders = (body, body[::-1], body[1:] + body[:1])
        ids = np.array([[*frame.prefix, *order, *frame.suffix] for order in orders], dtype=np.int64)
        if len(network.inputs) > 2:
            ids[1] += TYPE  # as if it were a second text
        expected = classifier.logits(ids)
        for rows in (1, 2, 3):
            gap = np.abs(_infer(network, ids[:rows]) - expected[:rows]).max()
            largest = max(largest, float(gap)) if np.isfinite(gap) else float("inf")
    return largest
