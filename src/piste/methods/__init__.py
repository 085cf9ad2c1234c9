"""The explainers, in one explicit table. A new one: one file, one line here, one test."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from piste.errors import SettingError, choices
from piste.methods.anchors import Anchors
from piste.methods.attention import Attention
from piste.methods.base import Attribution, Method
from piste.methods.context import Context
from piste.methods.gam import GamSurrogate
from piste.methods.gradients import Gradients
from piste.methods.integrated_gradients import IntegratedGradients
from piste.methods.kernel_shap import KernelShap
from piste.methods.lime import Lime
from piste.methods.linear import LinearSurrogate
from piste.methods.occlusion import Occlusion
from piste.methods.rollout import Rollout
from piste.methods.slalom import Slalom
from piste.methods.slalom.analytic import SlalomAna
from piste.options import Options

__all__ = ["METHODS", "Attribution", "Method"]

METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Context(),
        Slalom(),
        SlalomAna(),
        Lime(),
        KernelShap(),
        Occlusion(),
        Gradients(),
        IntegratedGradients(),
        Attention(),
        Rollout(),
        LinearSurrogate(),
        GamSurrogate(),
        Anchors(),
    )
}


# What other libraries and papers call them, for those who type it here.
ELSEWHERE = {
    "shap": "kernel-shap",
    "kernel": "kernel-shap",
    "shapley": "kernel-shap",
    "partition-shap": "kernel-shap",
    "gradient-shap": "integrated-gradients",
    "ig": "integrated-gradients",
    "deeplift": "integrated-gradients",
    "lime-text": "lime",
    "limetextexplainer": "lime",
    "ablation": "occlusion",
    "erasure": "occlusion",
    "feature-ablation": "occlusion",
    "leave-one-out": "occlusion",
    "loo": "occlusion",
    "grad": "gradients",
    "input-x-gradient": "gradients",
    "saliency": "gradients",
    "attn": "attention",
    "attention-rollout": "rollout",
    "interactions": "context",
    "shapiq": "context",
    "default": "context",
}


def find_method(method: str | Method) -> Method:
    """The method with this name; a `Method` object is returned as it is."""
    if isinstance(method, str):
        if method not in METHODS:
            raise choices("method", method, list(METHODS), ELSEWHERE)
        return METHODS[method]
    if not isinstance(method, Method):
        raise SettingError(
            f"{method!r} is not a method.",
            f"Give a name ({', '.join(METHODS)}) or an object of a subclass of piste.Method.",
        )
    return method


def remade(name: str, settings: Mapping[str, Any]) -> Method:
    """The method as an explanation has recorded it, by its name and its settings."""
    if name not in METHODS or "adapted" in settings:
        raise SettingError(f"{name} is none of piste's methods.", "Give the method itself.")
    method: Any = METHODS[name]
    known = [field.name for field in fields(method) if field.name in settings]
    try:
        own = {field: _like(getattr(method, field), settings[field]) for field in known}
        found: Method = replace(method, **own)
        hash(found)  # what JSON cannot hold again is no setting
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"{name} cannot be made from the recorded settings: {error}.", "Give the method itself."
        ) from error
    return found


def _like(default: Any, recorded: Any) -> Any:
    """A recorded value in the form that the method has it: JSON has neither tuples nor classes."""
    if is_dataclass(default) and isinstance(recorded, Mapping):
        return replace(default, **recorded)  # type: ignore[type-var]
    return tuple(recorded) if isinstance(recorded, list) else recorded


def summary(method: Method) -> str:
    """The first line of a method's docstring."""
    return (type(method).__doc__ or "").strip().split("\n")[0]


def refuse_swapped(classifier: object, method: object, more: dict[str, Any]) -> None:
    """The method goes by name and has its own settings; the model is the second argument."""
    if isinstance(classifier, Method):
        kind = type(classifier).__name__
        raise SettingError(
            f"A {kind} is a method, not a model.", f"Give it by name: method=piste.{kind}(...)."
        )
    if isinstance(classifier, str) and classifier in METHODS and not Path(classifier).is_dir():
        raise SettingError(
            f"{classifier!r} is a method, not a model.", f'Give it by name: method="{classifier}".'
        )
    if "model" in more:
        raise SettingError(
            "There is no setting 'model'.", "Give the model after the text: explain(text, model)."
        )
    unknown = [name for name in more if name not in Options.names()]
    chosen = METHODS.get(method) if isinstance(method, str) else method
    own = chosen.settings() if unknown and isinstance(chosen, Method) else {}
    for name in unknown:
        if name in own:
            raise SettingError(
                f"{name!r} is a setting of the method, not of explain.",
                f"Give the method with it: method=piste.{type(chosen).__name__}({name}=...).",
            )
