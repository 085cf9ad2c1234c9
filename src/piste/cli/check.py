"""`piste check`: whether a model still decides for the same reasons as in a baseline."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from piste.cli import options
from piste.cli.common import check_paths, shown
from piste.cli.run import STAGES
from piste.errors import printable
from piste.options import LEAST_COMPARED

if TYPE_CHECKING:
    from piste.runs.model_change import ModelChange

FAILED, CHANGED = 1, 3  # exit codes


def check(
    data: options.Data,
    baseline: Annotated[
        Path, typer.Option(help="Folder that `piste run` wrote with the old model.")
    ],
    model: options.Model = "demo",
    out: Annotated[
        Path | None,
        typer.Option(help="Keep the new run here; it resumes, and is the next baseline."),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="How often an unchanged model may be reported as changed.")
    ] = 0.01,
    least: Annotated[
        float | None,
        typer.Option(
            help="Changes of an effect up to this do not count. Default: a tenth of a text's"
            " strongest effect."
        ),
    ] = None,
    flips: Annotated[int, typer.Option(help="How many decisions may turn.")] = 0,
    least_compared: Annotated[
        float,
        typer.Option(
            help="Share of the baseline's texts that must be in the data as they were, and be"
            " explained now."
        ),
    ] = LEAST_COMPARED,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit report (XML).")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a summary in Markdown.")] = None,
    json: options.Json = None,
    workers: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Explain the texts of a run with another model; exit code 3 if its reasons changed."""
    import piste
    from piste.cli.progress import LateBar
    from piste.render.model_change import show
    from piste.threads import few_arenas

    check_paths(json, None, None, junit, markdown)
    few_arenas()
    with LateBar("Working") as bar:

        def watch(stage: str, done: int, total: int | None) -> None:
            bar.stage(STAGES[stage])
            bar(done, total)

        change = piste.check(
            data,
            model,
            baseline,
            out,
            alpha=alpha,
            least=least,
            flips=flips,
            least_compared=least_compared,
            watch=watch,
            workers=workers,
            device=device,
            trust_remote_code=trust_remote_code,
        )
    _write(change, json, junit, markdown)
    if json == "-":
        typer.echo(change.to_json())
    else:
        shown(change, show)
    if change.changed:
        raise typer.Exit(CHANGED)
    if change.failed:
        raise typer.Exit(FAILED)


def _write(
    change: "ModelChange", json: str | None, junit: Path | None, markdown: Path | None
) -> None:
    """Write the reports that were asked for."""
    kept = None if json == "-" else json
    writers = (change.to_json, change.to_junit, change.to_markdown)
    for path, write in zip((kept, junit, markdown), writers, strict=True):
        if path is not None:
            write(path)
            typer.echo(f"Wrote {printable(str(path))}", err=True)
