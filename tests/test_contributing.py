"""CONTRIBUTING's steps, done on a copy of the project, and contracts that can be broken."""

import dataclasses
import filecmp
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import piste
from piste.methods import Attribution, Method
from piste.metrics import METRICS, Metric
from piste.result.scores import SCORES, Score
from tests import pages
from tests.contracts import backends, methods, metrics, scores

ROOT = pages.ROOT
PLACES = {"method": 3, "score": 2, "metric": 3, "backend": 3, "setting": 2}
LINE = re.compile(r"\*\*One line\*\* in `(\w+)` of `([^`]+)`:\s+`([^`]+)`")
ROW = re.compile(r"\*\*One row\*\* in the first table of \[\w+\]\(([^)]+)\):\s+`([^`]+)`")
SETTING = """
import piste, pytest
from typer.testing import CliRunner
from piste import cli
from piste.options import Options
from piste.web.requests import ExplainRequest

assert Options.of(margin=2).shaping()["margin"] == 2
with pytest.raises(piste.PisteError, match="margin"):
    piste.explain("a b", piste.from_function(lambda texts: [0.0] * len(texts)), margin=-1)
for command in ("explain", "compare", "evaluate", "run"):
    assert "--margin" in CliRunner().invoke(cli.app, [command, "--help"]).output, command
assert "margin" in ExplainRequest.model_json_schema()["properties"]
"""


def section(kind: str) -> str:
    """What CONTRIBUTING says on adding one, with its number of places."""
    text = pages.read("CONTRIBUTING.md")
    (said,) = re.findall(rf"^### An? {kind}: (\w+) places\n(.*?)(?=^##)", text, re.M | re.S)
    assert said[0] == {2: "two", 3: "three"}[PLACES[kind]]
    return str(said[1])


def follow(kind: str, project: Path) -> None:
    """Do what the section says: write its files, add its lines."""
    files = [block for block in pages.fenced(section(kind)) if block.title]
    for block in files:
        path = project / str(block.title)
        before = path.read_text(encoding="utf-8") + "\n\n" if path.exists() else ""
        path.write_text(before + block.body, encoding="utf-8")
    for table, name, line in LINE.findall(section(kind)):
        new = [block for block in files if str(block.title).startswith("src/")]
        add_line(project / name, table, line, "".join(map(imported, new)))
    for name, row in ROW.findall(section(kind)):
        path = project / name
        path.write_text(re.sub(r"(\n\|[-|]+\|\n)", rf"\1{row}\n", path.read_text(), count=1))


def imported(block: pages.Block) -> str:
    """The import of what a new file defines."""
    module = str(block.title).removeprefix("src/").removesuffix(".py").replace("/", ".")
    (name,) = re.findall(r"^(?:class|def) (\w+)", block.body, re.M)
    return f"from {module} import {name}\n"


def add_line(path: Path, table: str, line: str, imports: str) -> None:
    """Put the line at the end of a table: before its closing bracket, or a class's first method."""
    text = path.read_text(encoding="utf-8")
    begin = re.search(rf"^(class )?{table}\b", text, re.M)
    assert begin, f"there is no {table} in {path}"
    end = re.compile(r"^    def " if begin[1] else r"^ *[)}]$", re.M).search(text, begin.end())
    assert end
    text = text[: end.start()] + f"    {line}\n" + text[end.start() :]
    path.write_text(text.replace("\nfrom piste", f"\n{imports}from piste", 1), encoding="utf-8")


