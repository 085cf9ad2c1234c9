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
from piste.models.backends.function import from_function
from piste.models.backends.function_answers import Scale
from piste.models.backends.openvino_runtime import available
from piste.models.protocol import Classifier

if TYPE_CHECKING:
    from piste.models.backends.compiled import CompiledClassifier
    from piste.models.backends.huggingface import HuggingFaceClassifier
    from piste.models.backends.onnx import OnnxClassifier

log = logging.getLogger(__name__)

BACKENDS = ("auto", "torch", "openvino")
PRECISIONS = ("f32", "bf16")
CLASSIFYING = "text-classification"


def load(
    model: str | os.PathLike[str] | Any = "demo",
    tokenizer: Any = None,
    *,
    device: str | None = None,
    backend: str = "auto",
    trust_remote_code: bool = False,
    precision: str | None = None,
) -> HuggingFaceClassifier | CompiledClassifier | OnnxClassifier:
    """A Hugging Face text classifier: a hub name, a directory, or a `PreTrainedModel`.

    Also what holds a model and its tokenizer: a `TextClassificationPipeline`, a `CrossEncoder` of
    sentence-transformers. A directory with a tokenizer and an ONNX file, but no torch weights, runs
    in OpenVINO. Without an argument it is the small sentiment model that ships with piste.

    tokenizer: an object, a name or a directory; without it, that of where the model came from.

    device: "cpu", "cuda", "mps" ...; None leaves a model object where it is, and loads to the CPU.
    backend: "auto" compiles the model with OpenVINO when that is installed, the model is on the
    CPU and the compiled one gives the same logits, and takes the faster of the two, which it
    measures once a model and machine; "torch" never compiles, "openvino" insists on it.
    trust_remote_code: run Python code that comes with the model, with all your rights. Off, a
    model that needs it is refused.
    precision: "bf16" computes in bfloat16, in OpenVINO on a CPU with instructions for it: faster
    for all but the smallest models, and less exact (by 0.005 in a logit of a MiniLM). None never
    goes below the precision of the weights.
    """
    if backend not in BACKENDS:
        raise choices("backend", backend, BACKENDS)
    if precision is not None:
        _check_precision(precision, device, backend)
    model, tokenizer = _unwrapped(model, tokenizer)
    started = time.perf_counter()
    coarse = precision == "bf16"
    classifier = _exported(model, tokenizer, device, backend, coarse) or _pretrained(
        model, tokenizer, device, backend, trust_remote_code, coarse
    )
    log.info(
        "Loaded %s (%s) in %.1f s.",
        classifier.name,
        classifier.backend,
        time.perf_counter() - started,
    )
    return classifier


def _unwrapped(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """Model and tokenizer; those of an object that holds both, a pipeline or a cross-encoder."""
    if isinstance(model, str | os.PathLike) or not _holds_model(model):
        return model, tokenizer
    kind, task = type(model).__name__, getattr(model, "task", "") or CLASSIFYING
    if task != CLASSIFYING or "ZeroShot" in kind:
        raise ModelError(
            f"A {kind} is for {task}, not for {CLASSIFYING}: its labels are not the model's.",
            "Wrap what turns texts into scores: piste.from_function(fn).",
        )
    tokenizer = model.tokenizer if tokenizer is None else tokenizer
    for what, part in (("model", model.model), ("tokenizer", tokenizer)):
        if part is None:
            raise ModelError(f"This {kind} has no {what}.", "Pass both: load(model, tokenizer).")
    return model.model, tokenizer


def _holds_model(given: Any) -> bool:
    return hasattr(given, "model") and hasattr(given, "tokenizer")


def _check_precision(precision: str, device: str | None, backend: str) -> None:
    if precision not in PRECISIONS:
        raise choices("precision", precision, PRECISIONS)
    if precision == "bf16" and (backend == "torch" or device not in (None, "cpu")):
        raise SettingError(
            'precision="bf16" is for OpenVINO on the CPU.', "Leave backend and device out with it."
        )


def _pretrained(
    model: Any,
    tokenizer: Any,
    device: str | None,
    backend: str,
    trust_remote_code: bool,
    coarse: bool,
) -> HuggingFaceClassifier | CompiledClassifier:
    """The model without torch, where an earlier load has left what that takes; else in torch."""
    named = isinstance(model, str | os.PathLike) and tokenizer is None and not trust_remote_code
    anew = coarse or backend == "torch" or device not in (None, "cpu")
    if not named or anew or not available():
        torch = _from_torch(model, tokenizer, device, trust_remote_code)
        return _run_by(torch, backend, coarse)
    from piste.models.backends import compiled, stored

    name = os.fspath(model)
    files = stored.find(name)
    started = None if files is None else stored.start(files, choose=backend == "auto")
    if started is not None:
        return started
    classifier = _run_by(_from_torch(name, None, device, False), backend, coarse)
    if isinstance(classifier, compiled.CompiledClassifier):
        stored.keep(name, files, classifier)
    return classifier


def _from_torch(
    model: Any, tokenizer: Any, device: str | None, trust_remote_code: bool
) -> HuggingFaceClassifier:
    from piste.models.backends.huggingface import load_huggingface

    return load_huggingface(model, tokenizer, device=device, trust_remote_code=trust_remote_code)


def _run_by(
    classifier: HuggingFaceClassifier, backend: str, coarse: bool
) -> HuggingFaceClassifier | CompiledClassifier:
    if backend == "torch":
        return classifier
    return _compiled(classifier, insist=coarse or backend != "auto", coarse=coarse)


def _exported(
    model: Any, tokenizer: Any, device: str | None, backend: str, coarse: bool
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
    if coarse:
        raise ModelError(
            f'{model} holds an ONNX model, which precision="bf16" is not for.',
            "Leave precision out, or give a directory with torch weights.",
        )
    return load_onnx(file, folder, tokenizer, os.fspath(model))


def as_classifier(given: Classifier | str | os.PathLike[str] | None) -> Classifier:
    """A classifier from any accepted form: an object, a name, a directory; None: the embedded."""
    if given is None:
        return _embedded()
    if isinstance(given, str | os.PathLike):
        return load(given)
    if hasattr(given, "encode") and hasattr(given, "logits"):
        return given
    if _holds_model(given) or (hasattr(given, "config") and hasattr(given, "forward")):
        return load(given)
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
            f"A {name} predicts classes only, without probabilities or scores.",
            "Use one with predict_proba or decision_function.",
        )
    return from_function(estimator.predict, outputs="raw", name=name)  # a regression


def _last(estimator: Any) -> Any:
    """The estimator at the end of a pipeline."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if steps else estimator


def _compiled(
    classifier: HuggingFaceClassifier, *, insist: bool, coarse: bool
) -> HuggingFaceClassifier | CompiledClassifier:
    from piste.models.backends.compiled import CannotCompile, compile_classifier, torch_notice

    if not insist and (not available() or classifier.model.device.type != "cpu"):
        return classifier
    try:
        precision = "bf16" if coarse else "f32"
        return compile_classifier(classifier, choose=not insist, precision=precision)
    except CannotCompile as error:
        if insist:
            raise ModelError(
                f"Cannot compile {classifier.name!r} with OpenVINO: {error}.",
                'Use backend="torch", without precision.' if coarse else 'Use backend="torch".',
            ) from error
        notice = torch_notice(error)
        log.warning(notice)
        return dataclasses.replace(classifier, notice=f"{classifier.notice} {notice}".strip())
