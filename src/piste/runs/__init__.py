"""Whole data sets: their texts explained or judged. Public: how to read an evaluation."""

from typing import TYPE_CHECKING

from piste.lazy import loader

if TYPE_CHECKING:
    from piste.runs.evaluate import Evaluation as Evaluation
    from piste.runs.judging import View as View
    from piste.runs.summary import Difference as Difference
    from piste.runs.summary import Interval as Interval
    from piste.runs.summary import as_markdown as as_markdown
    from piste.runs.summary import costs as costs
    from piste.runs.summary import differences as differences
    from piste.runs.summary import interval as interval

_HOMES = {
    "View": "piste.runs.judging",
    "Evaluation": "piste.runs.evaluate",
    "Interval": "piste.runs.summary",
    "interval": "piste.runs.summary",
    "Difference": "piste.runs.summary",
    "differences": "piste.runs.summary",
    "costs": "piste.runs.summary",
    "as_markdown": "piste.runs.summary",
}
__all__ = [*_HOMES]
__getattr__ = loader(__name__, _HOMES)