def changed(project: Path) -> set[str]:
    """The files that are new or different."""
    ours = [path for path in project.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    names = [path.relative_to(project).as_posix() for path in ours]
    return {
        name
        for name in names
        if not (ROOT / name).exists() or not filecmp.cmp(project / name, ROOT / name, False)
    }


@pytest.fixture
def project(tmp_path):
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    for name in ("pyproject.toml", "docs/models.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(project: Path, *arguments: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(project / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]


def run_tests(project: Path, chosen: str, *paths: str) -> None:
    run(project, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", chosen, *paths)


def test_a_method(project):
    follow("method", project)
    assert len(changed(project)) == PLACES["method"]
    run_tests(project, "alone", "tests/methods/test_contract.py", "tests/methods/test_alone.py")


def test_a_score(project):
    follow("method", project)
    before = changed(project)
    follow("score", project)
    assert len(changed(project) - before) == PLACES["score"] - 1
    for name in ("src/piste/methods/alone.py", "tests/methods/test_alone.py"):
        path = project / name  # the other place: the method that gives the score, with its test
        path.write_text(path.read_text().replace('"value"', '"solo"'))
    chosen = "solo or planted or (in_the_table and alone)"
    suites = ("tests/test_scores.py", "tests/methods/test_contract.py")
    run_tests(project, chosen, *suites, "tests/methods/test_alone.py")


def test_a_metric(project):
    follow("metric", project)
    assert len(changed(project)) == PLACES["metric"]
    run_tests(project, "top", "tests/metrics/test_contract.py", "tests/metrics/test_top_fall.py")


def test_a_backend(project):
    follow("backend", project)
    assert len(changed(project)) == PLACES["backend"]
    run_tests(project, "weighted_words", "tests/models/test_contract.py")


def test_a_setting(project):
    follow("setting", project)
    assert len(changed(project)) == PLACES["setting"] - 1  # the other is what reads it
    run(project, "-c", SETTING)


@dataclasses.dataclass(frozen=True)
class Broken(Method):
    """A method that breaks one rule, as told."""

    name: ClassVar[str] = "broken"

    rule: str = ""

    def explain(self, decision: piste.Decision, rng: np.random.Generator) -> Attribution:
        count = len(decision.players)
        given: dict[str, Any] = {
            "not finite": np.full(count, np.nan),
            "too many": np.zeros(count + 1),
            "no seed": np.random.default_rng().normal(size=count),
            "no side": np.full(count, decision.target.score**2),
        }
        name = "mine" if self.rule == "not in the table" else "value"
        return Attribution(scores={name: given.get(self.rule, np.zeros(count))}, primary=name)


@pytest.mark.parametrize(
    ("rule", "check"),
    [
        ("not finite", methods.scores_are_finite_and_aligned),
        ("too many", methods.scores_are_finite_and_aligned),
        ("not in the table", methods.every_score_is_in_the_table),
        ("no seed", methods.the_same_seed_gives_the_same_bits),
        ("no side", methods.the_target_turns_signed_scores_round),
    ],
)
def test_a_broken_method_breaks_the_contract(rule, check, request):
    check(Broken(), request.getfixturevalue)
    with pytest.raises((AssertionError, piste.PisteError)):
        check(Broken(rule), request.getfixturevalue)


def test_a_method_without_a_name_of_its_own_or_help_breaks_the_contract(request):
    class Nameless(Method):
        pass

    with pytest.raises(AssertionError):
        methods.CHECKS[0](Nameless(), request.getfixturevalue)


def metric(**changes: Any) -> Metric:
    return dataclasses.replace(METRICS["deletion"], **changes)


def counting() -> Callable[..., float]:
    calls: list[None] = []
    return lambda case, explanation: float(calls.append(None) or len(calls))


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (metric(says="Good."), metrics.its_line_of_the_table_is_complete),
        (metric(needs="luck"), metrics.its_line_of_the_table_is_complete),
        (metric(measure=lambda case, ex: np.nan), metrics.it_gives_a_finite_figure),
        (metric(measure=lambda case, ex: np.inf), metrics.texts_without_a_figure_have_none),
        (metric(needs="human"), metrics.without_what_it_needs_it_gives_none),
        (metric(measure=counting()), metrics.measured_again_it_gives_the_same_and_asks_nothing),
        (
            metric(higher_is_better=False),
            metrics.the_true_weights_are_not_worse_than_their_opposite,
        ),
    ],
)
def test_a_broken_metric_breaks_the_contract(broken, check):
    check("deletion", METRICS["deletion"])
    with pytest.raises(AssertionError):
        check("deletion", broken)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Score("what the {word} is worth"), scores.its_meaning_is_one_phrase),
        (
            Score("a weight of the word", signed=False),
            scores.its_facts_do_not_contradict_each_other,
        ),
        (
            Score("a part of the whole", adds_up=True, predicts=False),
            scores.its_facts_do_not_contradict_each_other,
        ),
        (Score("not what the table says"), scores.it_is_shown_with_its_meaning),
        (Score("a weight", signed=False), scores.shap_shows_it_where_it_has_a_side),
    ],
)
def test_a_broken_score_breaks_the_contract(broken, check):
    check("weight", SCORES["weight"])
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check("weight", broken)


class Wrapped:
    """A classifier with some of its answers replaced."""

    def __init__(self, **changes: Any) -> None:
        self.inner = piste.from_function(lambda texts: [float(len(text)) for text in texts])
        self.changes = SimpleNamespace(**changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.changes, name, None) or getattr(self.inner, name)


def by_position(ids: np.ndarray) -> np.ndarray:
    margins = np.arange(len(ids), dtype=float)
    return np.stack([-margins, margins], axis=1)


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"outputs": "odds"}, backends.it_says_what_it_is),
        ({"labels": ("one",)}, backends.it_says_what_it_is),
        ({"logits": by_position}, backends.answers_are_finite_and_do_not_depend_on_the_batch),
        ({"show": lambda ids: " "}, backends.a_sequence_can_be_shown),
        (
            {"logits": lambda ids: np.random.default_rng().normal(size=(len(ids), 2))},
            backends.threads_get_the_answers_that_one_would,
        ),
    ],
)
def test_a_broken_backend_breaks_the_contract(changes, check, monkeypatch):
    monkeypatch.setattr(backends, "SECONDS", 0.2)
    check(Wrapped())
    with pytest.raises(AssertionError):
        check(Wrapped(**changes))
