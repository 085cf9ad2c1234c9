"""What the commands that explain a text have in common: reading it, and checks before the work."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from piste.errors import FileError, InputError, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.status import Status
    from rich.table import Table

    from piste.compare import Comparison
    from piste.models.protocol import Classifier
    from piste.result.difference import Diff
    from piste.result.explanation import Explanation
    from piste.runs.word_summary import Summary

# What files of text end in: a single word that ends so was probably meant as one.
FILES = (
    *(".txt", ".md", ".rst", ".html", ".htm", ".xml", ".pdf", ".docx"),
    *(".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".gz"),
)


def shown(
    result: object, show: "Callable[[Any], None]", as_text: "Callable[[Any], str]" = str
) -> None:
    """On a terminal as wide and as coloured as that is; elsewhere plain, without padding."""
    if sys.stdout.isatty():
        show(result)
    else:
        typer.echo(as_text(result))


def first_time(what: str) -> bool:
    """Whether something was never shown to this user; from now on it was.

    Where that cannot be remembered, it is the first time again.
    """
    from piste.files import cache_directory

    mark = cache_directory() / f"shown-{what}"
    with contextlib.suppress(OSError, RuntimeError):  # no home directory
        if mark.exists():
            return False
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return True


def table_of(columns: "Sequence[str]") -> "Table":
    """An empty table with these columns, to be printed without a frame."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def loaded(model: str, device: str | None, trust_remote_code: bool = False) -> "Classifier":
    """The model, with a word to those who wait for it."""
    import piste

    with waiting(f"Loading {model} ..."):
        return piste.load(model, device=device, trust_remote_code=trust_remote_code)


def waiting(why: str) -> "Status":
    """A line on a terminal for as long as something takes."""
    from rich.console import Console
    from rich.markup import escape

    return Console(stderr=True).status(escape(why))


def check_quotes(text: str | None, more: list[str], method_option: str = "--method") -> None:
    """A text without quotes comes in pieces; what stands behind one in quotes wants an option."""
    if not more:
        return
    whole = f"{text or ''} {' '.join(more)}"
    quoted = " " in (text or "").strip() and (len(more) == 1 or all(" " in one for one in more))
    if not quoted:
        raise InputError("The text is not in quotes.", f'Put it in quotes: "{printable(whole)}"')
    meant = _meant(more[0], method_option) or (
        f'Put it in quotes: "{printable(whole)}", if it belongs to the text; else name its option:'
        " --method, --model, --target, --pair."
    )
    raise InputError(f"Besides the text there is {printable(more[0])!r}.", meant)


def _meant(word: str, method_option: str) -> str | None:
    """The option that a word without one was probably meant for."""
    from piste.methods import ELSEWHERE, METHODS  # heavy, and for an error

    if word in METHODS or word.lower() in ELSEWHERE:
        return f"For a method: {method_option} {ELSEWHERE.get(word.lower(), word)}"
    name = printable(word)
    if " " in word:
        return f'For a second text: --pair "{name}"; to compare two texts: piste diff.'
    if word and ("/" in word or Path(word).is_dir()):
        return f"For a model: --model {name}"
    return None


def read(text: str | None, file: Path | None, command: str) -> str:
    """The text: the argument, a file's, or standard input's."""
    if text is not None and file is not None:
        raise InputError("Both TEXT and --file are given.", "Give one of them.")
    if file is not None:
        return _read_file(file)
    if text is not None and text != "-":
        _warn_of_a_file(text)
        return text
    piped = "" if sys.stdin.isatty() and text is None else _decoded_input()
    if text is None and not piped:
        raise InputError(
            "There is no text.", f'Give it in quotes: piste {command} "A film to remember."'
        )
    return piped


def _warn_of_a_file(text: str) -> None:
    """`piste explain review.txt` explains the two words; a person may have meant the file."""
    with contextlib.suppress(OSError, ValueError):  # too long or too odd for a path
        name = printable(text)
        if Path(text).is_file():
            typer.echo(f"The text is {name!r}. For the file's content: --file {name}", err=True)
        elif len(text.split()) == 1 and Path(text.strip()).suffix.lower() in FILES:
            typer.echo(
                f"The text is {name!r}, and there is no file of that name. For a file's content:"
                " --file PATH",
                err=True,
            )


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


def listed(names: str) -> tuple[str, ...]:
    """ "a, b" as names."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def check_paths(
    json: str | None, html: Path | None, figure: Path | None, *others: Path | None
) -> None:
    """Find out before the work whether its results can be written."""
    wanted = (html, figure, *others, None if json in (None, "-") else Path(str(json)))
    paths = [path for path in wanted if path is not None]
    if len({path.absolute() for path in paths}) < len(paths):
        raise FileError("Two outputs have the same path.", "Give each a path of its own.")
    for path in paths:
        if path.is_dir() or not path.absolute().parent.is_dir():
            reason = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise FileError(f"Cannot write {path}: {reason}.", "Give the path of a file.")
    if figure is not None:
        from piste.render.figure import check_suffix  # numpy

        check_suffix(figure)


def write(
    result: "Explanation | Comparison | Diff | Summary",
    json: str | None,
    html: Path | None,
    figure: Path | None,
    quiet: bool = False,
) -> None:
    """The files, and JSON to standard output where that was asked for.

    Files come first: they are what was asked for, even if nobody reads the terminal to its end.
    """
    if json not in (None, "-"):
        result.to_json(json)
    if html is not None:
        result.to_html(html)
    if figure is not None:
        result.plot(figure)
    for path in (json, html, figure):
        if path not in (None, "-") and not quiet:
            typer.echo(f"Wrote {printable(str(path))}", err=True)
    if json == "-":
        typer.echo(result.to_json())
