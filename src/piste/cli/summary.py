"""`piste summary`: the words of a whole run, or of a lexicon."""

from pathlib import Path
from typing import Annotated

import typer

from piste.cli import options
from piste.cli.common import check_paths, shown


def summary(
    source: Annotated[Path, typer.Argument(help="A folder of `piste run`, or a lexicon's file.")],
    json: options.Json = None,
    html: options.Html = None,
    figure: options.FigureFile = None,
) -> None:
    """What each word is worth over all texts, where it turns, and what it spoils."""
    from json import dumps

    from piste.files import write_atomic
    from piste.render import corpus
    from piste.runs.corpus import summarise

    check_paths(json, html, figure)
    found = summarise(source)
    if html is not None:
        write_atomic(html, corpus.page(found))
        typer.echo(f"Wrote {html}", err=True)
    if figure is not None:
        corpus.draw(found, figure)
        typer.echo(f"Wrote {figure}", err=True)
    if json == "-":
        typer.echo(dumps(found.to_dict()))
        return
    if json is not None:
        write_atomic(json, dumps(found.to_dict()) + "\n")
        typer.echo(f"Wrote {json}", err=True)
    shown(found, corpus.show)
