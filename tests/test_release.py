"""A release: what its workflow checks is checked here, and what workflows run can be run."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import piste
from tests.systems import posix_only

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
every_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def read(path: Path) -> dict:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # "on" stays a word


def steps(path: Path) -> list[dict]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def command(name: str) -> str:
    """What the release's step of this name runs."""
    (release,) = (path for path in WORKFLOWS if path.name == "release.yml")
    (script,) = (step["run"] for step in steps(release) if step.get("name") == name)
    return script


def passes(script: str, folder: Path, tag: str) -> bool:
    environment = os.environ | {"GITHUB_REF_NAME": tag}
    return not subprocess.run(["bash", "-c", script], cwd=folder, env=environment).returncode


def test_one_version_everywhere() -> None:
    assert read(ROOT / "CITATION.cff")["version"] == piste.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.M)[1] == piste.__version__


def test_the_citation_names_the_papers_of_the_readme() -> None:
    references = read(ROOT / "CITATION.cff")["references"]
    cited = {each["value"] for reference in references for each in reference["identifiers"]}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert cited == {f"arXiv:{number}" for number in re.findall(r"arXiv (\d+\.\d+)", readme)}


@posix_only
def test_a_tag_of_another_version_is_not_released() -> None:
    script = command("the tag names the version")
    assert passes(script, ROOT, f"v{piste.__version__}")
    assert not passes(script, ROOT, f"v{piste.__version__}1")


@posix_only
@pytest.mark.parametrize(("date", "released"), [("2026-01-31", True), ("unreleased", False)])
def test_a_release_without_a_date_is_not_released(date, released, tmp_path) -> None:
    (tmp_path / "CHANGELOG.md").write_text(f"# Changes\n\n## 1.2.3 ({date})\n")
    script = command("the changelog names its date")
    assert passes(script, tmp_path, "v1.2.3") is released
    assert not passes(script, tmp_path, "v1.2.4")


def test_every_python_that_is_promised_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = re.findall(r"Python :: (\d\.\d+)", "\n".join(project["classifiers"]))
    (matrix,) = (read(path)["jobs"]["test"] for path in WORKFLOWS if path.name == "ci.yml")
    assert matrix["strategy"]["matrix"]["python"] == promised
    assert project["requires-python"] == f">={promised[0]}"


@every_workflow
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_what_a_workflow_makes_can_be_made(path: Path) -> None:
    """Every target exists, those of a matrix and of scripts too."""
    matrix = re.search(r"target: \[(.*)\]", path.read_text(encoding="utf-8"))
    targets = matrix[1].split(", ") if matrix else []
    for step in steps(path):
        script = step.get("run", "").replace("bash .ci/run", (ROOT / ".ci" / "run").read_text())
        targets += re.findall(r"^(?:exec )?make ([\w-]+)$", script, re.M)
    for target in targets:
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


@every_workflow
def test_actions_have_a_version_and_only_what_publishes_may_do_more_than_read(path: Path) -> None:
    workflow = read(path)
    assert all("run" in step or "@" in step["uses"] for step in steps(path))
    assert workflow["permissions"] == {"contents": "read"}
    allowed = [name for name, job in workflow["jobs"].items() if "permissions" in job]
    assert allowed == (["publish"] if "publish" in workflow["jobs"] else [])
    assert all(workflow["jobs"][name]["needs"] for name in allowed), "only after the tests"
