"""What is shown in a terminal, as plain text."""

import io
import os
from collections.abc import Callable

from rich.console import Console
from rich.style import Style
from rich.text import Text

from piste.render.clean import visible

WIDTH, NARROWEST = 100, 40


def plain(text: str, style: str | Style = "") -> Text:
    """Text for the console: no markup is read, no control character passes."""
    return Text(visible(text), style=style)


def captured(show: Callable[[Console], None]) -> str:
    """What `show` prints, without colours or escape codes.

    In a notebook rich would display it there and then, and leave nothing to return.
    """
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=_width(),
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        legacy_windows=False,
    )
    show(console)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()).strip("\n")


def _width() -> int:
    """The columns that the environment asks for, as on a terminal; else 100."""
    asked = os.environ.get("COLUMNS", "")
    return max(NARROWEST, int(asked)) if asked.isdecimal() and int(asked) else WIDTH
