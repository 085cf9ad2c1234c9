"""Options that several commands share, each said once."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer


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


Text = Annotated[str | None, typer.Argument(help="The text; - reads standard input.")]
File = Annotated[Path | None, typer.Option(help="Read the text from a UTF-8 file.")]
Model = Annotated[str, typer.Option(help="A hub name, a directory, or demo (the embedded model).")]
Target = Annotated[
    str | None,
    typer.Option(help="The label to explain, predicted or runner-up; without it, the predicted."),
]
Pair = Annotated[
    str | None, typer.Option(help="A second text, for a model that classifies two at once.")
]
Method = Annotated[str, typer.Option(help="See `piste methods`.", autocompletion=_methods)]
Unit = Annotated[
    str,
    typer.Option(
        help="word, token or sentence.", autocompletion=among("word", "token", "sentence")
    ),
]
Repeats = Annotated[
    str,
    typer.Option(
        help="Equal words: shared (one score) or separate.",
        autocompletion=among("shared", "separate"),
    ),
]
Long = Annotated[
    str,
    typer.Option(
        help="Longer than the model reads: truncate, or windows.",
        autocompletion=among("truncate", "windows"),
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="Ask until the strongest scores are known so well: 0.1 is a tenth."),
]
Seed = Annotated[int, typer.Option(help="Same seed, same scores.")]
Json = Annotated[str | None, typer.Option(metavar="FILE|-", help="Write the result as JSON.")]
Html = Annotated[Path | None, typer.Option(help="Write a page that opens in a browser.")]
FigureFile = Annotated[Path | None, typer.Option(help="Draw it to a .png, .svg or .pdf file.")]
Device = Annotated[
    str | None,
    typer.Option(
        help="cpu, cuda, mps; without it, the CPU.", autocompletion=among("cpu", "cuda", "mps")
    ),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Run code that comes with the model. It may do harm."),
]
EachBudget = Annotated[
    int | None, typer.Option(help="Most sequences each method may ask of the model.")
]
Data = Annotated[
    str, typer.Argument(help="JSON lines, CSV, Parquet, a folder of them, or a hub data set.")
]
Limit = Annotated[int | None, typer.Option(help="Only so many texts, from the first.")]
TextColumn = Annotated[str, typer.Option(help="The column that holds the text.")]
LabelColumn = Annotated[str, typer.Option(help="The column that holds the label.")]
IdColumn = Annotated[str, typer.Option(help="The column that names the text.")]
Split = Annotated[str, typer.Option(help="Which part of a named data set.")]
