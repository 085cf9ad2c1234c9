"""Results as text, or as files: JSON and pages."""

from __future__ import annotations

import json
import os
from typing import Any, overload

from piste.files import write_atomic


def text_or_file(text: str, path: str | os.PathLike[str] | None, end: str = "") -> str | None:
    """The text; with a path, None: it is written there, followed by `end`.

    A notebook shows what a cell's last line returns, and would show a whole page.
    """
    if path is None:
        return text
    write_atomic(path, text + end)
    return None


class AsJson:
    """`to_json`, for results that have `to_dict`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        raise NotImplementedError

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str]) -> None: ...
    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The result as JSON text, or written to `path`."""
        return text_or_file(json.dumps(self.to_dict(), indent=1, allow_nan=False), path, "\n")


class AsPage:
    """`to_html`, for results that have a page."""

    def _page(self) -> str:
        raise NotImplementedError

    @overload
    def to_html(self, path: None = None) -> str: ...
    @overload
    def to_html(self, path: str | os.PathLike[str]) -> None: ...
    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """One self-contained HTML page as text, or written to `path`."""
        return text_or_file(self._page(), path)
