"""`piste run`: every text of a data set explained, into Parquet files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from piste.cli import options
from piste.errors import SettingError, printable, several

if TYPE_CHECKING:
    from piste.runs.manifest import Report

STAGES = {"lexicon": "Sequences for the lexicon", "texts": "Texts"}


@options.takes_settings(leave_out=("lexicon", *options.OF_ONE_TEXT))
def run(
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for the results; a stopped run resumes.")],
    model: options.Model = "demo",
    method: options.Method = "context",
    lexicon: Annotated[
        Path | None,
        typer.Option(help="For context and slalom: words fitted by `piste lexicon build`."),
    ] = None,
    build_lexicon: Annotated[
        bool,
        typer.Option("--build-lexicon", help="Fit the words of these texts first, and use them."),
    ] = False,
    engine: Annotated[str, typer.Option(help="local, or ray.")] = "local",
    workers: Annotated[int, typer.Option(help="Number of processes (local) or actors (ray).")] = 1,
    limit: options.Limit = None,
    text_column: options.TextColumn = "text",
    label_column: options.LabelColumn = "label",
    id_column: options.IdColumn = "id",
    pair_column: Annotated[
        str, typer.Option(help="Column with a second text, if any.")
    ] = "text_pair",
    split: options.Split = "train",
    shard: Annotated[int, typer.Option(help="Texts per file.")] = 256,
    to_hub: Annotated[
        str | None,
        typer.Option(
            metavar="REPO", help="Also send the results, words included, to this hub data set."
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="With --to-hub: anybody may read them.")
    ] = False,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", help="Say nothing of what goes well: warnings and errors only."),
    ] = False,
    **settings: Any,
) -> None:
    """Explain every text of a data set, usually with --effort light. Exit code 1 if some failed."""
    import piste
    from piste.cli.progress import LateBar
    from piste.data import Columns
    from piste.threads import few_arenas

    if lexicon is not None and build_lexicon:
        raise SettingError("--lexicon and --build-lexicon are both given.", "Give one of them.")
    _check_hub(to_hub, public)
    few_arenas()
    columns = Columns(text_column, label_column, id_column, pair=pair_column)
    with LateBar("Working") as bar:

        def watch(stage: str, done: int, total: int | None) -> None:
            if not quiet:
                bar.stage(STAGES[stage])
                bar(done, total)

        report = piste.run(
            data,
            model,
            out,
            method=method,
            lexicon=build_lexicon if lexicon is None else str(lexicon),
            engine=engine,
            workers=workers,
            limit=limit,
            columns=columns,
            split=split,
            shard=shard,
            device=device,
            trust_remote_code=trust_remote_code,
            watch=watch,
            **settings,
        )
    if quiet:
        _tell_failures(report)
    else:
        _tell(report)
    if to_hub is not None:
        from piste.runs.hub import to_hub as send

        sent = send(report.folder, to_hub, private=not public)
        if not quiet:
            typer.echo(f"Sent to {sent}")
    if report.failed:
        raise typer.Exit(1)


def _check_hub(repository: str | None, public: bool) -> None:
    """Open the data set on the hub: a name or a token that is wrong should not wait for the run."""
    if repository is not None:
        from piste.runs.hub import open_repository

        open_repository(repository, private=not public)
    elif public:
        raise SettingError("--public is given without --to-hub.", "Give both, or leave it out.")


def _tell(report: "Report") -> None:
    """What was done, and how to go on."""
    if not report.made:
        typer.echo("Nothing to do: every text is already explained.")
    failed = f"{report.failed:,}" if report.failed else "none"
    typer.echo(f"{several(report.texts, 'text')} in {report.folder}, {failed} failed.")
    if report.texts > report.failed:
        each = report.passes / (report.texts - report.failed)
        typer.echo(f"Cost: {each:,.1f} forward passes of a text on average.")
    _tell_reasons(report, err=False)
    typer.echo(f"For an overview: piste summary {report.folder}")


def _tell_failures(report: "Report") -> None:
    """What went wrong, for who wants to hear of nothing else."""
    if report.failed:
        typer.echo(f"piste: {report.failed:,} of {several(report.texts, 'text')} failed.", err=True)
        _tell_reasons(report, err=True)


def _tell_reasons(report: "Report", err: bool) -> None:
    for reason in report.reasons:
        typer.echo(f"  {printable(reason)}", err=err)
