"""The code blocks of the pages: where they stand, and what it means to run each kind.

`python` is executed, `sh` is run command by command (`pages.shell`), `json`, `yaml` and `toml` are
parsed, and the steps of a workflow in `yaml` are run too. `text` is what the block before it has
printed (`pages.transcripts`). A block with a title is a file of that name.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = (
    "README.md",
    "AGENTS.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "RELEASING.md",
    "examples/README.md",
)
KINDS = frozenset({"python", "sh", "json", "yaml", "toml", "text"})
_FENCE = re.compile(r"^(?P<indent> *)(?P<mark>`{3,})(?P<info>[^`\n]*)$")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    kind: str
    body: str
    title: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Every page of the project, from its root."""
    found = [name for name in NAMED if (ROOT / name).exists()]
    deeper = sorted((ROOT / "docs").rglob("*.md"))
    return found + [path.relative_to(ROOT).as_posix() for path in deeper]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, those inside lists too."""
    return fenced(read(page), page)


def fenced(text: str, page: str = "") -> list[Block]:
    found: list[Block] = []
    start, info, indent, mark = 0, "", "", ""
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if start and fence and fence["mark"] == mark and not fence["info"].strip():
            found.append(_block(page, start, info, "\n".join(body)))
            start = 0
        elif start:
            body.append(line.removeprefix(indent))
        elif fence:
            start, info, indent, mark = (
                number,
                fence["info"].strip(),
                fence["indent"],
                fence["mark"],
            )
            body = []
    assert not start, f"{page}:{start}: a block that does not end"
    return found


def _block(page: str, line: int, info: str, body: str) -> Block:
    kind, _, rest = info.partition(" ")
    title = re.search(r'title="([^"]+)"', rest)
    return Block(page, line, kind, body + "\n", title and title[1])


def prose(page: str) -> str:
    """A page without its fenced blocks."""
    kept, inside = [], False
    for line in read(page).splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def indented(page: str) -> list[str]:
    """Blocks that are code by their indentation alone, outside of lists."""
    found = re.findall(r"(?:\A|(?<=\n\n))((?: {4}.*\n?)+)", prose(page) + "\n")
    return [textwrap.dedent(block) for block in found]
