"""`piste summary`: the words of a whole run, or of a lexicon."""

from pathlib import Path
from typing import Annotated

import typer

from piste.cli import options
from piste.cli.common import check_paths, shown, write


def summary(
    source: Annotated[
        Path, typer.Argument(help="A folder written by `piste run`, or a lexicon file.")
    ],
    json: options.Json = None,
    html: options.Html = None,
    figure: options.FigureFile = None,
) -> None:
    """Summarise a run: what each word does over all texts, and which decide wrong predictions."""
    from piste.render.corpus import show
    from piste.runs.word_summary import summarise

    check_paths(json, html, figure)
    summary = summarise(source)
    write(summary, json, html, figure)
    if json != "-":
        shown(summary, show)
