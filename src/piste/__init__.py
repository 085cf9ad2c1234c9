"""piste: why did the transformer classify this text as it did?

    ex = piste.explain("A film I will not forget.", piste.load())
    print(ex)

Everything public is on this page. Names load when first used, so `import piste` costs nothing.
"""

import logging
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from piste import moved
from piste.lazy import loader

if TYPE_CHECKING:
    from piste.compare import compare as compare
    from piste.data import Columns as Columns
    from piste.data import Example as Example
    from piste.decision import Decision as Decision
    from piste.decision import predict as predict
    from piste.diff import diff as diff
    from piste.errors import PisteError as PisteError
    from piste.explain import explain as explain
    from piste.lexicon import Lexicon as Lexicon
    from piste.many import Explanations as Explanations
    from piste.many import Failure as Failure
    from piste.methods import METHODS as METHODS
    from piste.methods.adapted import adapt as adapt
    from piste.methods.anchors import Anchors as Anchors
    from piste.methods.attention import Attention as Attention
    from piste.methods.base import Attribution as Attribution
    from piste.methods.base import Method as Method
    from piste.methods.context import Context as Context
    from piste.methods.gam import GamSurrogate as GamSurrogate
    from piste.methods.gradients import Gradients as Gradients
    from piste.methods.integrated_gradients import IntegratedGradients as IntegratedGradients
    from piste.methods.kernel_shap import KernelShap as KernelShap
    from piste.methods.lime import Lime as Lime
    from piste.methods.linear import LinearSurrogate as LinearSurrogate
    from piste.methods.occlusion import Occlusion as Occlusion
    from piste.methods.rollout import Rollout as Rollout
    from piste.methods.slalom import Slalom as Slalom
    from piste.methods.slalom.analytic import SlalomAna as SlalomAna
    from piste.models.backends.embedding import from_embedding as from_embedding
    from piste.models.backends.endpoint import from_endpoint as from_endpoint
    from piste.models.backends.function import from_function as from_function
    from piste.models.backends.language_model import from_llm as from_llm
    from piste.models.loading import load as load
    from piste.options import Options as Options
    from piste.render.widget import widget as widget
    from piste.result.difference import Diff as Diff
    from piste.result.explanation import Explanation as Explanation
    from piste.result.explanation import Player as Player
    from piste.result.parts import Pair as Pair
    from piste.result.parts import PlayerSet as PlayerSet
    from piste.result.parts import Prediction as Prediction
    from piste.runs.check import check as check
    from piste.runs.evaluate import evaluate as evaluate
    from piste.runs.lexicon import build_lexicon as build_lexicon
    from piste.runs.run import run as run
    from piste.runs.word_summary import summarise as summarise
    from piste.verify import verify as verify

__version__ = "0.2.0"

# A library is silent until its user asks: logging.getLogger("piste").setLevel("INFO").
logging.getLogger("piste").addHandler(logging.NullHandler())

_HOMES = {
    "load": "piste.models.loading",
    "from_embedding": "piste.models.backends.embedding",
    "from_function": "piste.models.backends.function",
    "from_llm": "piste.models.backends.language_model",
    "from_endpoint": "piste.models.backends.endpoint",
    "predict": "piste.decision",
    "explain": "piste.explain",
    "compare": "piste.compare",
    "diff": "piste.diff",
    "verify": "piste.verify",
    "evaluate": "piste.runs.evaluate",
    "run": "piste.runs.run",
    "check": "piste.runs.check",
    "summarise": "piste.runs.word_summary",
    "build_lexicon": "piste.runs.lexicon",
    "widget": "piste.render.widget",
    "adapt": "piste.methods.adapted",
    "Lexicon": "piste.lexicon",
    "Columns": "piste.data",
    "Example": "piste.data",
    "Explanation": "piste.result.explanation",
    "Explanations": "piste.many",
    "Failure": "piste.many",
    "Player": "piste.result.explanation",
    "Diff": "piste.result.difference",
    "Prediction": "piste.result.parts",
    "Pair": "piste.result.parts",
    "PlayerSet": "piste.result.parts",
    "Options": "piste.options",
    "Decision": "piste.decision",
    "METHODS": "piste.methods",
    "Method": "piste.methods.base",
    "Attribution": "piste.methods.base",
    "Slalom": "piste.methods.slalom",
    "SlalomAna": "piste.methods.slalom.analytic",
    "Anchors": "piste.methods.anchors",
    "Attention": "piste.methods.attention",
    "Context": "piste.methods.context",
    "GamSurrogate": "piste.methods.gam",
    "Gradients": "piste.methods.gradients",
    "IntegratedGradients": "piste.methods.integrated_gradients",
    "KernelShap": "piste.methods.kernel_shap",
    "Lime": "piste.methods.lime",
    "LinearSurrogate": "piste.methods.linear",
    "Occlusion": "piste.methods.occlusion",
    "Rollout": "piste.methods.rollout",
    "PisteError": "piste.errors",
}
__all__ = [*_HOMES, "__version__"]


__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


NAMESAKES = ("explain", "compare", "diff", "verify")


class _Package(ModuleType):
    """Keeps `piste.explain` the function, also after the module of that name is imported.

    The same for all functions in `NAMESAKES`.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        is_namesake = isinstance(value, ModuleType) and name in NAMESAKES
        super().__setattr__(name, getattr(value, name) if is_namesake else value)


sys.modules[__name__].__class__ = _Package
moved.install()
