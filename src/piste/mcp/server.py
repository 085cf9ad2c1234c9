"""`piste mcp`: a server of the Model Context Protocol on standard input and output."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ParamSpec, TypeVar

from anyio import from_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ContentBlock, TextContent, ToolAnnotations
from pydantic import Field, StrictInt, StrictStr, TypeAdapter

from piste.errors import PisteError, SettingError
from piste.extras import installed
from piste.mcp import answers
from piste.mcp.tools import Load, Question, Tools, places
from piste.options import Effort

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
ABOUT = """\
Explains why a transformer classified a text as it did. Start with `explain`; every answer says how
far it can be trusted (fidelity) and what it cost. Scores are towards one label, on the scale that
the answer names: above 0 a word speaks for the label. Heed warnings before you quote a score."""
# Nothing is changed anywhere, and the same question has the same answer.
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Text = Annotated[str, Field(description="The text that was classified.", min_length=1)]
Pair = Annotated[
    str | None, Field(description="The second text, for a model that classifies two at once.")
]
Target = Annotated[
    str | None, Field(description="The label to explain; by default the predicted one.")
]
Against = Annotated[
    str | None, Field(description="Explain why the target rather than this label (or runner-up).")
]
EffortGiven = Annotated[
    Effort | None,
    Field(description="How much to ask: quick (no interactions in long texts) to thorough."),
]
Model = Annotated[
    str | None, Field(description="One of the models of this server; by default the first.")
]
Removed = Annotated[
    list[StrictStr | StrictInt],  # true is no number here
    Field(
        description="Words as they stand in the text (every occurrence goes), or numbers of places"
        " (`index` in explain's words)."
    ),
]
Methods = Annotated[
    list[str] | None,
    Field(description="Names such as context, lime, kernel-shap; by default seven usual ones."),
]
Measure = Annotated[
    bool, Field(description="Also try each explanation on the model: some hundred sequences more.")
]


def serve(load: Mapping[str, Load]) -> None:
    """Answer on standard input and output until the other side ends."""
    server(load).run("stdio")


def server(load: Mapping[str, Load]) -> MCPServer:
    """The server with its four tools; the models are loaded when they are first asked."""
    if not load:
        raise SettingError("There is no model to serve.", "Give one: --model demo.")
    version = installed("piste") or ""
    made = MCPServer("piste", instructions=ABOUT, version=version, log_level="ERROR")
    bound = _Bound(Tools(load))
    for tool in (bound.explain, bound.compare, bound.predict_without, bound.flip):
        made.add_tool(_told(tool), annotations=READS)
    return made


def _told(tool: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """The tool, whose mistakes a user can mend reach the other side as cause and remedy."""

    @functools.wraps(tool)
    def called(*args: Arguments.args, **named: Arguments.kwargs) -> Answer:
        try:
            return tool(*args, **named)
        except PisteError as error:
            raise ToolError(str(error)) from error

    return called


class _Bound:
    """The tools as the protocol shows them: names, arguments and docstrings are its schema."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools

    def explain(
        self,
        context: Context,
        text: Text,
        pair: Pair = None,
        target: Target = None,
        against: Against = None,
        effort: EffortGiven = None,
        model: Model = None,
    ) -> Annotated[CallToolResult, answers.Explained]:
        """Why the model decided as it did: what every word contributes, and which act together."""
        question = Question(text, pair, target, against, effort, model)
        return _result(answers.explained(self.tools.explained(question, _progress(context))))

    def compare(
        self,
        context: Context,
        text: Text,
        methods: Methods = None,
        measure: Measure = False,
        pair: Pair = None,
        target: Target = None,
        model: Model = None,
    ) -> Annotated[CallToolResult, answers.Compared]:
        """Several explanation methods on one decision: do they agree, and which one to trust."""
        question = Question(text, pair, target, model=model)
        found = self.tools.compared(question, methods, measure, _progress(context))
        return _result(answers.compared(found))

    def predict_without(
        self,
        context: Context,
        text: Text,
        words: Removed,
        pair: Pair = None,
        target: Target = None,
        against: Against = None,
        effort: EffortGiven = None,
        model: Model = None,
    ) -> Annotated[CallToolResult, answers.Without]:
        """What the model says without some words: its own answer, beside the predicted one."""
        question = Question(text, pair, target, against, effort, model)
        explanation = self.tools.explained(question, _progress(context))
        removed = places(explanation, words)
        trial = self.tools.answer_without(question, explanation, removed)
        kept = [i for i in range(len(explanation.players)) if i not in set(removed)]
        guess = explanation.predict(kept)
        told = answers.without(explanation, removed, trial, (guess.score, guess.error))
        return _result(told)

    def flip(
        self,
        context: Context,
        text: Text,
        pair: Pair = None,
        target: Target = None,
        against: Against = None,
        effort: EffortGiven = None,
        model: Model = None,
    ) -> Annotated[CallToolResult, answers.Flipped]:
        """The fewest words whose removal turns the decision, verified on the model."""
        question = Question(text, pair, target, against, effort, model)
        return _result(answers.flipped(self.tools.explained(question, _progress(context))))


def _progress(context: Context) -> Callable[[int, int], None]:
    """Progress for who waits; tools run in threads of their own, and report through the loop."""

    def report(done: int, planned: int) -> None:
        from_thread.run(context.report_progress, float(done), float(planned))

    return report


def _result(answer: Any) -> CallToolResult:
    """The answer in words, and as data."""
    data = TypeAdapter(type(answer)).dump_python(answer, mode="json")
    content: list[ContentBlock] = [TextContent(type="text", text=answer.answer)]
    return CallToolResult(content=content, structured_content=data)
