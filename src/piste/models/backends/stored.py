"""Compiled classifiers that start without torch: what an earlier load has left, or piste ships."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.errors import ModelError
from piste.models import fingerprint
from piste.models.backends import compiled, facts, graph_cache, openvino_runtime, speed
from piste.models.backends.compiled import LARGEST_DIFFERENCE, CompiledClassifier, Copy
from piste.models.backends.facts import Facts
from piste.models.backends.openvino_runtime import Network
from piste.models.backends.reading import Reader
from piste.models.backends.tokenizer_file import TokenizerFile
from piste.models.loading_errors import first_line
from piste.models.model_files import files_digest, has_weights, local_folder
from piste.models.protocol import Outputs
from piste.text.encoding import Encoding, truncated

if TYPE_CHECKING:
    from piste.models.backends.huggingface import HuggingFaceClassifier

log = logging.getLogger(__name__)

SHIPPED = "openvino"  # the folder of the embedded model's graph and facts
PROBES = (1, 17)  # tokens of the sequences that tell whether a graph still answers as torch did


@dataclass(repr=False, eq=False)
class LazyOrigin:
    """The torch classifier that a compiled one was made from, loaded when something needs it.

    Until then its facts answer: labels, limits, the tokenizer, the fingerprint.
    """

    name: str
    folder: Path
    files: str  # digest of the files that the facts are about
    facts: Facts
    reader: Reader
    owned: bool = True  # piste reads it from files: nobody else changes its weights
    lock: Any = field(default_factory=threading.RLock)
    loaded: HuggingFaceClassifier | None = None

    @property
    def torch(self) -> HuggingFaceClassifier:
        """The classifier itself. Other threads wait while it loads."""
        with self.lock:
            if self.loaded is None:
                self.loaded = self._load()
            return self.loaded

    def _load(self) -> HuggingFaceClassifier:
        from piste.models.backends.huggingface import load_huggingface

        if files_digest(self.folder) != self.files:
            raise ModelError(
                f"The files of {self.name!r} were changed after it was loaded.",
                "Load it again with piste.load().",
            )
        log.info("Loading %s in torch.", self.name)
        return dataclasses.replace(load_huggingface(self.folder), name=self.name)

    @property
    def model(self) -> Any:
        return self.torch.model

    @property
    def tokenizer(self) -> Any:
        return self.torch.tokenizer

    @property
    def backend(self) -> str:
        return self.torch.backend

    @property
    def labels(self) -> tuple[str, ...]:
        return self.facts.labels

    @property
    def outputs(self) -> Outputs:
        return self.facts.outputs

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        return self.reader.encode(text, pair)

    def token_id(self, name: str) -> int | None:
        return self.reader.token_id(name)

    def show(self, ids: IntArray) -> str:
        return self.reader.show(ids)

    def logits(self, ids: IntArray) -> FloatArray:
        return self.torch.logits(ids)

    def embed(self, ids: IntArray) -> FloatArray:
        return self.torch.embed(ids)

    def gradients(
        self,
        embeddings: FloatArray,
        index: int,
        types: IntArray | None = None,
        against: int | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        return self.torch.gradients(embeddings, index, types, against)

    def attentions(self, ids: IntArray) -> tuple[FloatArray, int]:
        return self.torch.attentions(ids)


@dataclass(frozen=True)
class Files:
    """The files of a model before it is loaded."""

    model: str
    folder: Path
    digest: str


def find(model: str) -> Files | None:
    """The model's files on this machine; None where they are not all here."""
    folder = local_folder(model)
    try:
        digest = None if folder is None else files_digest(folder)
    except OSError:  # a file that may not be read: torch says which
        return None
    return None if folder is None or digest is None else Files(model, folder, digest)


def start(files: Files, *, choose: bool) -> CompiledClassifier | None:
    """The compiled classifier of these files, without torch; None where torch has to load them.

    choose: leave it to torch where that is clearly faster here, or where nobody has measured it.
    The graph that piste ships is taken unmeasured.
    """
    for opened in (_shipped, _cached):
        try:
            found = opened(files)
            if found is None:
                continue
            if choose and found.place is not None and not found.is_fast:
                return None
            copy = _checked(Network(found.graph), found.facts.graph)
        except (OSError, RuntimeError, KeyError) as error:  # such as a graph of another version
            log.info("The compiled %s does not serve: %s.", files.model, first_line(error))
            continue
        if copy is not None:
            reader = found.facts.reader(found.tokenizer)
            origin = LazyOrigin(files.model, files.folder, files.digest, found.facts, reader)
            return CompiledClassifier(origin, copy, choice=found.choice if choose else "")
    return None


