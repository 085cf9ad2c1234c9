"""`piste.load`: loads models; torch is imported when it is called."""

from __future__ import annotations

import dataclasses
import functools
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piste.errors import ModelError, SettingError, choices
from piste.models.backends.function import Scale, from_function
from piste.models.backends.openvino_runtime import available
from piste.models.protocol import Classifier

if TYPE_CHECKING:
    from piste.models.backends.compiled import CompiledClassifier
    from piste.models.backends.huggingface import HuggingFaceClassifier
    from piste.models.backends.onnx import OnnxClassifier

log = logging.getLogger(__name__)

BACKENDS = ("auto", "torch", "openvino")


def load(
    model: str | os.PathLike[str] | Any = "demo",
    tokenizer: Any = None,
    *,
    device: str | None = None,
    backend: str = "auto",
    trust_remote_code: bool = False,
) -> HuggingFaceClassifier | CompiledClassifier | OnnxClassifier:
    """A Hugging Face text classifier: a hub name, a directory, or a `PreTrainedModel`.

    A directory with a tokenizer and an ONNX file, but no torch weights, runs in OpenVINO.

    Without an argument it is the small sentiment model that ships with piste. A model object
    without a known origin needs its `tokenizer` (an object, a name or a directory).

    device: "cpu", "cuda", "mps" ...; None leaves a model object where it is, and loads to the CPU.
    backend: "auto" compiles the model with OpenVINO when that is installed, the model is on the
    CPU and the compiled one gives the same logits; "torch" never does, "openvino" insists.
    trust_remote_code: run Python code that comes with the model, with all your rights. Off, a
    model that needs it is refused.
    """
    if backend not in BACKENDS:
        raise choices("backend", backend, BACKENDS)
    started = time.perf_counter()
    classifier = _exported(model, tokenizer, device, backend) or _pretrained(
        model, tokenizer, device, backend, trust_remote_code
    )
    log.info(
        "Loaded %s (%s) in %.1f s.",
        classifier.name,
        classifier.backend,
        time.perf_counter() - started,
    )
    return classifier


def _pretrained(
    model: Any, tokenizer: Any, device: str | None, backend: str, trust_remote_code: bool
) -> HuggingFaceClassifier | CompiledClassifier:
    """The model without torch, where an earlier load has left what that takes; else in torch."""
    named = isinstance(model, str | os.PathLike) and tokenizer is None and not trust_remote_code
    if not named or backend == "torch" or device not in (None, "cpu") or not available():
        return _from_torch(model, tokenizer, device, backend, trust_remote_code)
    from piste.models.backends import compiled, stored

    name = os.fspath(model)
    files = stored.find(name)
    started = None if files is None else stored.start(files)
    if started is not None:
        return started
    classifier = _from_torch(name, None, device, backend, False)
    if isinstance(classifier, compiled.CompiledClassifier):
        stored.keep(name, files, classifier)
    return classifier


def _from_torch(
    model: Any, tokenizer: Any, device: str | None, backend: str, trust_remote_code: bool
) -> HuggingFaceClassifier | CompiledClassifier:
    from piste.models.backends.huggingface import load_huggingface

    classifier = load_huggingface(
        model, tokenizer, device=device, trust_remote_code=trust_remote_code
    )
    return classifier if backend == "torch" else _compiled(classifier, insist=backend != "auto")


def _exported(
    model: Any, tokenizer: Any, device: str | None, backend: str
) -> OnnxClassifier | None:
    """The ONNX model of a directory without torch weights; None for every other model."""
    if not isinstance(model, str | os.PathLike) or model == "demo":
        return None
    from piste.models.backends.onnx import load_onnx, onnx_file

    folder = Path(model).expanduser()
    file = onnx_file(folder) if folder.is_dir() else None
    if file is None:
        return None
    if backend == "torch" or device not in (None, "cpu"):
        raise ModelError(
            f"{model} holds an ONNX model, which runs in OpenVINO on the CPU only.",
            "Leave backend and device out, or give a directory with torch weights.",
        )
    return load_onnx(file, folder, tokenizer, os.fspath(model))


def as_classifier(given: Classifier | str | None) -> Classifier:
    """A classifier from any accepted form: an object, a name, a directory; None: the embedded."""
    if given is None:
        return _embedded()
    if isinstance(given, str):
        return load(given)
    if hasattr(given, "encode") and hasattr(given, "logits"):
        return given
    if hasattr(given, "model") and hasattr(given, "tokenizer"):  # a transformers pipeline
        return load(given.model, given.tokenizer)
    if any(hasattr(given, name) for name in ("predict_proba", "decision_function", "predict")):
        return _from_estimator(given)
    raise SettingError(
        f"A {type(given).__name__} is not a classifier that piste can ask.",
        "Use piste.load(model, tokenizer) for a transformers model, piste.from_function(fn) for a"
        ' function of texts (outputs="probabilities" for probabilities), or a scikit-learn pipeline'
        " that takes texts.",
    )


@functools.cache
def _embedded() -> Classifier:
    """The embedded model, loaded once."""
    return load()


def _from_estimator(estimator: Any) -> Classifier:
    """A scikit-learn pipeline that takes texts: its log-odds where it has them."""
    classes = getattr(estimator, "classes_", None)
    labels = None if classes is None else [str(name) for name in classes]
    name = type(estimator).__name__
    several = bool(getattr(_last(estimator), "multilabel_", False))  # they exclude each other not
    if hasattr(estimator, "decision_function"):
        kind: Scale = "label-logits" if several else "logits"
        return from_function(estimator.decision_function, labels, outputs=kind, name=name)
    if hasattr(estimator, "predict_proba"):
        kind = "label-probabilities" if several else "probabilities"
        return from_function(estimator.predict_proba, labels, outputs=kind, name=name)
    if labels is not None:
        raise SettingError(
            f"A {name} tells classes, and neither probabilities nor scores.",
            "Use one with predict_proba or decision_function.",
        )
    return from_function(estimator.predict, outputs="raw", name=name)  # a regression


def _last(estimator: Any) -> Any:
    """The estimator at the end of a pipeline."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if steps else estimator


def _compiled(
    classifier: HuggingFaceClassifier, *, insist: bool
) -> HuggingFaceClassifier | CompiledClassifier:
    from piste.models.backends.compiled import CannotCompile, compile_classifier, torch_notice

    if not insist and (not available() or classifier.model.device.type != "cpu"):
        return classifier
    try:
        return compile_classifier(classifier)
    except CannotCompile as error:
        if insist:
            raise ModelError(
                f"Cannot compile {classifier.name!r} with OpenVINO: {error}.",
                'Use backend="torch".',
            ) from error
        notice = torch_notice(error)
        log.warning(notice)
        return dataclasses.replace(classifier, notice=f"{classifier.notice} {notice}".strip())
