"""The explainers, in one explicit table. A new one: one file, one line here, one oracle test."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from piste.errors import SettingError, choices
from piste.methods.adapted import Adapted
from piste.methods.anchors import Anchors
from piste.methods.attention import Attention
from piste.methods.base import Attribution, Method, ask
from piste.methods.from_lexicon import FromLexicon
from piste.methods.gam import GamSurrogate
from piste.methods.gradients import Gradients
from piste.methods.integrated_gradients import IntegratedGradients
from piste.methods.kernel_shap import KernelShap
from piste.methods.lime import Lime
from piste.methods.linear import LinearSurrogate
from piste.methods.occlusion import Occlusion
from piste.methods.rollout import Rollout
from piste.methods.slalom import Slalom
from piste.methods.slalom_ana import SlalomAna

__all__ = ["METHODS", "Attribution", "Method", "ask"]

METHODS: Mapping[str, Method] = {
    "slalom": Slalom(),
    "slalom-ana": SlalomAna(),
    "lime": Lime(),
    "kernel-shap": KernelShap(),
    "occlusion": Occlusion(),
    "gradients": Gradients(),
    "integrated-gradients": IntegratedGradients(),
    "attention": Attention(),
    "rollout": Rollout(),
    "linear": LinearSurrogate(),
    "gam": GamSurrogate(),
    "anchors": Anchors(),
}


def find_method(method: str | Method) -> tuple[str, Method]:
    """The name and the method: by name from the table, or an object as it is."""
    if isinstance(method, str):
        if method not in METHODS:
            raise choices("method", method, list(METHODS))
        return method, METHODS[method]
    if not hasattr(method, "explain") or isinstance(method, type):
        raise SettingError(
            f"{method!r} is not a method.", f"Give a name ({', '.join(METHODS)}) or an object."
        )
    names = [name for name, known in METHODS.items() if type(known) is type(method)]
    own = method.name if isinstance(method, Adapted) else type(method).__name__
    return (names or [own])[0], method


def summary(method: Method) -> str:
    """The first line of a method's docstring."""
    return (type(method).__doc__ or "").strip().split("\n")[0]


def settings(method: Method) -> dict[str, Any]:
    """The fields of a method as plain data; a method that is no dataclass has none to tell."""
    if isinstance(method, FromLexicon | Adapted):
        return method.told()  # not all its words
    return dataclasses.asdict(method) if dataclasses.is_dataclass(method) else {}
