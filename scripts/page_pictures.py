"""Take pictures with a browser: explanation, comparison and change as files, and the served page.

python scripts/page_pictures.py [--data reviews.jsonl [--results FOLDER]]

With labelled texts also a summary of 500 and an evaluation of 30, which take some minutes.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import piste

IMAGES = Path(__file__).parents[1] / "docs" / "images"
TEXT = (
    "The plot is thin and the jokes are not funny, but the acting is superb and the ending is"
    " beautiful."
)
OTHER = TEXT.replace("superb", "dreadful")
EXPLAINED = "#result:not(.sketch):not([hidden])"
COLOURS = 256


def taken(page: Page, name: str) -> None:
    """The window as it is, in few enough colours that the file is small."""
    page.screenshot(path=IMAGES / name)
    with Image.open(IMAGES / name) as image:
        flat = image.convert("RGB").quantize(
            COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
        )
    flat.save(IMAGES / name, optimize=True)


@contextmanager
def window(
    browser: Browser, height: int, *, dark: bool = False, width: int = 1280
) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    yield context.new_page()
    context.close()


@contextmanager
def served() -> Iterator[str]:
    """The address of `piste serve` with the embedded model."""
    command = [sys.executable, "-m", "piste", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = (re.search(r"http://\S+", line) for line in process.stderr)
        yield next(match.group().rstrip(".") for match in found if match)
        process.terminate()


def explain(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(EXPLAINED)  # the example
    page.locator("#given").fill(TEXT)
    page.locator("#explain").click()
    page.wait_for_selector(f"{EXPLAINED}:has-text('beautiful')")
    page.wait_for_timeout(3000)


def written(browser: Browser, folder: Path) -> None:
    """The pages that are files."""
    model = piste.load(backend="torch")
    pages = {
        "page": (820, piste.explain(TEXT, model)),
        "comparison": (900, piste.compare(TEXT, model, measure=True)),
        "diff": (860, piste.diff(TEXT, OTHER, classifier=model)),
    }
    for name, (height, result) in pages.items():
        file = folder / f"{name}.html"
        result.to_html(file)
        with window(browser, height) as page:
            page.goto(file.as_uri())
            taken(page, f"{name}.png")


def measured(browser: Browser, data: Path, folder: Path) -> None:
    """The pages of many texts; results that are in the folder are not made again."""
    piste.run(data, "demo", folder / "run", limit=500)
    pages = {
        "summary": (1180, piste.summarise(folder / "run")),
        "evaluation": (1400, piste.evaluate(data, "demo", out=folder / "evaluation", limit=30)),
    }
    for name, (height, result) in pages.items():
        file = folder / f"{name}.html"
        result.to_html(file)
        with window(browser, height, width=1180) as page:
            page.goto(file.as_uri())
            if name == "summary":
                page.locator("table[data-key=words] .opens").first.click()
            taken(page, f"{name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, help="labelled texts")
    parser.add_argument("--results", type=Path, help="where to keep the results of these texts")
    given = parser.parse_args()
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        own = driver.chromium.executable_path
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium") or own, args=["--no-sandbox"]
        )
        written(browser, Path(folder))
        if given.data is not None:
            measured(browser, given.data, given.results or Path(folder))
        with served() as address:
            with window(browser, 1000) as page:
                explain(page, address)
                page.locator("#text .w", has_text="thin").click()
                page.wait_for_timeout(2000)
                taken(page, "serve-light.png")
            with window(browser, 1000, dark=True) as page:
                explain(page, address)
                page.locator("#other-text").fill(OTHER)
                page.locator("#compare-side").click()
                page.locator("#columns article").nth(1).wait_for()
                page.locator("#columns").scroll_into_view_if_needed()
                page.wait_for_timeout(1000)
                taken(page, "serve-dark.png")


if __name__ == "__main__":
    main()
