"""`piste theory`: the papers' claims, checked on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table as RichTable

    from piste.theory.report import Finding, Table


def theory(
    questions: Annotated[
        bool,
        typer.Option("--questions", help="Measure the papers' open questions too: minutes."),
    ] = False,
) -> None:
    """Check the papers' claims: what was measured, and whether they hold (exit code 1 if not)."""
    from rich.console import Console

    from piste.theory.checks import open_questions, run_checks

    shown = Console(highlight=False, markup=False)
    with Console(stderr=True).status("Checking ..."):
        findings = list(run_checks())
    shown.print(_claims(findings))
    failed = sum(not finding.passed for finding in findings)
    shown.print(f"\n{len(findings) - failed} of {len(findings)} claims hold.")
    for table in open_questions() if questions else ():
        shown.print()
        shown.print(measured_table(table))
    if failed:
        raise typer.Exit(1)


def _claims(findings: Sequence[Finding]) -> RichTable:
    table = table_of(("claim", "measured", "verdict", "source"))
    for finding in findings:
        verdict = "pass" if finding.passed else "FAIL"
        table.add_row(finding.claim, finding.measured, verdict, finding.source)
    return table


def measured_table(measured: Table) -> RichTable:
    table = table_of(measured.columns, measured.title)
    for row in measured.rows:
        table.add_row(*row)
    return table


def table_of(columns: Sequence[str], title: str | None = None) -> RichTable:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
