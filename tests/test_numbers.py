"""Models whose numbers are odd: an explanation that can be shown and kept, or a clear error."""

import numpy as np
import pytest
import torch

import piste
from piste.errors import OutputError, PisteError, SettingError, several
from tests.conftest import tiny_bert

TEXT = "the film was good, the acting superb and the plot not bad"
ASKING = [name for name, method in piste.METHODS.items() if not method.needs]
INSIDE = [name for name, method in piste.METHODS.items() if method.needs]
CONSTANT = {
    "constant": lambda texts: [0.7] * len(texts),
    "always 0": lambda texts: [0.0] * len(texts),
    "constant logits": lambda texts: [[3.0, 1.0, 2.0]] * len(texts),
}
SATURATED = {
    "margins": lambda texts: [1e4 if "good" in text else -1e4 for text in texts],
    "logits": lambda texts: [[-1e4, 1e4] if "good" in text else [1e4, -1e4] for text in texts],
}
BROKEN = {
    "nan": lambda texts: [float("nan")] * len(texts),
    "inf": lambda texts: [float("inf")] * len(texts),
    "one class of minus infinity": lambda texts: [[1.0, float("-inf")]] * len(texts),
    "nan where a word is missing": lambda t: [1.0 if "good" in x else float("nan") for x in t],
    "a thousand of them": lambda texts: np.full((len(texts), 1000), np.nan),
}


def whole(explanation: piste.Explanation) -> piste.Explanation:
    """Every rendering works, and every score is a number."""
    assert all(np.isfinite(scores).all() for scores in explanation.scores.values())
    assert str(explanation)
    assert explanation.to_html()
    assert piste.Explanation.from_dict(explanation.to_dict()) == explanation
    return explanation


@pytest.mark.parametrize("method", ASKING)
@pytest.mark.parametrize("kind", CONSTANT)
def test_a_constant_model(kind: str, method: str) -> None:
    found = whole(piste.explain(TEXT, piste.from_function(CONSTANT[kind]), method))
    if method in ("context", "lime", "kernel-shap", "occlusion", "linear", "gam"):
        assert np.ptp(found.scores[found.primary]) < 1e-3  # no word says more than another


@pytest.mark.parametrize("method", ASKING)
@pytest.mark.parametrize("kind", SATURATED)
def test_saturated_logits(kind: str, method: str) -> None:
    found = whole(piste.explain(TEXT, piste.from_function(SATURATED[kind]), method))
    assert "over 99.9 %" in str(found)
    assert found.target.probability == 1.0
    strongest = found.top(1)[0].player.text
    assert strongest == "good"


@pytest.mark.parametrize("kind", BROKEN)
def test_answers_that_are_no_numbers_are_told_in_a_line(kind: str) -> None:
    with pytest.raises(OutputError, match="not finite") as caught:
        piste.explain(TEXT, piste.from_function(BROKEN[kind]))
    assert len(str(caught.value)) < 600


def test_probabilities_that_are_no_numbers() -> None:
    for shape in [(), (3,)]:
        asked = piste.from_function(
            lambda texts, shape=shape: np.full((len(texts), *shape), np.nan),
            outputs="probabilities",
        )
        with pytest.raises(OutputError, match="not finite"):
            piste.explain(TEXT, asked)


def test_weights_that_are_no_numbers(wordpiece) -> None:
    model = tiny_bert(len(wordpiece))
    with torch.no_grad():
        model.classifier.weight.fill_(float("nan"))
    asked = piste.load(model, wordpiece, backend="torch")
    for method in ("context", "slalom", *INSIDE):
        with pytest.raises(OutputError, match="not finite"):
            piste.explain(TEXT, asked, method)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("method", ["context", "slalom", "lime", *INSIDE])
