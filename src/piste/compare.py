"""Several explanations of one decision side by side, with measures of how faithful each is."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from piste.arrays import FloatArray
from piste.decision import Decision
from piste.errors import FunctionError, PisteError, SettingError, few
from piste.explain import explain
from piste.methods import find_method
from piste.methods.base import Method
from piste.metrics.agreement import agreement
from piste.metrics.deletion import STEPS, deletion, insertion
from piste.metrics.removal_fidelity import DRAWS, MOST, removal_error
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.options import Options
from piste.progress import Meter, Progress, watching
from piste.result.explanation import Explanation
from piste.result.exports import data_frame, places
from piste.result.written import AsJson, AsPage

if TYPE_CHECKING:
    import pandas

__all__ = ["Comparison", "compare"]
SEVEN = (
    "context",
    "slalom",
    "lime",
    "kernel-shap",
    "occlusion",
    "integrated-gradients",
    "attention",
)
SCHEMA = 1


@dataclass(frozen=True)
class Figures:
    """Measures of one explanation on its text; None where one cannot be computed."""

    deletion: float | None  # mean fall of the probability, highest-scored first; higher is better
    insertion: float | None  # what the highest-scored alone leave missing; lower is better
    removal_error: float | None  # of predicted changes; 0 perfect, 1 like predicting none


@dataclass(frozen=True)
class Protocol:
    """How the figures were measured, and what that cost."""

    steps: int  # points of a deletion curve, at most
    draws: int  # random removals
    most: int  # players a removal takes away, at most
    forwards: int  # sequences asked for all methods together


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(AsJson, AsPage):
    """Explanations of one decision by name, and how far they agree with each other and the model.

    `agreement[i][j]` is Spearman's correlation of the i-th and the j-th explanation's scores.
    `failed` holds the methods that could not run, with the reason. `measured` is empty unless
    asked for.
    """

    explanations: Mapping[str, Explanation]
    failed: Mapping[str, str]
    agreement: FloatArray  # [methods, methods], in the order of the explanations
    measured: Mapping[str, Figures]
    protocol: Protocol | None = None

    @property
    def first(self) -> Explanation:
        """The first of them, for what all have in common: text, players, target, model."""
        return next(iter(self.explanations.values()))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "schema": SCHEMA,
            "explanations": {
                name: explanation.to_dict() for name, explanation in self.explanations.items()
            },
            "failed": dict(self.failed),
            "agreement": [[_number(value) for value in row] for row in self.agreement.tolist()],
            "measured": {name: asdict(figures) for name, figures in self.measured.items()},
            "protocol": None if self.protocol is None else asdict(self.protocol),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """One row a player: its text and place, and the score that each method ranks by."""
        scores = {name: one.scores[one.primary] for name, one in self.explanations.items()}
        return data_frame(places(self.first) | scores)

    # As with an Explanation, the pictures are loaded only when asked for.
    def _page(self) -> str:
        from piste.render.comparison_html import page

        return page(self)

    @property
    def verdict(self) -> str:
        """Which explanation to trust on this text, from what was measured."""
        from piste.render.comparison_words import verdict

        return verdict(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure, also written to `path` (.png, .svg or .pdf) when given."""
        from piste.render.comparison_figure import draw

        return draw(self, path)

    def _repr_html_(self) -> str:
        from piste.render.comparison_html import fragment

        return fragment(self)

    def __repr__(self) -> str:
        return f"<Comparison of {few([*self.explanations])} on {self.first.target.title!r}>"

    def __str__(self) -> str:
        from piste.render.comparison_terminal import as_text

        return as_text(self)


def compare(
    text: str,
    classifier: Classifier | str | None = None,
    methods: Sequence[str | Method] = SEVEN,
    *,
    pair: str | None = None,
    target: str | int | None = None,
    unit: str = "word",
    measure: bool = False,
    progress: Progress | bool | None = None,
    **more: Any,
) -> Comparison:
    """Explain one decision by several methods, all towards the same target.

    methods: names from `METHODS` or objects; one that cannot run here (gradients of a function)
    is listed in `failed` with the reason, and the others are compared.
    measure: also try each explanation on the model: delete its strongest words, check the changes
    it predicts. Some hundreds of sequences more.
    more: the other settings of `Options`; budget: the most sequences each method may ask.
    """
    chosen = named(methods)
    options = Options.of(target=target, unit=unit, **more)
    classifier = as_classifier(classifier)
    if measure and options.long == "windows":
        raise SettingError(
            'measure=True needs a model that reads the whole text at once, not long="windows".',
            'Use long="truncate", or leave measure out.',
        )
    decision = Decision.on(text, classifier, options, pair)
    if not options.means_every_class(classifier.labels):
        same = decision.target
        options = replace(options, target=same.index, against=same.against_index)
    with watching(progress, "Asking the model") as told:
        meter = Meter(told)
        explanations, failed = _explained(text, pair, chosen, classifier, options, meter)
        decision.query.progress = meter
        figures = _measured(decision, explanations, options.seed) if measure else {}
    protocol = Protocol(STEPS, DRAWS, MOST, decision.query.forwards) if measure else None
    agreeing = agreement(list(explanations.values()))
    return Comparison(explanations, failed, agreeing, figures, protocol)


def _explained(
    text: str,
    pair: str | None,
    methods: Mapping[str, Method],
    classifier: Classifier,
    options: Options,
    meter: Meter,
) -> tuple[dict[str, Explanation], dict[str, str]]:
    """The explanations by method, and why those that could not run could not."""
    explanations: dict[str, Explanation] = {}
    failed: dict[str, str] = {}
    for name, method in methods.items():
        try:
            explanations[name] = explain(
                text, classifier, method, pair=pair, progress=meter, **options.named()
            )
        except FunctionError:  # it fails every method, and what it says may be for its owner only
            raise
        except PisteError as error:
            failed[name] = str(error)
        meter.next()
    if not explanations:
        raise SettingError(
            f"None of the methods could run: {few(list(failed))}.", next(iter(failed.values()))
        )
    return explanations, failed


def named(methods: Sequence[str | Method]) -> dict[str, Method]:
    """The methods by name; repeated names are numbered."""
    if isinstance(methods, str) or not methods:
        raise SettingError(f"methods is {methods!r}.", 'Give several: ["context", "lime"].')
    by_name: dict[str, Method] = {}
    for given in methods:
        method, name = find_method(given), find_method(given).name
        again = sum(known == name or known.startswith(f"{name} ") for known in by_name)
        by_name[f"{name} {again + 1}" if again else name] = method
    return by_name


def _measured(
    decision: Decision, explanations: Mapping[str, Explanation], seed: int
) -> dict[str, Figures]:
    figures = {}
    for name, explanation in explanations.items():
        scores = explanation.scores[explanation.primary]
        figures[name] = Figures(
            deletion(decision, scores),
            insertion(decision, scores),
            removal_error(decision, explanation, seed=seed),
        )
    return figures


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