def keep(model: str, before: Files | None, classifier: CompiledClassifier) -> None:
    """Leave what the next `start` needs of a classifier that was loaded in full.

    before: the files as they were before that, where they were here.
    """
    copy = classifier.copy
    place = None if copy is None else compiled.cache_folder(classifier.origin, copy.digest)
    if place is None or not (place / graph_cache.GRAPH).exists():
        return
    try:
        files = find(model)
        if files is None or before not in (None, files) or not has_weights(files.folder):
            return  # replaced while it was loaded, or read from elsewhere
        found = described(classifier, {"key": place.name})
        if found is not None:
            facts.keep(files.digest, *found)
    except Exception as error:  # an odd tokenizer may fail in any way; the model works without
        log.info("Nothing is kept of %s: %s.", model, first_line(error))


def described(
    classifier: CompiledClassifier, graph: Mapping[str, Any]
) -> tuple[Facts, TokenizerFile] | None:
    """The facts of a classifier that was loaded in full, and what stands in for its tokenizer."""
    origin, copy = classifier.origin, classifier.copy
    if copy is None:
        return None
    reader = origin.reader
    probes = [[ids.tolist(), origin.logits(ids).tolist()] for ids in _probes(origin)]
    known = Facts(
        labels=origin.labels,
        outputs=origin.outputs,
        limit=reader.limit,
        vocabulary=reader.vocabulary,
        types=reader.types,
        notice=reader.notice,
        fingerprint=fingerprint.digests(classifier),
        graph={
            **graph,
            "digest": copy.digest,
            "difference": copy.difference,
            "limit": copy.limit,
            "probes": probes,
        },
    )
    return facts.complete(known, reader)


def _probes(origin: Any) -> list[IntArray]:
    """Sequences of a few lengths, two rows each."""
    encoded = truncated(origin.encode(compiled.PROBE * 2))
    frame, bodies = encoded.frame, [encoded.ids[:length] for length in PROBES]
    return [
        np.array([[*frame.prefix, *order, *frame.suffix] for order in (body, body[::-1])])
        for body in bodies
    ]


def _checked(network: Network, known: Mapping[str, Any]) -> Copy | None:
    """The graph, where it answers here as the torch model did when it was compiled."""
    exact = Copy(network, known["digest"], float(known["difference"]))
    copy = dataclasses.replace(exact, limit=int(known["limit"]))
    gap = _gap(exact, known["probes"])
    padded = _gap(copy, known["probes"]) if copy.limit else gap
    if not all(one <= LARGEST_DIFFERENCE for one in (gap, padded)):
        log.warning("The compiled model does not answer as torch did: compiling it again.")
        return None
    return dataclasses.replace(copy, difference=max(copy.difference, gap))


def _gap(copy: Copy, probes: list[Any]) -> float:
    """The largest difference of a logit from torch's; NaN where the graph answers so."""
    answers = ((copy.logits(np.array(ids, dtype=np.int64)), told) for ids, told in probes)
    return float(np.max([np.abs(found - told).max() for found, told in answers]))


@dataclass(frozen=True)
class Found:
    """A graph on disk, and what is known of its model."""

    facts: Facts
    tokenizer: TokenizerFile
    graph: Any
    place: Path | None = None  # in the user's cache

    @cached_property
    def measured(self) -> speed.Speed | None:
        return None if self.place is None else speed.read(self.place)

    @property
    def is_fast(self) -> bool:
        return self.measured is not None and not self.measured.prefers_torch

    @property
    def choice(self) -> str:
        return "" if self.measured is None else self.measured.reason


def _cached(files: Files) -> Found | None:
    """What an earlier load has left in the user's cache."""
    found = facts.cached(files.digest)
    place = None if found is None else graph_cache.folder_for(found[0].graph["key"])
    graph = None if place is None else graph_cache.read(place)
    return None if found is None or graph is None else Found(*found, graph, place)


def _shipped(files: Files) -> Found | None:
    """The embedded model's, which comes with piste: its weights are those of the torch model."""
    if files.model != "demo":
        return None
    folder = files.folder / SHIPPED
    found = facts.read(folder, files.folder / facts.RULES)
    if found is None or found[0].graph["files"] != files.digest:
        return None
    weights = (folder / graph_cache.WEIGHTS).read_bytes()
    weights += (files.folder / "model.safetensors").read_bytes()
    openvino = openvino_runtime.library()
    graph = (folder / graph_cache.GRAPH).read_text(encoding="utf-8")
    shared = openvino.Tensor(np.frombuffer(weights, dtype=np.uint8))
    return Found(*found, openvino.Core().read_model(graph, shared))