def test_other_precisions(method: str, dtype: torch.dtype, wordpiece) -> None:
    model = tiny_bert(len(wordpiece)).to(dtype)
    found = whole(piste.explain(TEXT, piste.load(model, wordpiece, backend="torch"), method))
    assert {weight.dtype for weight in model.parameters()} == {dtype}
    with torch.no_grad():
        logits = model(**wordpiece(TEXT, return_tensors="pt")).logits[0].double()
    expected = float(logits.max() - logits.min())
    assert found.target.score == pytest.approx(expected, rel=0.05, abs=0.05)


def test_half_precision_is_near_full_precision(wordpiece) -> None:
    # Not by a method that chooses its questions by the answers: it would ask others.
    model = tiny_bert(len(wordpiece))
    full = piste.explain(TEXT, piste.load(model, wordpiece, backend="torch"), "occlusion")
    model = tiny_bert(len(wordpiece)).to(torch.float16)
    half = piste.explain(TEXT, piste.load(model, wordpiece, backend="torch"), "occlusion")
    assert np.corrcoef(full.scores["removal"], half.scores["removal"])[0, 1] > 0.999


def test_half_precision_that_overflows(wordpiece) -> None:
    model = tiny_bert(len(wordpiece)).to(torch.float16)
    with torch.no_grad():
        model.classifier.bias.copy_(torch.tensor([60000.0, -60000.0]))
        model.classifier.weight.mul_(60000.0)
    with pytest.raises(PisteError):
        piste.explain(TEXT, piste.load(model, wordpiece, backend="torch"))


def test_dropout_is_off_while_we_ask_and_on_again(wordpiece) -> None:
    model = tiny_bert(len(wordpiece), hidden_dropout_prob=0.5, classifier_dropout=0.5)
    calm = piste.explain(TEXT, piste.load(model.eval(), wordpiece, backend="torch"))
    asked = piste.load(model.train(), wordpiece, backend="torch")
    for method in ("context", "slalom", *INSIDE):
        first, second = piste.explain(TEXT, asked, method), piste.explain(TEXT, asked, method)
        assert (first.scores[first.primary] == second.scores[first.primary]).all()
        assert first.target == calm.target
        assert all(module.training for module in model.modules())


def test_training_mode_comes_back_after_an_error(wordpiece, monkeypatch) -> None:
    model = tiny_bert(len(wordpiece)).train()
    asked = piste.load(model, wordpiece, backend="torch")

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "forward", fail)
    for method in ("context", "slalom", "gradients"):
        with pytest.raises(KeyboardInterrupt):
            piste.explain(TEXT, asked, method)
        assert all(module.training for module in model.modules())
        assert all(weight.requires_grad for weight in model.parameters())


def test_a_thousand_classes(wordpiece) -> None:
    model = tiny_bert(len(wordpiece), num_labels=1000)
    asked = piste.load(model, wordpiece, backend="torch")
    found = whole(piste.explain(TEXT, asked))
    assert len(found.target.labels) == 1000
    for shown in (str(found), found.to_html(), repr(asked), repr(found)):
        assert shown.count("LABEL_") < 20
    compared = piste.compare(TEXT, asked, ["slalom", "occlusion", "gradients"])
    for shown in (str(compared), compared.to_html()):
        assert shown.count("LABEL_") < 20


def test_a_thousand_classes_are_not_listed_in_an_error(wordpiece) -> None:
    asked = piste.load(tiny_bert(len(wordpiece), num_labels=1000), wordpiece, backend="torch")
    with pytest.raises(SettingError, match=r"Did you mean 'LABEL_\d+'.*and 97\d more") as caught:
        piste.explain(TEXT, asked, target="LABLE_7")
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("name", CONSTANT)
def test_what_rounding_leaves_of_a_constant_model_reads_as_nothing(name):
    shown = str(piste.explain(TEXT, piste.from_function(CONSTANT[name])))
    assert "e−1" not in shown
    assert "██" not in shown


def test_things_are_counted_in_the_singular_and_the_plural():
    assert [several(n, "text") for n in (0, 1, 1200)] == ["0 texts", "1 text", "1,200 texts"]
    assert several(2, "pass") == "2 passes"
