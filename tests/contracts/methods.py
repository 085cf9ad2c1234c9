"""The contract of a method. Checks take a method and a function from a name to a classifier.

The classifiers are `demo`, `compiled_demo` (the same in OpenVINO), `bert` and `gpt2`: fixtures of
`tests/conftest.py`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import piste
from piste.errors import SettingError
from piste.methods import Method
from piste.methods import summary as one_line
from piste.models.protocol import Classifier
from piste.result.scores import SCORES, score
from tests.planted import additive
from tests.test_explain import EDGE_TEXTS, REVIEW

Named = Callable[[str], Classifier]
SENTENCE = "The plot is thin, but the acting is superb."
# Few samples, and questions that do not depend on the answers: the contract is about form.
QUICK = {"samples": 200, "steps": 8}
# The closed form divides by what may be near zero, and repeats the rounding of the answers.
ROUNDING = {"slalom-ana": 1e-3, "gam": 1e-3, "slalom": 1e-3}
# Where the loss is flat, a fit ends where rounding leaves it: well within the score's own error.
FLAT = {"slalom": 0.25}
SLOW_ON_LONG = {"occlusion"}  # a sequence for each word, each as long as the text


def with_settings(method: Method, **settings: Any) -> Method:
    """The method with these settings, as far as it has them."""
    own = {field.name for field in dataclasses.fields(method)}
    return dataclasses.replace(method, **{k: v for k, v in settings.items() if k in own})


def quick(method: Method) -> Method:
    return with_settings(method, **QUICK)


def assert_same_scores(one: piste.Explanation, other: piste.Explanation) -> None:
    """Equal to rounding."""
    assert one.scores.keys() == other.scores.keys()
    for name, scores in one.scores.items():
        within = ROUNDING.get(one.method, 1e-4) * np.abs(scores).max() + 1e-4 * np.abs(scores)
        open_ = FLAT.get(one.method, 0.0) * one.errors.get(name, np.zeros_like(scores))
        assert (np.abs(other.scores[name] - scores) <= np.maximum(within, open_)).all(), name


def it_is_a_frozen_dataclass_with_a_name_and_a_line_of_help(method: Method, named: Named) -> None:
    assert isinstance(method, Method)
    assert dataclasses.is_dataclass(method)
    assert type(method).__dataclass_params__.frozen
    assert method.name
    assert method.name == method.name.strip().lower()
    line = one_line(method)
    assert 10 < len(line) < 100
    assert line.endswith(".")
    assert "(" not in line.split()[0], "the docstring that a dataclass makes by itself"


def scores_are_finite_and_aligned(method: Method, named: Named) -> None:
    explanation = piste.explain(REVIEW, named("demo"), method)
    assert explanation.primary in explanation.scores
    for scores in (*explanation.scores.values(), *explanation.errors.values()):
        assert scores.shape == (len(explanation.players),)
        assert np.isfinite(scores).all()
    assert explanation.errors.keys() <= explanation.scores.keys()  # a relevance has none
    assert all((errors >= 0).all() for errors in explanation.errors.values())
    assert not explanation.errors or explanation.primary in explanation.errors
    assert explanation.method == method.name


def every_score_is_in_the_table(method: Method, named: Named) -> None:
    explanation = piste.explain(SENTENCE, named("demo"), method)
    assert explanation.scores.keys() <= SCORES.keys()


def the_same_seed_gives_the_same_bits(method: Method, named: Named) -> None:
    for unit in ("word", "token", "sentence"):
        first, second = (
            piste.explain(REVIEW, named("demo"), method, unit=unit, seed=7) for _ in range(2)
        )
        for name, scores in first.scores.items():
            assert scores.tobytes() == second.scores[name].tobytes()
        assert first.fidelity == second.fidelity


def the_backend_does_not_change_the_scores(method: Method, named: Named) -> None:
    torch, compiled = (
        piste.explain(REVIEW, named(name), method) for name in ("demo", "compiled_demo")
    )
    assert_same_scores(torch, compiled)
    assert "openvino" in compiled.backend
    assert "torch" in torch.backend


def the_batch_size_does_not_change_the_scores(method: Method, named: Named) -> None:
    for name in ("demo", "compiled_demo", "bert", "gpt2"):
        reference = piste.explain(REVIEW[:150], named(name), method)
        for batch_tokens in (1, 50):
            assert_same_scores(
                reference,
                piste.explain(REVIEW[:150], named(name), method, batch_tokens=batch_tokens),
            )


def the_budget_is_respected(method: Method, named: Named) -> None:
    explanation = piste.explain(REVIEW, named("demo"), method, budget=70)
    assert 0 < explanation.cost.forwards <= 70
    assert explanation.cost.tokens > 0
    if _forwards(method, named("demo")) <= 9:
        assert piste.explain(REVIEW, named("demo"), method, budget=9).cost.forwards <= 9
    else:
        with pytest.raises(SettingError, match=r"budget .*(at least|needs) \d\d"):
            piste.explain(REVIEW, named("demo"), method, budget=9)


def _forwards(method: Method, classifier: Classifier) -> int:
    return piste.explain(REVIEW, classifier, method).cost.forwards


def what_adds_up_leads_from_the_base_to_the_score(method: Method, named: Named) -> None:
    """Where an explanation states a base. Others' shares belong to a surrogate or to all places."""
    explanation = piste.explain(SENTENCE, named("demo"), method)
    if explanation.base is None:
        return
    for name, values in explanation.scores.items():
        if score(name).adds_up:
            whole = explanation.target.score - explanation.base
            assert values.sum() == pytest.approx(whole, abs=1e-4)


