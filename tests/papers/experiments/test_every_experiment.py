"""Every experiment runs from data to files at the tiny scale, on made-up data and tiny models."""

import json

import pytest

from papers.experiments import EXPERIMENTS, Context, run
from papers.experiments.base import SCALES
from papers.experiments.files import Spent, write
from tests.papers.experiments.data_sets import write_data_sets


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """Experiments that explain the same models share them."""
    folder = tmp_path_factory.mktemp("tiny")
    return Context(folder / "cache", "tiny", write_data_sets(folder / "data"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_experiment_runs(name, context, tmp_path):
    outcome = run(name, context)
    assert outcome.tables
    for table in outcome.tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert all(isinstance(cell, str) for row in table.rows for cell in row)
    assert outcome.figures
    assert outcome.findings
    paths = write(outcome, name, EXPERIMENTS[name], context, Spent(2.0, 1.0), tmp_path)
    assert all(path.stat().st_size for path in paths)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["settings"]
    assert len(result["tables"]) == len(outcome.tables)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_scale_has_settings(name):
    from importlib import import_module

    module = import_module(f"papers.experiments.{EXPERIMENTS[name].module}")
    assert tuple(module.SETTINGS) == SCALES
    assert len({type(settings) for settings in module.SETTINGS.values()}) == 1
