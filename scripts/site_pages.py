"""Put the pages of the site together: those of docs/, and those that live elsewhere.

    python scripts/site_pages.py

Links stay those of the repository, so that they work where the repository is read; in the copies,
under build/pages, they are turned to where the site has the files.
"""

import shutil
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "pages"  # `docs_dir` in mkdocs.yml
OUTSIDE = (
    "benchmarks/RESULTS.md",
    "benchmarks/context-curve.png",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    *sorted(f"examples/{path.name}" for path in (ROOT / "examples").glob("*.ipynb")),
)


def turned(name: str, markdown: str) -> str:
    """A page with its links between docs/ and the rest of the repository as the site has them."""
    depth = len(PurePosixPath(name).parents) - 1
    if name in OUTSIDE:
        up = "../" * depth
        return markdown.replace("](docs/", f"]({up}").replace("](../docs/", f"]({up}")
    for outside in OUTSIDE:
        markdown = markdown.replace(
            f"]({'../' * (depth + 1)}{outside}", f"]({'../' * depth}{outside}"
        )
    return markdown


def gather(folder: Path) -> None:
    """Everything the site consists of, in a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for name in OUTSIDE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for page in folder.rglob("*.md"):
        name = page.relative_to(folder).as_posix()
        page.write_text(turned(name, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    gather(PAGES)
