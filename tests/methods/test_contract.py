"""What holds for every method of the table, whatever it does inside."""

import numpy as np
import pytest

import piste
from piste.errors import SettingError
from piste.methods import METHODS
from tests.test_explain import EDGE_TEXTS, REVIEW

# The same methods with few samples: the contract is about form, not about precision.
QUICK = {
    "slalom": piste.Slalom(),
    "slalom-ana": METHODS["slalom-ana"],
    "lime": type(METHODS["lime"])(samples=60),
    "kernel-shap": type(METHODS["kernel-shap"])(samples=60),
    "occlusion": METHODS["occlusion"],
    "gradients": METHODS["gradients"],
    "integrated-gradients": type(METHODS["integrated-gradients"])(steps=8),
    "attention": METHODS["attention"],
    "rollout": METHODS["rollout"],
    "linear": type(METHODS["linear"])(samples=60),
    "gam": type(METHODS["gam"])(samples=60),
    "anchors": type(METHODS["anchors"])(samples=200),
}
INSIDE = ("attention", "gradients", "integrated-gradients", "rollout")  # they need a torch model
# The closed form divides by what may be near zero, and repeats the rounding of the answers.
ROUNDING = {"slalom-ana": 1e-3, "gam": 1e-3}
every_method = pytest.mark.parametrize("method", sorted(QUICK))


def test_every_method_of_the_table_is_tried():
    assert QUICK.keys() == METHODS.keys()
    assert all(type(QUICK[name]) is type(METHODS[name]) for name in METHODS)


@every_method
def test_scores_are_finite_and_aligned(demo, method):
    explanation = piste.explain(REVIEW, demo, QUICK[method])
    assert explanation.primary in explanation.scores
    for scores in (*explanation.scores.values(), *explanation.errors.values()):
        assert scores.shape == (len(explanation.players),)
        assert np.isfinite(scores).all()
    assert not explanation.errors or explanation.errors.keys() == explanation.scores.keys()
    assert explanation.method == method


@every_method
@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
def test_the_same_seed_gives_the_same_bits(demo, method, unit):
    first, second = (
        piste.explain(REVIEW, demo, QUICK[method], unit=unit, seed=7) for _ in range(2)
    )
    for name, scores in first.scores.items():
        assert scores.tobytes() == second.scores[name].tobytes()
    assert first.fidelity == second.fidelity


@every_method
def test_the_backend_does_not_change_the_scores(demo, compiled_demo, method):
    torch, compiled = (piste.explain(REVIEW, c, QUICK[method]) for c in (demo, compiled_demo))
    for kind, scores in torch.scores.items():
        size = np.abs(scores).max()
        assert compiled.scores[kind] == pytest.approx(
            scores, rel=1e-4, abs=ROUNDING.get(method, 1e-4) * size
        ), kind
    assert "openvino" in compiled.backend
    assert "torch" in torch.backend


@every_method
@pytest.mark.parametrize("name", ["demo", "compiled_demo", "bert", "gpt2"])
def test_the_batch_size_does_not_change_the_scores(name, method, request):
    classifier = request.getfixturevalue(name)
    reference = piste.explain(REVIEW[:150], classifier, QUICK[method])
    for batch_tokens in (1, 50):
        other = piste.explain(REVIEW[:150], classifier, QUICK[method], batch_tokens=batch_tokens)
        for kind, scores in reference.scores.items():
            size = np.abs(scores).max()
            assert other.scores[kind] == pytest.approx(
                scores, rel=1e-4, abs=ROUNDING.get(method, 1e-4) * size
            ), kind


@every_method
def test_the_budget_is_respected(demo, method):
    explanation = piste.explain(REVIEW, demo, QUICK[method], budget=70)
    assert 0 < explanation.cost.forwards <= 70
    assert explanation.cost.tokens > 0
    if method in ("attention", "gradients", "rollout"):  # one pass is all they need
        assert piste.explain(REVIEW, demo, QUICK[method], budget=2).cost.forwards <= 2
    else:
        with pytest.raises(SettingError, match="at least"):
            piste.explain(REVIEW, demo, QUICK[method], budget=9)


@every_method
def test_special_tokens_are_never_scored(demo, method):
    explanation = piste.explain(REVIEW, demo, QUICK[method], unit="token")
    special = set(demo.tokenizer.all_special_ids)
    assert not special & {token for player in explanation.players for token in player.ids}


@every_method
def test_json_gives_it_back(demo, method):
    explanation = piste.explain(REVIEW, demo, QUICK[method])
    assert piste.Explanation.from_dict(explanation.to_dict()) == explanation


@every_method
def test_it_can_be_shown(demo, method):
    explanation = piste.explain("The plot is thin, but the acting is superb.", demo, QUICK[method])
    assert method in str(explanation)
    assert "superb" in explanation.to_html()


@every_method
def test_the_target_turns_signed_scores_round(demo, method):
    """Two classes: what speaks for one speaks against the other; weights stay as they are."""
    text = "The plot is thin, but the acting is superb."
    # Rounds ask by chance: what is drawn for one target is not drawn for the other.
    chosen = QUICK[method] if method != "slalom" else piste.Slalom(adaptive=False)
    towards = piste.explain(text, demo, chosen, target="positive")
    against = piste.explain(text, demo, chosen, target="negative")
    name = towards.primary
    signed = name not in ("alpha-avg", "rollout", "anchor")
    sign = -1 if signed else 1
    assert against.scores[name] == pytest.approx(sign * towards.scores[name], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", sorted(EDGE_TEXTS))
@every_method
def test_edge_texts_have_a_defined_result(demo, method, name):
    text = EDGE_TEXTS[name]
    if method == "occlusion" and name == "ten thousand words":
        text = text[:1000]  # a sequence for each word, each as long as the text
    for unit in ("word", "token", "sentence"):
        explanation = piste.explain(text, demo, QUICK[method], unit=unit)
        assert explanation.players
        assert all(np.isfinite(scores).all() for scores in explanation.scores.values())
        assert all(len(s) == len(explanation.players) for s in explanation.scores.values())
        assert all(text[p.start : p.end] == p.text for p in explanation.players)
        explanation.to_json()


@pytest.mark.parametrize("method", INSIDE)
def test_methods_that_look_inside_say_that_a_function_has_no_inside(method):
    classifier = piste.from_function(lambda texts: np.array([float(len(t)) for t in texts]))
    with pytest.raises(SettingError):
        piste.explain("a b c", classifier, QUICK[method])


@pytest.mark.parametrize("method", sorted(QUICK.keys() - set(INSIDE)))
def test_all_others_explain_any_function(method):
    classifier = piste.from_function(lambda texts: np.array([t.count("a") - 1.5 for t in texts]))
    explanation = piste.explain("a b a c d a e f", classifier, QUICK[method])
    assert np.isfinite(explanation.scores[explanation.primary]).all()
