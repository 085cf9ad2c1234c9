"""Classifiers that were exported to ONNX: a folder with the graph and its tokenizer, no weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.errors import ModelError, OutputError, several
from piste.models import loading_errors
from piste.models.backends import facts, openvino_runtime
from piste.models.backends.facts import Facts
from piste.models.backends.openvino_runtime import Network
from piste.models.backends.reading import Reader, labels_of, outputs_of, plain
from piste.models.fingerprint import (
    configuration_digest,
    content_digest,
    file_digest,
    tokenizer_digest,
)
from piste.models.model_files import files_digest
from piste.models.protocol import Outputs, described
from piste.text.encoding import TYPE, Encoding

NAMES = ("input_ids", "attention_mask", "token_type_ids")
# Where a folder's weights are torch's, they are loaded and an ONNX file beside them is not.
WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin*")
PLACES = ("model.onnx", "onnx/model.onnx")
# Their positions begin behind the padding's.
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer", "xmod")


@dataclass(frozen=True, repr=False)
class OnnxClassifier:
    """An ONNX graph that runs in OpenVINO. It gives answers, no gradients and no attention."""

    network: Network
    facts: Facts
    reader: Reader
    name: str

    def __repr__(self) -> str:
        return described(self)

    @property
    def backend(self) -> str:
        return f"{openvino_runtime.name()}, from ONNX"

    @property
    def labels(self) -> tuple[str, ...]:
        return self.facts.labels

    @property
    def outputs(self) -> Outputs:
        return self.facts.outputs

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        return self.reader.encode(text, pair)

    def logits(self, ids: IntArray) -> FloatArray:
        return _answers(self.network, ids)

    def token_id(self, name: str) -> int | None:
        return self.reader.token_id(name)

    def show(self, ids: IntArray) -> str:
        return self.reader.show(ids)


def onnx_file(folder: Path) -> Path | None:
    """The graph of a folder without torch weights; None where there is none."""
    if any(next(folder.glob(pattern), None) for pattern in WEIGHTS):
        return None
    for place in PLACES:
        if (folder / place).is_file():
            return folder / place
    files = [*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")]
    if len(files) > 1:
        raise ModelError(
            f"{folder} holds {len(files)} ONNX files, but none is called model.onnx.",
            "Rename the right one so, or put it into a folder of its own with the tokenizer.",
        )
    return files[0] if files else None


def load_onnx(file: Path, folder: Path, tokenizer: Any, name: str) -> OnnxClassifier:
    """The classifier behind `piste.load` for a folder that holds an ONNX graph."""
    if not openvino_runtime.available():
        raise ModelError(
            f"{file.name} is an ONNX model, and OpenVINO, which runs it, is not installed.",
            "Install it: pip install 'piste[fast]'.",
        )
    network, weights = _compiled(file), file_digest(file)
    files = files_digest(folder) if tokenizer is None else None
    key = None if files is None else content_digest([files, weights])
    known = None if key is None else facts.cached(key)
    if known is not None:
        return OnnxClassifier(network, known[0], known[0].reader(known[1]), name)
    found, reader = _in_full(folder, tokenizer, network, weights)
    complete = None if key is None else facts.complete(found, reader)
    if key is not None and complete is not None:
        facts.keep(key, *complete)
    return OnnxClassifier(network, found, reader, name)


def _in_full(folder: Path, tokenizer: Any, network: Network, weights: str) -> tuple[Facts, Reader]:
    """What transformers makes of the folder."""
    from piste.models.backends import pretrained

    tokenizer = pretrained.load_tokenizer(folder if tokenizer is None else tokenizer)
    pretrained.check_tokenizer(tokenizer)
    config, notice = _configuration(folder, _width(network))
    types = getattr(config, "type_vocab_size", None) or 2
    found = Facts(
        labels=labels_of(config),
        outputs=outputs_of(config),
        limit=_limit(config, tokenizer),
        vocabulary=getattr(config, "vocab_size", None),
        types=types if "token_type_ids" in _inputs(network) else 0,
        notice=notice,
        fingerprint={
            "weights": weights,
            "configuration": configuration_digest(OnnxClassifier.__name__, config),
            "tokenizer": tokenizer_digest(tokenizer),
        },
    )
    return found, found.reader(tokenizer, pretrained.QuietReader)


def _configuration(folder: Path, width: int) -> tuple[Any, str]:
    """The model's settings, and a notice where nobody has written them down."""
    from transformers import AutoConfig, PretrainedConfig

    from piste.models.backends.pretrained import read

    if not (folder / "config.json").is_file():
        notice = "The model has no config.json: its labels have numbers for names."
        return PretrainedConfig(num_labels=width), notice
    make = partial(AutoConfig.from_pretrained, trust_remote_code=False)
    config = read(loading_errors.CONFIGURATION, str(folder), make)
    labels_of(config)  # refuses names with gaps
    return _agreeing(config, width), ""


