"""Modules of 0.1 under their old names: most lead to the new one, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

BACKENDS = "piste.models.backends"
MOVED = {
    "piste.explanation": "piste.result.explanation",
    "piste.exports": "piste.result.exports",
    "piste.formula": "piste.result.formula",
    "piste.reading": "piste.result.from_json",
    "piste.ragged": "piste.arrays",
    "piste.methods.coalitions": "piste.methods.game",
    "piste.methods.slalom_ana": "piste.methods.slalom.analytic",
    "piste.models.callable": f"{BACKENDS}.function",
    "piste.models.compiled": f"{BACKENDS}.compiled",
    "piste.models.huggingface": f"{BACKENDS}.huggingface",
    "piste.models.language_model": f"{BACKENDS}.language_model",
    "piste.models.onnx": f"{BACKENDS}.onnx",
    "piste.models.predicting": "piste.decision",
    "piste.models.remote": f"{BACKENDS}.endpoint",
    "piste.models.target": "piste.decision",
    "piste.runs.corpus": "piste.runs.word_summary",
    "piste.surrogates.analytic": "piste.surrogates.slalom.analytic",
    "piste.surrogates.gauss_newton": "piste.surrogates.slalom.gauss_newton",
    "piste.surrogates.sgd": "piste.surrogates.slalom.sgd",
}
CLONE = "is part of the repository and no longer of the package: in a clone of piste, import"
GONE = {
    "piste.theory": f"{CLONE} papers.theory.",
    "piste.experiments": f"{CLONE} papers.experiments.",
    "piste.task": "has gone: methods and metrics of your own take a piste.Decision.",
    "piste.metrics.trial": "has gone: metrics of your own take a piste.Decision.",
    "piste.windows": 'has gone: piste.explain(text, long="windows").',
    "piste.surrogates.local": "has gone: method context predicts removals.",
}


class OldNames(MetaPathFinder):
    """Asked last, for what nobody finds: a module of 0.1 is the new one, or an error says why."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in GONE:
            raise ModuleNotFoundError(f"{fullname} {GONE[fullname]}", name=fullname)
        if fullname not in MOVED:
            return None
        return ModuleSpec(fullname, _Alias(MOVED[fullname]))


class _Alias(Loader):
    """Gives the new module in place of the old one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        warnings.warn(
            f"{old} is now {self.name}. The old name goes with version 0.3.",
            DeprecationWarning,
            stacklevel=2,  # the frames of the import system do not count
        )
        sys.modules[old] = import_module(self.name)


def install() -> None:
    """Have old names found; once a process."""
    if not any(isinstance(finder, OldNames) for finder in sys.meta_path):
        sys.meta_path.append(OldNames())
