"""What changed from one decision to another: two texts under one model, or one under two."""

from __future__ import annotations

from typing import Any

from piste.errors import SettingError, few, kind_of
from piste.explain import explain, target_of
from piste.methods import find_method
from piste.methods.base import Method
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.options import Options
from piste.progress import Meter, Progress, watching
from piste.result.difference import Diff
from piste.result.explanation import Explanation, Target

__all__ = ["Diff", "diff"]
Given = str | tuple[str, str] | Explanation  # a tuple: a pair of texts


def diff(
    before: Given,
    after: Given | None = None,
    classifier: Classifier | str | None = None,
    other: Classifier | str | None = None,
    *,
    method: str | Method = "context",
    target: str | int | None = None,
    progress: Progress | bool | None = None,
    **more: Any,
) -> Diff:
    """What changed in the decision, and which words and pairs carry the change.

    before, after: two texts, which are explained under `classifier` (the embedded model by
    default); or two explanations. A pair of texts is a tuple of two.
    other: a second model; then `before` is one text, explained under both.
    target: what is explained in both, by default the label that is predicted after the change.
    more: the other settings of `Options`.

    Raises a `SettingError` where the two cannot be compared.
    """
    if isinstance(before, Explanation) or isinstance(after, Explanation):
        return _of_explanations(before, after, classifier, other, target, more)
    options = Options.of(target=target, **more)
    _check_spans(after, options)
    chosen = find_method(method)
    models = _models(after, classifier, other)
    texts = [_both(before), _both(before if after is None else after)]
    target_after = _target(*texts[1], models[1], options)
    explanations = []
    with watching(progress, "Asking the model") as told:
        meter = Meter(told)
        for (text, pair), model in zip(texts, models, strict=True):
            named = options.named() | _names(target_after, model, models[1])
            explanations.append(explain(text, model, chosen, pair=pair, progress=meter, **named))
            meter.next()
    return Diff.of(*explanations)


def _of_explanations(
    before: object, after: object, classifier: object, other: object, target: object, more: object
) -> Diff:
    if not (isinstance(before, Explanation) and isinstance(after, Explanation)):
        kinds = few([type(before).__name__, type(after).__name__])
        raise SettingError(
            f"An explanation is compared with another, not with a text (given: {kinds}).",
            "Give two explanations, or two texts and a model.",
        )
    if classifier is not None or other is not None or target is not None or more:
        raise SettingError(
            "Two explanations are compared as they are: a model or settings change nothing.",
            "Leave them out, or give the texts instead.",
        )
    return Diff.of(before, after)


def _check_spans(after: object, options: Options) -> None:
    """Refuse offsets for two texts: what they count in the one they do not in the other."""
    if after is not None and (options.spans or options.pair_spans):
        raise SettingError(
            "spans are places in one text, and there are two.",
            "Mark the units in both texts, and give marks=True.",
        )


def _models(
    after: object, classifier: Classifier | str | None, other: Classifier | str | None
) -> tuple[Classifier, Classifier]:
    """The model of each side."""
    if after is None and other is None:
        raise SettingError(
            "There is one text and one model, and nothing to compare.",
            "Give a second text, or a second model: other= (--model2).",
        )
    if after is not None and other is not None:
        raise SettingError(
            "There are two texts and two models: which of them made the difference?",
            "Change one of them at a time.",
        )
    model = as_classifier(classifier)
    return model, model if other is None else as_classifier(other)


def _both(given: str | tuple[str, str]) -> tuple[str, str | None]:
    """A text, and the second one of a pair."""
    if isinstance(given, str):
        return given, None
    if not isinstance(given, tuple) or len(given) != 2:
        raise SettingError(
            f"The text is {kind_of(given)}.", "Give a string, or a tuple of two for a pair."
        )
    return given


def _target(text: str, pair: str | None, model: Classifier, options: Options) -> Target:
    """What is explained in both: by default what the model predicts after the change."""
    if options.means_every_class(model.labels):
        raise SettingError(
            "A change is explained for one label, but target is 'all'.",
            "Name the label, or leave target out.",
        )
    return target_of(text, model, options, pair)


def _names(target: Target, model: Classifier, last: Classifier) -> dict[str, Any]:
    """Target and against for this model: by index where it is the one that the target is of."""
    if model is last:
        return {"target": target.index, "against": target.against_index}
    labels = model.labels or ()
    missing = [name for name in (target.label, target.against) if name and name not in labels]
    if labels and missing:
        raise SettingError(
            f"The first model has no label {missing[0]!r}; it has {few(labels)}.",
            "Give the two models the same label names.",
        )
    return {"target": target.label, "against": target.against}