def _compiled(file: Path) -> Network:
    """The graph, ready for sequences of any number and length."""
    try:
        graph = openvino_runtime.library().Core().read_model(file)
        _logits_of(graph)
        graph.reshape({port: [-1, -1] for port in graph.inputs if _input_name(port)})
        return Network(graph)
    except RuntimeError as error:
        raise ModelError(
            f"OpenVINO cannot use {file}: {loading_errors.first_line(error)}.",
            "Export it again, as a text classifier with dynamic axes; the file may be damaged.",
        ) from error


def _input_name(port: Any) -> str:
    names = sorted(port.get_names() & set(NAMES))
    if not names:
        raise ModelError(
            f"The ONNX model has an input {port.any_name!r} that piste cannot fill.",
            f"Export a text classifier whose inputs are among {', '.join(NAMES)}.",
        )
    return str(names[0])


def _logits_of(graph: Any) -> Any:
    """The output that holds the logits: by its name, or the only one that is a table."""
    for output in graph.outputs:
        if "logits" in output.get_names():
            return output
    tables = [output for output in graph.outputs if output.get_partial_shape().rank == 2]
    if len(tables) != 1:
        raise ModelError(
            f"The ONNX model has {several(len(tables), 'output')} that could be logits.",
            'Export it with one, or call the right one "logits".',
        )
    return tables[0]


def _answers(network: Network, ids: IntArray) -> FloatArray:
    ids = np.ascontiguousarray(ids)
    known = dict(zip(NAMES, (plain(ids), np.ones_like(ids), ids // TYPE), strict=True))
    given = {
        name: known[name].astype(port.get_element_type().to_dtype())
        for name, port in _inputs(network).items()
    }
    try:
        return network(given, _logits_of(network))
    except RuntimeError as error:
        if loading_errors.is_out_of_memory(error):  # the next batch is smaller
            raise
        raise OutputError(
            f"The ONNX model refuses {ids.shape[0]} sequences of {ids.shape[1]} tokens:"
            f" {loading_errors.first_line(error)}.",
            "Export it with dynamic axes for the batch and the tokens.",
        ) from error


def _inputs(network: Network) -> dict[str, Any]:
    return {_input_name(port): port for port in network.inputs}


def _width(network: Network) -> int:
    """How many outputs a sequence has. It is asked, as not every graph says it."""
    answer = _answers(network, np.zeros((2, 3), dtype=np.int64))
    if answer.ndim != 2 or len(answer) != 2:
        raise ModelError(
            f"The ONNX model answers two sequences with logits of shape {answer.shape}.",
            "Export a text classifier: one row of logits per sequence.",
        )
    return int(answer.shape[1])


def _agreeing(config: Any, width: int) -> Any:
    if width != config.num_labels:
        raise ModelError(
            f"The ONNX model has {several(width, 'output')}, its config.json"
            f" {several(config.num_labels, 'label')}.",
            "They do not belong together: put the right config.json beside the model.",
        )
    return config


def _limit(config: Any, tokenizer: Any) -> int:
    """The longest sequence the model reads, special tokens included."""
    stated = int(tokenizer.model_max_length)
    positions = getattr(config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions <= 0:
        return stated
    behind = config.model_type in OFFSET_POSITIONS
    kept = (getattr(config, "pad_token_id", None) or 0) + 1 if behind else 0
    return min(stated, positions - kept)
