"""The explainers, in one explicit table. A new one: one file, one line here, one test."""

from collections.abc import Mapping

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


def summary(method: Method) -> str:
    """The first line of a method's docstring."""
    return (type(method).__doc__ or "").strip().split("\n")[0]
