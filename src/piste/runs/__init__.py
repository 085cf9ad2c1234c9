"""Explaining and evaluating whole data sets. Public: how to read an evaluation."""

from typing import TYPE_CHECKING

from piste.lazy import loader

if TYPE_CHECKING:
    from piste.runs.evaluate import Evaluation as Evaluation
    from piste.runs.evaluate_text import View as View
    from piste.runs.hub import to_hub as to_hub
    from piste.runs.model_change import ModelChange as ModelChange
    from piste.runs.statistics import Difference as Difference
    from piste.runs.statistics import Interval as Interval
    from piste.runs.statistics import as_markdown as as_markdown
    from piste.runs.statistics import costs as costs
    from piste.runs.statistics import differences as differences
    from piste.runs.statistics import interval as interval

_HOMES = {
    "View": "piste.runs.evaluate_text",
    "Evaluation": "piste.runs.evaluate",
    "ModelChange": "piste.runs.model_change",
    "to_hub": "piste.runs.hub",
    "Interval": "piste.runs.statistics",
    "interval": "piste.runs.statistics",
    "Difference": "piste.runs.statistics",
    "differences": "piste.runs.statistics",
    "costs": "piste.runs.statistics",
    "as_markdown": "piste.runs.statistics",
}
__all__ = [*_HOMES]
__getattr__ = loader(__name__, _HOMES)
