"""What the model says of the target: one answer for the tools, the page, the widget and flips."""

import numpy as np
import pytest

import piste
from piste.decision import Decision
from piste.mcp import answers
from piste.mcp.tools import Question, Tools
from piste.options import Options
from piste.render.widget import Removals
from piste.web.trials import OpenDecision, edit, removal

TEXT = "apple bread here"


def model(outputs="label-logits"):
    """Without "bread", A alone is above 0."""

    def scores(texts):
        return [[-3 + 6 * ("apple" in t.split()), -3 + 4 * ("bread" in t.split())] for t in texts]

    return piste.from_function(scores, ["A", "B"], outputs=outputs, name="two")


@pytest.mark.parametrize(
    ("outputs", "whole", "rest"),
    [("label-logits", "B", "not B"), ("logits", "A", "A"), ("raw", "B", "B")],
)
def test_the_decision_on_a_label_is_its_own_unless_others_exclude_it(outputs, whole, rest):
    decision = Decision.on(TEXT, model(outputs), Options(target="B"))
    logits = decision.logits(decision.players.whole)[0]
    assert decision.said(logits) == whole
    assert decision.without({1})[1] == rest


def test_one_output_says_its_label_or_not():
    toxic = piste.from_function(
        lambda texts: [[4.0 * ("bad" in t) - 2] for t in texts], ["toxic"], outputs="label-logits"
    )
    decision = Decision.on("bad tea", toxic)
    assert decision.said(np.array([2.0])) == "toxic"
    assert decision.said(np.array([-2.0])) == "not toxic"


def without(classifier):
    tools, question = Tools({"two": lambda: classifier}), Question(TEXT, target="B")
    explanation = tools.explained(question)
    trial = tools.answer_without(question, explanation, [1])
    return explanation, answers.without(explanation, [1], trial, (None, None))


def test_a_tool_says_the_same_as_flip():
    explanation, told = without(model())
    assert told.new_label == explanation.flip.label == "not B"
    assert "then says not B: log-odds −3.00 instead of +1.00 for B" in told.answer


def test_a_tool_says_no_decision_of_a_number():
    _, told = without(model("raw"))
    assert "the model gives raw score −3.00 instead of +1.00 for B" in told.answer
    assert "says" not in told.answer.splitlines()[0]


def test_the_page_says_the_same():
    classifier = model()
    explanation = piste.explain(TEXT, classifier, target="B")
    tried = OpenDecision(Decision.on(TEXT, classifier, Options(target="B")))
    for answer in (
        removal(tried, explanation, {1}),
        edit(tried, explanation, "apple here", None),
    ):
        assert (answer.before, answer.decision) == ("B", "not B")


@pytest.mark.parametrize(
    ("outputs", "says"), [("label-logits", "says not B"), ("logits", "says A"), ("raw", "")]
)
def test_the_widget_says_the_same(outputs, says):
    classifier = model(outputs)
    explanation = piste.explain(TEXT, classifier, target="B")
    decision = Decision.on(TEXT, classifier, Options(target="B"))
    assert Removals(explanation, decision).answer([1])["rows"][-1]["says"] == says
