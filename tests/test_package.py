"""What users install: the wheel and the source archive, what is in them, what they ask for."""

import email
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest

import piste
from scripts.oldest import OURS, floors

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
MOST_BYTES = 5_000_000
TEXT = "The plot is thin, but the acting is superb."
HEAVY = {"torch", "numpy", "transformers", "scipy", "matplotlib", "rich", "typer", "openvino"}


def built(kind: str, source: Path, folder: Path) -> Path:
    """The one file that hatchling makes; no network, no environment of its own."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (found,) = folder.iterdir()
    return found


def content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def files(wheel: Path) -> dict[str, bytes]:
    return content(wheel)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built("sdist", ROOT, folder)) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"piste-{piste.__version__}"


@pytest.fixture(scope="module")
def metadata(files: dict[str, bytes]) -> Message:
    return email.message_from_bytes(files[f"piste-{piste.__version__}.dist-info/METADATA"])


def test_the_wheel_is_small_and_for_every_machine(wheel: Path) -> None:
    assert wheel.name == f"piste-{piste.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < MOST_BYTES


def test_the_wheel_holds_every_file_of_the_package_and_no_other(files: dict[str, bytes]) -> None:
    source = ROOT / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in (source / "piste").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    notes = f"piste-{piste.__version__}.dist-info/"
    assert {name for name in files if not name.startswith(notes)} == ours
    assert f"{notes}licenses/LICENSE" in files


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "models/demo/model.safetensors",
        "models/demo/tokenizer.json",
        "models/demo/config.json",
        "render/templates/page.html.j2",
        "render/templates/style.css",
        "web/static/index.html",
        "web/static/page.js",
    ],
)
def test_what_the_code_reads_is_in_the_wheel(name: str, files: dict[str, bytes]) -> None:
    assert files[f"piste/{name}"] == (ROOT / "src" / "piste" / name).read_bytes()


def test_the_source_archive_builds_the_same_wheel(
    unpacked: Path, files: dict[str, bytes], tmp_path: Path
) -> None:
    assert content(built("wheel", unpacked, tmp_path)) == files


@pytest.mark.parametrize(
    "name",
    ["Makefile", "constraints.txt", ".ci/run", ".github/workflows/ci.yml", "CITATION.cff",
     "scripts/ensure_browser.sh", "benchmarks/RESULTS.md", "docs/index.md", "tests/conftest.py",
     "papers/__main__.py"],
)  # fmt: skip
def test_the_source_archive_holds_what_the_tests_need(name: str, unpacked: Path) -> None:
    assert (unpacked / name).read_bytes() == (ROOT / name).read_bytes()


def test_the_metadata_is_that_of_the_project(metadata: Message, files: dict[str, bytes]) -> None:
    assert metadata["Name"] == "piste"
    assert metadata["Version"] == piste.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert set(metadata.get_all("Provides-Extra", [])) == EXTRAS
    points = files[f"piste-{piste.__version__}.dist-info/entry_points.txt"].decode()
    assert "piste = piste.cli:main" in points.splitlines()


def test_every_dependency_of_users_has_an_oldest_version() -> None:
    found = floors(PROJECT)
    assert found["torch"]
    assert {line.split(">=")[0] for line in PROJECT["dependencies"]} <= set(found)
    assert {"fast", "data", "ray", "web"} <= EXTRAS - set(OURS)


def test_importing_piste_from_the_wheel_loads_nothing_heavy(wheel: Path, tmp_path: Path) -> None:
    """Straight from the archive: what is imported is what was built."""
    code = "import json, sys, piste; print(json.dumps([piste.__file__, *sys.modules]))"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(wheel)},
        capture_output=True,
        text=True,
        check=True,
    )
    home, *loaded = json.loads(shown.stdout)
    assert home.startswith(str(wheel))
    assert not HEAVY & set(loaded)


# From here on: a clean environment, minutes.


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The folder of programs of an environment that holds the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    installed(programs, str(wheel))
    return programs


def installed(programs: Path, *arguments: str) -> str:
    command = [programs / "python", "-m", "pip", "install", "-c", ROOT / "constraints.txt"]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, env=outside()
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def outside() -> dict[str, str]:
    """The environment without what leads Python back to this folder."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.mark.slow
def test_the_wheel_explains_far_from_the_repository(clean: Path, tmp_path: Path) -> None:
    command = [clean / "piste", "explain", TEXT, "--json", "out.json", "--html", "out.html"]
    done = subprocess.run(
        command, cwd=tmp_path, env=outside(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found == json.loads(piste.Explanation.from_json(tmp_path / "out.json").to_json())
    assert "superb" in (tmp_path / "out.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["serve", "--help"], 0, "--space"),
        (["check", "--help"], 0, "--baseline"),
        (["serve", "--space", "space"], 0, "Dockerfile"),
        (["serve"], 2, "pip install 'piste[web]'"),
        (["mcp"], 2, "pip install 'piste[mcp]'"),
        (["run", "reviews.jsonl", "--out", "out"], 2, "pip install 'piste[data]'"),
    ],
)
def test_commands_of_the_bare_wheel_work_or_name_their_extra(command, code, said, clean, tmp_path):
    done = subprocess.run(
        [clean / "piste", *command],
        cwd=tmp_path,
        env=outside(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr


@pytest.mark.slow
def test_the_installed_piste_is_the_one_of_the_wheel(clean: Path, tmp_path: Path) -> None:
    code = "import piste; print(piste.__file__)"
    home = subprocess.check_output(
        [clean / "python", "-c", code], cwd=tmp_path, env=outside(), text=True
    )
    assert Path(home.strip()).is_relative_to(clean.parent)


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted(EXTRAS - set(OURS)))
def test_extras_resolve(extra: str, clean: Path, wheel: Path) -> None:
    # Whatever other tests have put there, all of it is named.
    said = installed(clean, "--dry-run", "--ignore-installed", f"piste[{extra}] @ {wheel.as_uri()}")
    wanted = [line for line in PROJECT["optional-dependencies"][extra] if "piste[" not in line]
    would = next(line for line in said.splitlines() if line.startswith("Would install")).lower()
    assert all(line.split(">=")[0].split("[")[0] in would for line in wanted)
