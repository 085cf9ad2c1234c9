"""The base class of methods, and what a method returns."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from piste.arrays import FloatArray
from piste.decision import Decision
from piste.errors import SettingError, choices
from piste.lexicon import Lexicon
from piste.models.protocol import Classifier
from piste.result.explanation import Target
from piste.result.facts import FEW_CHECKS, Agreement, Fidelity, FitReport, Stopped
from piste.result.formula import Formula
from piste.result.parts import PartAnswers, PlayerSet
from piste.result.scores import score

MORE_BUDGET = "Use a larger --budget."
TOO_FEW = f"There were fewer answers than scores to fit. {MORE_BUDGET}"


@dataclass(frozen=True)
class Attribution:
    """A method's scores and diagnostics; `explain()` adds text, target, cost and provenance."""

    scores: Mapping[str, FloatArray]  # each [players]
    primary: str
    errors: Mapping[str, FloatArray] = field(default_factory=dict)  # standard errors, as scores
    fidelity: Fidelity | None = None
    fit: FitReport | None = None
    fit_seconds: float = 0.0
    surrogate_score: float | None = None
    frame_share: float | None = None
    stopped: Stopped | None = None
    formula: Formula | None = None
    parts: PartAnswers | None = None
    base: float | None = None  # the score of the empty text
    flip: PlayerSet | None = None
    core: PlayerSet | None = None
    target: Target | None = None  # where another number is explained than was asked for
    notes: tuple[str, ...] = ()

    def varying(self, by: float) -> Attribution:
        """The same with errors that are no smaller than answers to the same text were apart."""
        if not by:
            return self
        errors = {
            name: np.hypot(error, by) if score(name).predicts else error
            for name, error in self.errors.items()
        }
        parts = None if self.parts is None else replace(self.parts, varies=by)
        return replace(self, errors=errors, parts=parts)


class _Checked(type):
    """Tells which settings there are, where one is misspelt: `Slalom(lenght=5)`."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        try:
            return super().__call__(*given, **named)
        except TypeError:
            init: Any = cls.__init__  # type: ignore[misc]
            own = dict(list(inspect.signature(init).parameters.items())[1:])
            free = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in own.values())
            for name in named:
                if not free and name not in own:
                    raise choices(f"setting of {cls.__name__}", name, list(own)) from None
            raise


class Method(metaclass=_Checked):
    """An explainer: a frozen dataclass whose fields are its settings.

    Subclass it, name it, say what it needs of a classifier, and write `explain`.
    """

    name: ClassVar[str] = ""  # in tables and explanations; the class's own where it has none
    needs: ClassVar[tuple[type, ...]] = ()  # abilities of the classifier, such as WithGradients
    parallel: ClassVar[bool] = True  # whether threads may explain several texts at once
    checked: ClassVar[bool] = True  # whether it tries its scores on answers it has not used
    in_windows: ClassVar[bool] = True  # whether parts of a long text can be explained by themselves

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__annotations__ and "name" not in vars(cls):
            cls.name = cls.__name__

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        """Score every player. The model is reached through the decision only."""
        raise NotImplementedError(f"{type(self).__name__} has no explain()")

    def settings(self) -> dict[str, Any]:
        """The settings as plain data, for the record."""
        return dataclasses.asdict(self) if dataclasses.is_dataclass(self) else {}

    def score_names(self) -> tuple[str, ...]:
        """The names of its scores, where they are known before a text is explained."""
        return ()

    def for_every_class(self) -> Method | None:
        """The form of the method that scores all classes at once; None: one after the other."""
        return None

    def with_effort(self, effort: str) -> Method:
        """The form of the method that asks less or more; others than `context` have none."""
        return self

    def with_lexicon(self, lexicon: Lexicon, refine: int | None) -> Method:
        """The form of the method that takes known words from a lexicon."""
        raise SettingError(
            f"A lexicon holds SLALOM's scores, and {self.name!r} has no use for them.",
            'Leave the lexicon out, or use method="slalom".',
        )

    def runs_on(self, classifier: Classifier) -> bool:
        """Whether the classifier can do what the method needs."""
        return all(isinstance(classifier, ability) for ability in self.needs)


def agreement(predicted: FloatArray, true: FloatArray, typical: float = 0.0) -> Agreement:
    """R2 and RMSE of predictions [rows].

    There is no R2 of a few rows, nor where the truth hardly moves: by less than a hundredth of
    `typical`, the deviation of the model's answers elsewhere.
    """
    error = float(np.mean((predicted - true) ** 2))
    deviation = float(np.std(true))
    unsaid = len(true) < FEW_CHECKS or deviation <= max(1e-9, 0.01 * typical)
    r2 = None if unsaid else 1 - error / deviation**2
    return Agreement(r2, float(np.sqrt(error)), len(true))
