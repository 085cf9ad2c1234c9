"""The server of tools, asked by the SDK's own client over standard input and output."""

import asyncio
import json
import os
import sys
import textwrap
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

import piste
from piste.mcp import tools
from piste.mcp.server import server
from tests.pages.transcripts import differs
from tests.web.servers import TEXT, toy

ROOT = Path(__file__).parents[2]


def asked(*calls, load=None):
    """The answers to these calls, of a server in this process."""

    async def conversation():
        async with Client(server(load or {"toy": toy})) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(conversation())


def words_of(answer):
    (content,) = answer.content
    return content.text


def test_a_client_over_stdio_finds_the_tools_and_gets_answers():
    """The real command as a process: nothing but the protocol may stand on its output."""
    source = str(Path(piste.__file__).parents[1])
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "piste", "mcp", "--model", "demo"],
        env={**os.environ, "PYTHONPATH": source},
    )

    async def conversation():
        async with Client(parameters) as client:
            listed = (await client.list_tools()).tools
            progress = []

            async def heard(done, total, message):
                progress.append((done, total))

            arguments = {"text": TEXT, "effort": "quick"}
            answer = await client.call_tool("explain", arguments, progress_callback=heard)
            return listed, answer, progress

    listed, answer, progress = asyncio.run(conversation())
    assert [tool.name for tool in listed] == ["explain", "compare", "predict_without", "flip"]
    for tool in listed:
        assert {"answer", "decision", "fidelity", "cost"} <= set(tool.output_schema["properties"])
        assert "context" not in tool.input_schema["properties"]
        assert tool.description
        assert tool.annotations.read_only_hint
    assert not answer.is_error
    assert answer.structured_content["decision"]["label"] == "positive"
    assert progress


def test_an_explanation_is_that_of_piste_in_words_and_as_data():
    (answer,) = asked(("explain", {"text": TEXT}))
    expected = piste.explain(TEXT, toy())
    data = answer.structured_content
    assert [word["word"] for word in data["words"]] == [p.text for p in expected.players]
    scores = [word["score"] for word in data["words"]]
    assert scores == pytest.approx(expected.scores["effect"].tolist(), abs=1e-6)
    assert data["base"] + sum(scores) == pytest.approx(data["decision"]["score"])
    assert "“superb” +2.00" in words_of(answer)
    assert data["answer"] == words_of(answer)
    json.dumps(data)


def test_every_answer_tells_fidelity_and_cost():
    calls = (
        ("explain", {"text": TEXT}),
        ("compare", {"text": TEXT, "methods": ["context", "occlusion"], "measure": True}),
        ("predict_without", {"text": TEXT, "words": ["superb"]}),
        ("flip", {"text": TEXT}),
    )
    for answer in asked(*calls):
        data = answer.structured_content
        assert data["fidelity"]["in_words"] in words_of(answer)
        assert data["cost"]["in_words"] in words_of(answer)
        assert data["cost"]["sequences"] > 0
        assert data["fidelity"]["rating"] in ("very good", "exact")


def test_the_answer_without_words_is_the_models_own():
    text = "good good film"
    (both, one) = asked(
        ("predict_without", {"text": text, "words": ["good"]}),
        ("predict_without", {"text": text, "words": [0]}),
    )
    assert both.structured_content["removed"] == ["good", "good"]
    assert both.structured_content["score"] == pytest.approx(0.0)
    assert one.structured_content["score"] == pytest.approx(1.5)
    assert one.structured_content["predicted"] == pytest.approx(1.5, abs=0.05)
    assert one.structured_content["new_label"] == "positive"


def test_the_answer_without_words_costs_what_was_asked():
    answered = []

    def counting():
        return piste.from_function(
            lambda texts: answered.extend(texts) or [float("good" in text) for text in texts],
            ["negative", "positive"],
        )

    text = "a good film"
    calls = [("explain", {"text": text}), ("predict_without", {"text": text, "words": ["film"]})]
    explained, without = asked(calls[0], calls[1], load={"counting": counting})
    more = without.structured_content["cost"]["sequences"]
    more -= explained.structured_content["cost"]["sequences"]
    assert answered[-more:] == [text, "a good"]
    assert f"and {more} sequences for this answer" in words_of(without)


