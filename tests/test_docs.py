"""What the pages show runs, and what they link to exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
# Lines that stand for the reader's own model.
PLACEHOLDERS = ("my-org/", "path/to/", "load(model, tokenizer)")


def blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.S | re.M)


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for block in blocks(page):
        lines = [line for line in block.splitlines() if not any(p in line for p in PLACEHOLDERS)]
        exec("\n".join(lines), scope)  # blocks of a page build on each other, as for a reader


def test_there_are_blocks_to_run():
    assert len(blocks("README.md")) >= 2


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_no_machine_or_registry_is_named():
    """The project must not depend on where it was written."""
    words = ["/work" + "/", "site-packages/", "/opt" + "/"]
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.suffix in {".py", ".md", ".toml", ".txt", ".yml"} and not parts[0].startswith("."):
            text = path.read_text(encoding="utf-8")
            assert not [w for w in words if w in text and path != Path(__file__)], path
