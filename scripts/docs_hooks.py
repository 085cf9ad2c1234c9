"""Hooks of `mkdocs build`: pages and pictures that live outside of docs/ are part of the site.

Links stay those of the repository, so that they work where the repository is read; here they are
turned to where the site has the files.
"""

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUTSIDE = (
    "benchmarks/RESULTS.md",
    "benchmarks/context-curve.png",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name in OUTSIDE:
        files.append(File(name, str(ROOT), config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The links between docs/ and the rest of the repository, as the site has them."""
    name = page.file.src_uri
    if name in OUTSIDE:
        up = "../" * name.count("/")
        return markdown.replace("](docs/", f"]({up}").replace("](../docs/", f"]({up}")
    depth = name.count("/")
    for outside in OUTSIDE:
        markdown = markdown.replace(
            f"]({'../' * (depth + 1)}{outside}", f"]({'../' * depth}{outside}"
        )
    return markdown
