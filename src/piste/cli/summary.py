"""`piste summary`: the words of a whole run, or of a lexicon."""

from pathlib import Path
from typing import Annotated

import typer

from piste.cli import options
from piste.cli.common import check_paths, shown, write


def summary(
    source: Annotated[Path, typer.Argument(help="A folder of `piste run`, or a lexicon's file.")],
    json: options.Json = None,
    html: options.Html = None,
    figure: options.FigureFile = None,
) -> None:
    """What each word is worth over all texts, where it turns, and what it spoils."""
    from piste.render.corpus import show
    from piste.runs.word_summary import summarise

    check_paths(json, html, figure)
    summary = summarise(source)
    write(summary, json, html, figure)
    if json != "-":
        shown(summary, show)
