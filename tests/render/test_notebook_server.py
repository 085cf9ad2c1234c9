"""What a notebook shows, through a real server: JupyterLab in a browser, with a real kernel."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest

if not os.environ.get("CI"):
    pytest.importorskip("playwright.sync_api")
    pytest.importorskip("jupyterlab")
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.slow  # starts a server, a kernel and JupyterLab
MINUTE = 60_000  # ms
TEXT = "The meal was good, not dull at all"
MODEL = f"""import piste

def feel(texts):
    return [1.0 + t.count("good") - 2.0 * t.count("dull") * t.count("not") for t in texts]

model = piste.from_function(feel, ["no", "yes"], name="feel")
explanation = piste.explain({TEXT!r}, model, target="yes")
"""
CELLS = [
    f"{MODEL}piste.widget(explanation, model)",
    "explanation",
    'piste.compare(explanation.text, model, ["context", "occlusion"], target="yes")',
    'piste.diff(explanation, piste.explain("The meal was good", model, target="yes"))',
]
# JupyterLab's own settings and the user's stay apart.
FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    "IPYTHONDIR": "ipython",
}
# The menus change from version to version; the commands behind them have kept their names.
READY = "window.jupyterapp?.shell.currentWidget?.context?.isReady"
RUN = """async () => {
  await jupyterapp.shell.currentWidget.sessionContext.ready;
  await jupyterapp.commands.execute("notebook:run-all-cells");
}"""


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab of its own, on the loopback interface."""
    own = {name: str(folder / "own" / place) for name, place in FOLDERS.items()}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--expose-app-in-browser"]
    settings = {"ServerApp.ip": "127.0.0.1", "ServerApp.port": 0, "ServerApp.root_dir": folder}
    settings |= {"IdentityProvider.token": "secret", "ServerApp.allow_root": True}
    settings |= {"LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate"}
    command += [f"--{name}={value}" for name, value in settings.items()] + ["--LabApp.news_url="]
    log = folder / "log.txt"
    with (
        log.open("w") as errors,
        subprocess.Popen(command, env=os.environ | own, stderr=errors) as server,
    ):
        try:
            yield _address(server, log)
        finally:
            server.terminate()


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    """The server's address, once it has written it."""
    for _ in range(600):
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
        if found:
            return found.group()
        if server.poll() is not None:
            break
        time.sleep(0.1)
    pytest.fail(f"JupyterLab does not start:\n{log.read_text()}")


@pytest.fixture(scope="module")
def notebook(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """All cells, run."""
    folder = tmp_path_factory.mktemp("notebooks")
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "some.ipynb")
    with jupyterlab(folder) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(3 * MINUTE)
        page.goto(f"{address}/lab/tree/some.ipynb?token=secret")
        page.wait_for_function(READY)
        page.evaluate(RUN)
        yield page
        page.close()


def test_clicked_words_get_the_models_true_answer(notebook: Page) -> None:
    """The click reaches the kernel, and what the model says there comes back."""
    widget = notebook.locator(".piste-widget")
    expect(widget.locator(".text")).to_have_text(TEXT, timeout=MINUTE)
    rows = widget.locator(".answer tr")
    widget.locator(".w", has_text="dull").click()
    expect(rows).to_have_count(3, timeout=MINUTE)
    expect(rows.nth(0)).to_contain_text("50 %")
    expect(rows.nth(2)).to_contain_text("+2.00")
    expect(rows.nth(2)).to_contain_text("says yes")
    widget.locator(".w", has_text="good").focus()
    notebook.keyboard.press("Enter")  # a key of the widget, not of the notebook
    expect(rows.nth(2)).to_contain_text("+1.00", timeout=MINUTE)
    expect(widget.locator(".w.out")).to_have_count(2)
    widget.locator(".w", has_text="good").click()
    widget.locator(".w", has_text="dull").click()
    expect(rows).to_have_count(0, timeout=MINUTE)


@pytest.mark.parametrize("cell", range(1, len(CELLS)))
def test_results_show_themselves_in_little_height(notebook: Page, cell: int) -> None:
    frame = notebook.locator(".jp-Notebook-cell").nth(cell).locator("iframe")
    frame.scroll_into_view_if_needed()
    body = frame.content_frame.locator("body")
    expect(body).to_contain_text("good", timeout=MINUTE)
    box = frame.bounding_box()
    assert box is not None
    assert 100 < box["height"] <= 500
    assert body.evaluate("body => body.scrollWidth <= document.documentElement.clientWidth")
