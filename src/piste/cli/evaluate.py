"""`piste evaluate`: a data set, several methods, and what each is worth on it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from piste.cli import options
from piste.cli.common import check_paths, listed, loaded, shown
from piste.errors import printable

if TYPE_CHECKING:
    from piste.runs.evaluate import Evaluation


@options.takes_settings()
def evaluate(
    data: options.Data,
    out: Annotated[
        Path, typer.Option(help="Folder for rows, tables and curves; a stopped run resumes.")
    ],
    model: options.Model = "demo",
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="See `piste methods`; slalom:value ranks by another score. Default: five methods.",
            autocompletion=options.METHODS,
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="See `piste metrics`. Default: four metrics.",
            autocompletion=options.METRICS,
        ),
    ] = None,
    limit: options.Limit = None,
    train: Annotated[
        Path | None, typer.Option(help="File of labelled texts, for the naive-bayes metric.")
    ] = None,
    text_column: options.TextColumn = "text",
    label_column: options.LabelColumn = "label",
    id_column: options.IdColumn = "id",
    words_column: Annotated[str, typer.Option(help="Column with the annotated words.")] = "words",
    maps_column: Annotated[str, typer.Option(help="Column with the annotators' marks.")] = "maps",
    split: options.Split = "train",
    html: options.Html = None,
    figure: options.FigureFile = None,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
    **settings: Any,
) -> None:
    """Measure how faithful methods are on a data set. Exit code 1 if texts failed."""
    import piste
    from piste.cli.progress import LateBar
    from piste.data import Columns, read_examples
    from piste.metrics import USUAL
    from piste.runs.evaluate import check_data

    _check_pictures(html, figure, out)
    wanted = _checked_methods(methods)
    measured = USUAL if metrics is None else listed(metrics)
    columns = Columns(text_column, label_column, id_column, words_column, maps_column)
    check_data(measured, read_examples(data, columns, limit=limit, split=split), columns, train)
    classifier = loaded(model, device, trust_remote_code)
    with LateBar("Texts") as bar:
        evaluation = piste.evaluate(
            data,
            classifier,
            wanted,
            measured,
            out=out,
            limit=limit,
            columns=columns,
            split=split,
            train=train,
            watch=bar,
            **settings,
        )
    _show(evaluation, out, html, figure)
    if evaluation.failures():
        raise typer.Exit(1)


def _checked_methods(methods: str | None) -> Sequence[str]:
    """The names of the methods; typos should not wait for the model to load."""
    from piste.runs.evaluate import FIVE
    from piste.runs.evaluate_text import View

    wanted = FIVE if methods is None else listed(methods)
    for name in wanted:
        View.of(name)
    return wanted


def _show(evaluation: "Evaluation", out: Path, html: Path | None, figure: Path | None) -> None:
    """Print the results, and write tables, page and picture."""
    from piste.render.evaluation import show, write

    paths = write(evaluation, out)
    shown(evaluation, show)
    if html is not None:
        evaluation.to_html(html)
    if figure is not None:
        evaluation.plot(figure)
    for path in (*paths, html, figure):
        if path is not None:
            typer.echo(f"Wrote {printable(str(path))}", err=True)


def _check_pictures(html: Path | None, figure: Path | None, out: Path) -> None:
    """Refuse files that could not be written, before the work."""
    from piste.render.figure import check_suffix

    check_paths(None, *(_elsewhere(path, out) for path in (html, figure)))
    if figure is not None:
        check_suffix(figure)


def _elsewhere(path: Path | None, out: Path) -> Path | None:
    """A path to check before the work; one in the folder of results has that folder in time."""
    inside = path is not None and path.absolute().parent == out.absolute() and not path.is_dir()
    return None if inside else path
