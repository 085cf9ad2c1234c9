"""The command: `python -m papers list | run NAME --out DIR | theory`."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from papers.tables import Finding, Table
from piste.errors import PisteError

if TYPE_CHECKING:
    from papers.experiments import Outcome

app = typer.Typer(
    name="python -m papers",
    help="Reproduce the papers behind piste: tables, figures and claims.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("list")
def list_experiments() -> None:
    """List what can be reproduced."""
    from papers.experiments import EXPERIMENTS

    rows = [
        (name, item.what, item.source, ", ".join(item.data) or "nothing")
        for name, item in EXPERIMENTS.items()
    ]
    console = _console()
    console.print(_rich(Table("", ("name", "what", "paper", "reads"), tuple(rows))))
    console.print(
        "\nA is arXiv 2405.13536, B is arXiv 2402.03485. What an item reads is a folder of --data."
    )


@app.command("run")
def run_experiment(
    name: Annotated[str, typer.Argument(help="Which experiment; `list` names them.")],
    out: Annotated[Path, typer.Option(help="A folder for tables, figures and settings.")],
    scale: Annotated[
        str, typer.Option(help="small (minutes, two cores), paper, or tiny (seconds, to try out).")
    ] = "small",
    data: Annotated[
        Path | None, typer.Option(help="A folder with the data sets: imdb/, yelp/, yelp_hat/.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or mps; cpu by default.")] = None,
    pretrained: Annotated[
        str | None,
        typer.Option(help="Start from these weights (a hub name or a folder), not from ours."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of training and of sampling.")] = 0,
) -> None:
    """Reproduce a paper's table or figure: our numbers beside theirs."""
    from papers.experiments import EXPERIMENTS, Context, default_cache, run
    from papers.experiments.files import Spent, write

    started, worked = time.perf_counter(), time.process_time()
    with Console(stderr=True).status(escape(f"Running {name} ...")) as status:
        context = Context(
            default_cache(),
            scale,
            data,
            device,
            pretrained,
            seed,
            say=lambda line: status.update(escape(f"{name}: {line}")),
        )
        outcome = run(name, context)
    spent = Spent(time.perf_counter() - started, time.process_time() - worked)
    paths = write(outcome, name, EXPERIMENTS[name], context, spent, out / name)
    _show(outcome, _console())
    for path in paths:
        typer.echo(f"Wrote {path}", err=True)


@app.command("theory")
def check_theory(
    questions: Annotated[
        bool,
        typer.Option("--questions", help="Measure the papers' open questions too: minutes."),
    ] = False,
) -> None:
    """Check the papers' claims: what was measured, and whether they hold (exit code 1 if not)."""
    from papers.theory.checks import open_questions, run_checks

    with Console(stderr=True).status("Checking ..."):
        findings = list(run_checks())
    console = _console()
    console.print(_rich(claims(findings)))
    failed = sum(not finding.passed for finding in findings)
    console.print(f"\n{len(findings) - failed} of {len(findings)} claims hold.")
    for table in open_questions() if questions else ():
        console.print()
        console.print(_rich(table))
    if failed:
        raise typer.Exit(1)


def claims(findings: Sequence[Finding]) -> Table:
    """A row a claim: what was measured, and the verdict."""
    rows = [
        (finding.claim, finding.measured, "pass" if finding.passed else "FAIL", finding.source)
        for finding in findings
    ]
    return Table("", ("claim", "measured", "verdict", "source"), tuple(rows))


def _show(outcome: Outcome, console: Console) -> None:
    for table in outcome.tables:
        console.print(_rich(table))
        console.print()
    for sentence in outcome.findings:
        console.print(f"· {sentence}")


def _console() -> Console:
    return Console(highlight=False, markup=False)


def _rich(table: Table) -> RichTable:
    shown = RichTable(
        box=None,
        pad_edge=False,
        header_style="bold",
        title=table.title or None,
        title_justify="left",
    )
    for column in table.columns:
        shown.add_column(column, overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    return shown


def main() -> None:
    """Run the command line: exit code 2 and one line for a user's mistake."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character
    try:
        app()
    except PisteError as error:
        typer.echo(f"papers: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