def test_what_turns_the_decision_is_verified():
    (answer,) = asked(("flip", {"text": "good film but thin plot"}))
    found = answer.structured_content["turned_by_removing"]
    assert found["words"] == ["good"]
    assert found["new_label"] == "negative"
    assert found["score"] == pytest.approx(-1.0)
    (none,) = asked(("flip", {"text": "superb superb good"}))
    assert none.structured_content["turned_by_removing"] is None or words_of(none)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("predict_without", {"text": TEXT, "words": ["awful"]}, "Its words are: The, plot"),
        ("predict_without", {"text": TEXT, "words": [99]}, "The last is"),
        ("predict_without", {"text": "good", "words": ["good"]}, "Leave at least one"),
        ("predict_without", {"text": TEXT, "words": []}, "Give words of the text"),
        ("predict_without", {"text": TEXT, "words": [True]}, "valid integer"),
        ("predict_without", {"text": TEXT, "words": ["superb", False]}, "valid integer"),
        ("explain", {"text": TEXT, "model": "tyo"}, "Did you mean 'toy'?"),
        ("explain", {"text": TEXT, "target": "postive"}, "Did you mean 'positive'?"),
        ("explain", {"text": TEXT, "target": "all"}, "Name the label"),
        ("compare", {"text": TEXT, "methods": ["shapp"]}, "Valid:"),
    ],
)
def test_mistakes_are_answers_that_say_what_to_do(name, arguments, said):
    (answer,) = asked((name, arguments))
    assert answer.is_error
    assert said in words_of(answer)


def test_a_label_called_all_can_be_asked_for():
    def of_all():
        return piste.from_function(
            lambda texts: [[1.0, float("good" in text)] for text in texts], ["some", "all"]
        )

    calls = [
        ("explain", {"text": "a good film", "target": "all"}),
        ("predict_without", {"text": "a good film", "target": "all", "words": ["good"]}),
        ("compare", {"text": "a good film", "target": "all", "methods": ["context", "occlusion"]}),
    ]
    answers = asked(*calls, load={"of all": of_all})
    assert not any(answer.is_error for answer in answers)
    assert answers[0].structured_content["decision"]["label"] == "all"
    assert answers[1].structured_content["score"] == pytest.approx(-1.0)


def test_what_is_asked_about_is_not_forgotten(monkeypatch):
    """Of two texts too many, those go that nobody has asked about for longest."""
    monkeypatch.setattr(tools, "KEPT", 2)
    held = tools.Tools({"toy": toy})
    first, second, third = (tools.Question(text) for text in ("good", "good film", "bad film"))
    kept = held.explained(first)
    held.explained(second)
    assert held.explained(first) is kept
    held.explained(third)
    assert held.explained(first) is kept
    assert list(held.recent) == [third, first]


def test_truth_is_no_word():
    explanation = piste.explain(TEXT, toy())
    with pytest.raises(piste.PisteError, match="True is neither a word nor a number"):
        tools.places(explanation, [True])


def test_a_model_that_does_not_load_says_why_and_is_tried_again():
    (one, other) = asked(
        ("explain", {"text": TEXT}),
        ("explain", {"text": TEXT}),
        load={"gone": lambda: piste.load("no/such/folder/anywhere")},
    )
    assert one.is_error
    assert other.is_error
    assert "no/such/folder/anywhere" in words_of(one)


def test_text_that_hides_characters_is_shown():
    (answer,) = asked(("explain", {"text": "good \x1b[31m \u202e film"}))
    assert "\x1b" not in words_of(answer)
    assert "\u202e" not in words_of(answer)


def test_the_transcript_on_the_page_is_what_the_server_says():
    from scripts.mcp_transcript import BEGIN, END, PAGE, transcript

    shown = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    why = differs(textwrap.dedent(shown), asyncio.run(transcript()))
    assert not why, f"{why}\npython scripts/mcp_transcript.py --write"