def special_tokens_are_never_scored(method: Method, named: Named) -> None:
    demo: Any = named("demo")
    explanation = piste.explain(REVIEW, demo, method, unit="token")
    special = set(demo.tokenizer.all_special_ids)
    assert not special & {token for player in explanation.players for token in player.ids}


def json_gives_it_back(method: Method, named: Named) -> None:
    explanation = piste.explain(REVIEW, named("demo"), method)
    assert piste.Explanation.from_dict(explanation.to_dict()) == explanation


def it_can_be_shown(method: Method, named: Named) -> None:
    explanation = piste.explain(SENTENCE, named("demo"), method)
    assert method.name in str(explanation)
    assert "superb" in explanation.to_html()


def the_target_turns_signed_scores_round(method: Method, named: Named) -> None:
    """Two classes: what speaks for one speaks against the other; weights stay as they are."""
    # Rounds ask by chance: what is drawn for one target is not drawn for the other.
    steady = with_settings(method, adaptive=False)
    towards, against = (
        piste.explain(SENTENCE, named("demo"), steady, target=label)
        for label in ("positive", "negative")
    )
    for name, scores in towards.scores.items():
        sign = -1 if score(name).signed else 1
        assert against.scores[name] == pytest.approx(sign * scores, rel=1e-3, abs=1e-3), name


def edge_texts_have_a_defined_result(method: Method, named: Named) -> None:
    for name, text in EDGE_TEXTS.items():
        if method.name in SLOW_ON_LONG and len(text) > 10_000:
            text = text[:1000]
        for unit in ("word", "token", "sentence"):
            explanation = piste.explain(text, named("demo"), method, unit=unit)
            assert explanation.players, name
            for scores in explanation.scores.values():
                assert np.isfinite(scores).all(), name
                assert len(scores) == len(explanation.players), name
            assert all(text[p.start : p.end] == p.text for p in explanation.players), name
            explanation.to_json()


def a_function_is_explained_or_what_it_lacks_is_named(method: Method, named: Named) -> None:
    text, weights = "a b a c d a e f", {"a": 1.0, "b": -1.5}
    classifier = piste.from_function(additive(weights))
    if method.needs:
        with pytest.raises(SettingError, match="needs the model's"):
            piste.explain(text, classifier, method)
        assert not method.runs_on(classifier)
    else:
        explanation = piste.explain(text, classifier, method)
        assert np.isfinite(explanation.scores[explanation.primary]).all()


CHECKS = (
    it_is_a_frozen_dataclass_with_a_name_and_a_line_of_help,
    scores_are_finite_and_aligned,
    every_score_is_in_the_table,
    the_same_seed_gives_the_same_bits,
    the_backend_does_not_change_the_scores,
    the_batch_size_does_not_change_the_scores,
    the_budget_is_respected,
    what_adds_up_leads_from_the_base_to_the_score,
    special_tokens_are_never_scored,
    json_gives_it_back,
    it_can_be_shown,
    the_target_turns_signed_scores_round,
    edge_texts_have_a_defined_result,
    a_function_is_explained_or_what_it_lacks_is_named,
)
