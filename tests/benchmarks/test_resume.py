"""A benchmark that was stopped asks for what is missing, and for nothing else."""

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def peers():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import peers

        yield peers
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_only_what_is_missing_is_planned(peers, monkeypatch):
    rows = [{"id": "a"}, {"id": "b"}]
    task = SimpleNamespace(rows=lambda data, count: iter(rows[:count]))
    monkeypatch.setattr(peers, "TASKS", {"trec": task})
    scale = peers.Scale(2, {"trec": (20, 70)})
    bench = SimpleNamespace(scale=scale)
    options = argparse.Namespace(
        texts=None, tasks=None, data=None, only=["ridge", "quick"], also=[], absences=["delete"]
    )
    whole = list(peers.planned(bench, options, []))
    assert [(job.row["id"], job.runs) for job in whole] == [
        (text, (("quick", None), ("ridge", 20), ("ridge", 70))) for text in "ab"
    ]
    done = [("a", "quick", None), ("a", "ridge", 20), ("a", "ridge", 70), ("b", "ridge", 20)]
    lines = [
        {"task": "trec", "absence": "delete", "text": text, "contender": name, "passes": passes}
        for text, name, passes in done
    ]
    left = list(peers.planned(bench, options, lines))
    assert [(job.row["id"], job.runs) for job in left] == [("b", (("quick", None), ("ridge", 70)))]


def test_other_words_in_a_comment_measure_nothing_anew(peers, tmp_path):
    programs = [
        'def f(x):\n    """Old."""\n    return x\n',
        'def f(x):\n    """New words."""\n    return x  # why\n',
        'def f(x):\n    """Old."""\n    return x + 1\n',
    ]
    files = [tmp_path / f"{number}.py" for number in range(3)]
    for file, program in zip(files, programs, strict=True):
        file.write_text(program)
    one, same, other = map(peers.essence, files)
    assert one == same != other
