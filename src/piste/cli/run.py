"""`piste run`: every text of a data set explained, into Parquet files."""

from pathlib import Path
from typing import Annotated

import typer

from piste.cli import options
from piste.errors import SettingError, printable


def run(
    data: options.Data,
    out: Annotated[Path, typer.Option(help="A folder for the results; a stopped run goes on.")],
    model: options.Model = "demo",
    method: options.Method = "slalom",
    lexicon: Annotated[
        Path | None, typer.Option(help="With slalom: use this lexicon; without it, build one.")
    ] = None,
    no_lexicon: Annotated[
        bool, typer.Option("--no-lexicon", help="Explain every text for itself.")
    ] = False,
    refine: Annotated[
        int | None,
        typer.Option(help="Sequences to ask of each text on top of the lexicon; 0: none."),
    ] = None,
    engine: Annotated[str, typer.Option(help="local, or ray.")] = "local",
    workers: Annotated[int, typer.Option(help="Processes (local) or actors (ray).")] = 1,
    limit: options.Limit = None,
    text_column: options.TextColumn = "text",
    label_column: options.LabelColumn = "label",
    id_column: options.IdColumn = "id",
    pair_column: Annotated[
        str, typer.Option(help="The column that holds a second text, if any.")
    ] = "text_pair",
    split: options.Split = "train",
    target: options.Target = None,
    unit: options.Unit = "word",
    repeats: options.Repeats = "shared",
    long: options.Long = "truncate",
    seed: options.Seed = 0,
    budget: options.EachBudget = None,
    tolerance: options.Tolerance = None,
    shard: Annotated[int, typer.Option(help="Texts a file.")] = 256,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Explain every text of a data set. Exit code 1 if texts failed."""
    import piste
    from piste.cli.progress import LateBar
    from piste.data import Columns

    if lexicon is not None and no_lexicon:
        raise SettingError("--lexicon and --no-lexicon are both given.", "Give one of them.")
    columns = Columns(text_column, label_column, id_column, pair=pair_column)
    with LateBar("Working") as bar:
        found = piste.run(
            data,
            model,
            out,
            method=method,
            lexicon=str(lexicon) if lexicon is not None else not no_lexicon,
            refine=refine,
            engine=engine,
            workers=workers,
            limit=limit,
            columns=columns,
            split=split,
            target=target,
            unit=unit,
            repeats=repeats,
            long=long,
            seed=seed,
            budget=budget,
            tolerance=tolerance,
            shard=shard,
            device=device,
            trust_remote_code=trust_remote_code,
            watch=lambda _, done, total: bar(done, total or done),
        )
    if not found.made:
        typer.echo("Nothing was left to do: every text is there.")
    typer.echo(f"{found.texts:,} texts in {found.folder}, {found.failed:,} of them failed.")
    for reason in found.reasons:
        typer.echo(f"  {printable(reason)}")
    typer.echo(f"See them together: piste summary {found.folder}")
    if found.failed:
        raise typer.Exit(1)
