"""Options that several commands share, each said once; those of an explanation from its table."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from piste.options import UNITS, Options

Command = TypeVar("Command", bound=Callable[..., None])
PANEL = "How to explain"
SHOWN: Any = {"rich_help_panel": "What to show"}
OF_ONE_TEXT = ("spans", "pair_spans")
NOT_SHOWN = ("batch_tokens",)  # for programs: the scores stay the same


def takes_settings(leave_out: Collection[str] = ()) -> Callable[[Command], Command]:
    """Give a command an option for every setting of `Options`: it gets them as `**settings`."""
    fields = [
        field for field in dataclasses.fields(Options) if field.name not in (*NOT_SHOWN, *leave_out)
    ]

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command)
        own = [p for p in signature.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        parameters = [*own, *map(_parameter, fields)]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def _parameter(field: dataclasses.Field[Any]) -> Parameter:
    kind, names = field.metadata["kind"], field.metadata["names"]
    kind = str if kind is tuple else kind  # spans, in writing
    completion = among(*names) if names else None
    option = typer.Option(
        help=field.metadata["help"], autocompletion=completion, rich_help_panel=PANEL
    )
    wanted = kind | None if field.default is None else kind
    return Parameter(
        field.name,
        Parameter.KEYWORD_ONLY,
        default=field.default,
        annotation=Annotated[wanted, option],
    )


def _methods() -> list[str]:
    """For the shell's completion: loaded only when Tab is pressed."""
    from piste.methods import METHODS

    return list(METHODS)


def _metrics() -> list[str]:
    from piste.metrics import METRICS

    return list(METRICS)


def each_of(names: Callable[[], list[str]]) -> Callable[[str], list[str]]:
    """Complete the last of several names with commas between them."""

    def complete(incomplete: str) -> list[str]:
        before, comma, _ = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names()]

    return complete


METHODS, METRICS = each_of(_methods), each_of(_metrics)


def among(*names: str) -> Callable[[], list[str]]:
    """Complete one of these."""
    return lambda: list(names)


Text = Annotated[str | None, typer.Argument(help="Text to explain; - reads standard input.")]
File = Annotated[Path | None, typer.Option(help="Read the text from a file (UTF-8).")]
Model = Annotated[
    str, typer.Option(help="Hugging Face hub name or folder; demo is the embedded model.")
]
Pair = Annotated[str | None, typer.Option(help="Second text, for models that classify pairs.")]
Method = Annotated[
    str, typer.Option(help="Explanation method; see `piste methods`.", autocompletion=_methods)
]
Unit = Annotated[
    str,
    typer.Option(
        help="word, token, phrase, noun-chunk or sentence.",
        autocompletion=among(*UNITS[:-1]),
    ),
]
Seed = Annotated[int, typer.Option(help="Same seed, same scores.")]
Json = Annotated[
    str | None,
    typer.Option(metavar="FILE|-", help="Write JSON to a file, or - for standard output."),
]
Html = Annotated[Path | None, typer.Option(help="Write a web page.")]
FigureFile = Annotated[Path | None, typer.Option(help="Draw a figure: .png, .svg or .pdf.")]
Device = Annotated[
    str | None,
    typer.Option(
        help="cpu, cuda or mps. Default: cpu.", autocompletion=among("cpu", "cuda", "mps")
    ),
]
Brief = Annotated[
    bool, typer.Option("--brief", help="Show the answer and the words only.", **SHOWN)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Show nothing: files and exit code only.", **SHOWN)
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run code that comes with the model. Only for sources you trust.",
    ),
]
Data = Annotated[
    str,
    typer.Argument(help="JSON lines, CSV or Parquet file, a folder of them, or a hub data set."),
]
Limit = Annotated[int | None, typer.Option(help="Only the first N texts.")]
TextColumn = Annotated[str, typer.Option(help="Column with the text.")]
LabelColumn = Annotated[str, typer.Option(help="Column with the label.")]
IdColumn = Annotated[str, typer.Option(help="Column with the text's id.")]
Split = Annotated[str, typer.Option(help="Split of a hub data set.")]


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Where a result goes besides the terminal, and how the model behind it is loaded."""

    json: Json = None
    html: Html = None
    figure: FigureFile = None
    device: Device = None
    trust_remote_code: TrustRemoteCode = False


NOWHERE = Outputs()


def takes_outputs(command: Command) -> Command:
    """Give a command the options of `Outputs` in place of its parameter `outputs`."""
    signature, hints = inspect.signature(command), get_type_hints(Outputs, include_extras=True)
    fields = dataclasses.fields(Outputs)
    own = [
        Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
        for f in fields
    ]

    @functools.wraps(command)
    def gathered(*arguments: Any, **given: Any) -> None:
        outputs = Outputs(**{field.name: given.pop(field.name) for field in fields})
        command(*arguments, outputs=outputs, **given)

    parameters: list[Parameter] = []
    for parameter in signature.parameters.values():
        parameters += own if parameter.name == "outputs" else [parameter]
    order = [p for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
    named = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in order]
    rest = [p for p in parameters if p.kind is Parameter.VAR_KEYWORD]
    gathered.__signature__ = signature.replace(parameters=[*named, *rest])  # type: ignore[attr-defined]
    return gathered  # type: ignore[return-value]
