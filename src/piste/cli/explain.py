"""`piste explain`: one text, one decision, one explanation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from piste.errors import FileError, InputError

if TYPE_CHECKING:
    from piste.explanation import Explanation


def explain(
    text: Annotated[str | None, typer.Argument(help="The text; - reads standard input.")] = None,
    file: Annotated[Path | None, typer.Option(help="Read the text from a UTF-8 file.")] = None,
    model: Annotated[
        str, typer.Option(help="A hub name, a directory, or demo (the embedded model).")
    ] = "demo",
    target: Annotated[
        str | None, typer.Option(help="The label to explain; without it, the predicted one.")
    ] = None,
    unit: Annotated[str, typer.Option(help="word, token or sentence.")] = "word",
    repeats: Annotated[
        str, typer.Option(help="Equal words: shared (one score) or separate.")
    ] = "shared",
    method: Annotated[str, typer.Option(help="See `piste methods`.")] = "slalom",
    seed: Annotated[int, typer.Option(help="Same seed, same scores.")] = 0,
    budget: Annotated[
        int | None,
        typer.Option(
            help="Most sequences to ask of the model; without it, some hundreds, by length."
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Ask until the strongest scores are known so well: 0.1 is a tenth."),
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write the explanation as JSON.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page that opens in a browser.")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw it to a .png, .svg or .pdf file.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, mps; without it, the CPU.")] = None,
) -> None:
    """Explain why the model classifies TEXT as it does."""
    from rich.console import Console

    import piste
    from piste.cli.progress import LateBar

    wanted = _read(text, file)
    _check_paths(html, figure, None if json in (None, "-") else Path(str(json)))
    _check_names(method, unit, repeats, figure)
    console = Console(stderr=True)
    with console.status(f"Loading {model} ..."):
        classifier = piste.load(model, device=device)
    with LateBar("Asking the model", console) as bar:
        found = piste.explain(
            wanted,
            classifier,
            method,
            target=target,
            unit=unit,
            repeats=repeats,
            seed=seed,
            budget=budget,
            tolerance=tolerance,
            progress=bar,
        )
    _write(found, json, html, figure)


def _read(text: str | None, file: Path | None) -> str:
    if text is not None and file is not None:
        raise InputError("Both TEXT and --file are given.", "Give one of them.")
    if file is not None:
        return _read_file(file)
    if text not in (None, "-"):
        return str(text)
    piped = "" if sys.stdin.isatty() and text is None else _decoded_input()
    if text is None and not piped:
        raise InputError(
            "There is no text.", 'Give it in quotes: piste explain "A film to remember."'
        )
    return piped


def _decoded_input() -> str:
    return _decoded(sys.stdin.buffer.read(), "standard input")


def _read_file(file: Path) -> str:
    try:
        return _decoded(file.read_bytes(), str(file))
    except OSError as error:
        raise FileError(f"Cannot read {file}: {error.strerror}.", "Check the path.") from error


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8 text (byte {error.start}).", "Convert it first, e.g. with iconv."
        ) from error


def _check_paths(*wanted: Path | None) -> None:
    """Find out before the work whether its results can be written."""
    paths = [path for path in wanted if path is not None]
    if len({path.absolute() for path in paths}) < len(paths):
        raise FileError("Two outputs have the same path.", "Give each a path of its own.")
    for path in paths:
        if path.is_dir() or not path.absolute().parent.is_dir():
            reason = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise FileError(f"Cannot write {path}: {reason}.", "Give the path of a file.")


def _check_names(method: str, unit: str, repeats: str, figure: Path | None) -> None:
    """Typos should not wait for the model to load."""
    from piste.methods import find_method
    from piste.text.players import check_unit

    find_method(method)
    check_unit(unit, repeats)
    if figure is not None:
        from piste.render.figure import check_suffix

        check_suffix(figure)


def _write(found: Explanation, json: str | None, html: Path | None, figure: Path | None) -> None:
    """Files first: they are what was asked for, even if nobody reads the terminal to its end."""
    from piste.render.terminal import show

    if json not in (None, "-"):
        found.to_json(json)
        _written(json)
    if html is not None:
        found.to_html(html)
        _written(html)
    if figure is not None:
        found.plot(figure)
        _written(figure)
    if json == "-":
        typer.echo(found.to_json())
    else:
        show(found)


def _written(path: object) -> None:
    typer.echo(f"Wrote {path}", err=True)
