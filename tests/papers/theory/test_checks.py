"""Every check passes, and each turns red when the thing it checks is broken."""

import numpy as np
import pytest
import torch

from papers.theory import (
    checks,
    checks_attention,
    checks_slalom,
    closed_forms,
    repetition,
    slalom_bert,
    slalom_transformer,
    subwords,
)
from piste import surrogates
from piste.methods import lime


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
def test_the_claim_holds(check):
    finding = check()
    assert finding.passed, finding.measured
    assert finding.claim
    assert finding.measured
    assert finding.source in {"2405.13536", "2402.03485", "ours"}


def scaled(factor: float):
    """A wrong factor in a closed form."""
    return lambda form: lambda *arguments, **settings: factor * form(*arguments, **settings)


def without_the_query_term(form):
    def gradient(module, ids):
        found = form(module, ids).copy()
        found[0] = found[0] * 0.99  # [CLS] alone is a little off
        return found

    return gradient


def signed_attention(form):
    return lambda module, ids: form(module, ids) - 0.05


def with_positions(form):
    return lambda *arguments, **settings: form(*arguments, **settings | {"positions": True})


def additive(form):
    weights = torch.from_numpy(np.random.default_rng(0).normal(size=repetition.VOCABULARY))
    return lambda answer: lambda ids: weights[ids].sum(dim=1)


def shifted_importances(form):
    return lambda values, importances, **settings: form(values, importances * 1.01, **settings)


def wrong_sign(form):
    def solve(values, references, answers):
        model, doubtful = form(values, references, answers)
        return type(model)(model.values, -model.importances), doubtful

    return solve


def all_alike(form):
    def explanations(module, ids):
        scores = form(module, ids)
        return dict.fromkeys(scores, scores["LIME"])

    return explanations


def blind_lime(form):
    """A LIME that, like attention, does not see the last layer."""
    return lambda reading: np.abs(form(reading))


def stubborn_sampling(form):
    """Samples that are not drawn as LIME draws them: each word kept with odds 0.9."""
    return lambda rng, words, rows: rng.random((rows, words)) < 0.9


BROKEN = [
    (checks_slalom.runs_are_alike, repetition, "encoder", with_positions),
    (checks_slalom.runs_are_alike, repetition, "decoder", with_positions),
    (checks_slalom.no_additive_model, repetition, "read_out", additive),
    (checks_slalom.transformer_is_slalom, slalom_transformer, "SlalomTransformer",
     shifted_importances),
    (checks_slalom.bert_is_slalom, slalom_bert, "slalom_bert", shifted_importances),
    (checks_slalom.slalom_is_recovered, surrogates, "solve_pairs", wrong_sign),
    (checks_attention.gradient_is_autograd, closed_forms, "gradient", scaled(1.001)),
    (checks_attention.gradient_is_autograd, closed_forms, "gradient", without_the_query_term),
    (checks_attention.attention_is_blind, closed_forms, "alpha_avg", signed_attention),
    (checks_attention.attention_is_blind, closed_forms, "lime_integral", blind_lime),
    (checks_attention.lime_limit_is_exact, closed_forms, "lime_limit", scaled(1.001)),
    (checks_attention.paper_form_keeps_the_order, closed_forms, "lime_large_text", scaled(1.5)),
    (checks_attention.integral_is_lime, closed_forms, "lime_integral", scaled(1.001)),
    (checks_attention.sampling_converges, closed_forms, "lime_integral", scaled(1.1)),
    (checks_attention.sampling_converges, lime, "lime_samples", stubborn_sampling),
    (checks_attention.three_halves_after_training, closed_forms, "three_halves", scaled(2 / 3)),
    (checks_attention.three_halves_after_training, closed_forms, "three_halves", scaled(2.0)),
    (checks_attention.three_halves_after_training, closed_forms, "three_halves", scaled(5 / 6)),
    (checks_attention.three_halves_after_training, closed_forms, "three_halves", scaled(7 / 6)),
    (checks_attention.explanations_disagree, closed_forms, "seven_explanations", all_alike),
    (checks_attention.pieces_of_a_word, subwords, "kept_of_a_conjunction", scaled(1.1)),
]  # fmt: skip


@pytest.mark.parametrize(("check", "module", "name", "fault"), BROKEN)
def test_a_broken_formula_turns_the_check_red(monkeypatch, check, module, name, fault):
    monkeypatch.setattr(module, name, fault(getattr(module, name)))
    finding = check()
    assert not finding.passed, finding.measured


def test_every_check_is_shown_to_be_able_to_fail():
    assert {check for check, *_ in BROKEN} == set(checks.CHECKS)


def test_run_checks_goes_through_the_table_on_one_thread(monkeypatch):
    threads = []
    for name in ("set_num_threads", "get_num_threads"):
        monkeypatch.setattr(checks.torch, name, lambda *given: threads.append(given) or 7)
    some = checks_slalom.CHECKS[2:4]
    assert [finding.passed for finding in checks.run_checks(some)] == [True, True]
    assert threads == [(), (1,), (7,)]  # and afterwards as before
