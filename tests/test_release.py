"""Versions in step, and workflows that run what contributors run."""

import re
from pathlib import Path

import pytest
import yaml

import piste

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"


def read(path: Path) -> dict:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # "on" stays a word


def commands(workflow: dict) -> list[str]:
    return [
        step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
    ]


def test_one_version_everywhere() -> None:
    assert read(ROOT / "CITATION.cff")["version"] == piste.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, date = re.search(r"^## (\S+) \((.*)\)$", changes, re.M).groups()
    assert version == piste.__version__
    assert re.fullmatch(r"unreleased|\d{4}-\d{2}-\d{2}", date)


def test_the_citation_names_both_papers() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    papers = {each["value"] for ref in citation["references"] for each in ref["identifiers"]}
    assert papers == {"arXiv:2405.13536", "arXiv:2402.03485"}


def test_every_system_and_python_runs_what_contributors_run() -> None:
    workflow = read(WORKFLOWS / "ci.yml")
    assert set(workflow["on"]) == {"push", "pull_request"}
    job = workflow["jobs"]["test"]
    assert job["strategy"]["matrix"] == {
        "os": ["ubuntu-latest", "macos-latest", "windows-latest"],
        "python": ["3.11", "3.12", "3.13"],
    }
    assert job["runs-on"] == "${{ matrix.os }}"
    assert job["defaults"]["run"]["shell"] == "bash"
    assert commands(workflow)[-1] == "bash .ci/run"


def test_the_nightly_targets_exist() -> None:
    workflow = read(WORKFLOWS / "nightly.yml")
    targets = workflow["jobs"]["make"]["strategy"]["matrix"]["target"]
    assert set(targets) == {"test-slow", "test-oldest", "docs"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
    assert commands(workflow) == ["make ${{ matrix.target }}"]


def test_a_release_is_tested_and_only_its_last_step_may_publish() -> None:
    workflow = read(WORKFLOWS / "release.yml")
    assert workflow["on"] == {"push": {"tags": ["v*"]}}
    assert {"bash .ci/run", "make dist"} <= set(commands(workflow))
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_every_step_runs_something_and_actions_have_a_version(path: Path) -> None:
    for job in read(path)["jobs"].values():
        assert job["runs-on"]
        assert all("run" in step or "@" in step["uses"] for step in job["steps"])
