"""What is shown in a terminal, as plain text."""

import io
from collections.abc import Callable

from rich.console import Console
from rich.style import Style
from rich.text import Text

from piste.render.clean import visible

WIDTH = 100


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
        width=WIDTH,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        legacy_windows=False,
    )
    show(console)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()).strip("\n")
