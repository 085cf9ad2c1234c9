"""`piste reproduce`: one table or figure of the papers, made anew."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from piste.cli import options
from piste.errors import SettingError

if TYPE_CHECKING:
    from rich.console import Console

    from piste.experiments import Outcome


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which one; --list names them.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for table, figures, settings.")] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List what can be reproduced.")] = False,
    scale: Annotated[str, typer.Option(help="small (minutes, two cores) or paper.")] = "small",
    data: Annotated[
        Path | None, typer.Option(help="A folder with the data sets: imdb/, yelp/, yelp_hat/.")
    ] = None,
    device: options.Device = None,
    pretrained: Annotated[
        str | None,
        typer.Option(help="Start from these weights (a hub name or a folder), not from ours."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of training and of sampling.")] = 0,
) -> None:
    """Make a table or figure of the papers anew: our figures beside theirs."""
    from rich.console import Console
    from rich.markup import escape

    shown = Console(highlight=False, markup=False)
    if list_them:
        _list(shown)
        return
    if name is None or out is None:
        missing = "There is no name." if name is None else "There is no folder for the results."
        raise SettingError(missing, "piste reproduce NAME --out DIR; --list names them.")
    from piste.experiments import EXPERIMENTS, Context, run
    from piste.experiments.report import write
    from piste.files import cache_directory

    started = time.perf_counter()
    with Console(stderr=True).status(escape(f"Running {name} ...")) as status:
        context = Context(
            cache_directory() / "experiments",
            scale,
            data,
            device,
            pretrained,
            seed,
            say=lambda line: status.update(escape(f"{name}: {line}")),
        )
        outcome = run(name, context)
    spent = time.perf_counter() - started
    paths = write(outcome, name, EXPERIMENTS[name], context, spent, out / name)
    _show(outcome, shown)
    for path in paths:
        typer.echo(f"Wrote {path}", err=True)


def _list(console: Console) -> None:
    from piste.cli.theory import table_of
    from piste.experiments import EXPERIMENTS

    table = table_of(("name", "what", "paper", "reads"))
    for name, item in EXPERIMENTS.items():
        table.add_row(name, item.what, item.source, ", ".join(item.data) or "nothing")
    console.print(table)
    console.print(
        "\nA is arXiv 2405.13536, B is arXiv 2402.03485. What an item reads is a folder of --data."
    )


def _show(outcome: Outcome, console: Console) -> None:
    from piste.cli.theory import measured_table

    for found in outcome.tables:
        console.print(measured_table(found))
        console.print()
    for sentence in outcome.findings:
        console.print(f"· {sentence}")
