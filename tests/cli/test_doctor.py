"""`piste doctor` tells the truth about what is installed."""

from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from piste import extras
from piste.cli import app, diagnostics


@pytest.fixture(scope="module")
def output():
    return CliRunner().invoke(app, ["doctor"], env={"COLUMNS": "200"})


def test_it_is_well_here_and_names_versions(output):
    assert output.exit_code == 0, output.output
    for library in ("torch", "numpy", "transformers"):
        line = next(line for line in output.output.splitlines() if f" {library} " in line)
        assert "✓" in line
    assert version("scipy") in output.output
    assert "cpu (" in output.output
    assert "embedded model" in output.output
    for extra in diagnostics.EXTRAS:
        assert f" {extra} " in output.output


def test_every_extra_that_an_error_may_name_is_examined():
    assert set(diagnostics.EXTRAS) == set(extras.EXTRAS.values())


def without(monkeypatch, *names):
    def missing(name):
        if name in names:
            raise diagnostics.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(diagnostics, "version", missing)


def test_a_missing_extra_is_no_illness_and_says_how_to_get_it(monkeypatch):
    without(monkeypatch, "openvino", "ray")
    found = {finding.what: finding for finding in diagnostics.extras()}
    assert not found["fast"].good
    assert "openvino is not installed" in found["fast"].found
    assert "pip install 'piste[fast]'" in found["fast"].found
    assert not found["ray"].good
    assert found["web"].good
    assert found["data"].good


def test_extras_that_name_others_need_theirs(monkeypatch):
    without(monkeypatch, "pyarrow")
    found = {finding.what: finding for finding in diagnostics.extras()}
    assert not found["data"].good
    assert "pyarrow" in found["ray"].found


def test_a_missing_library_ends_with_1(monkeypatch):
    without(monkeypatch, "scipy")
    monkeypatch.setattr(diagnostics, "model", list)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "scipy" in result.output


def test_a_version_that_is_too_old_is_said(monkeypatch):
    monkeypatch.setattr(diagnostics, "version", lambda name: "0.1")
    found = diagnostics._library(Requirement("numpy>=1.26"))
    assert (found.good, found.found) == (False, "0.1 is not >=1.26")


def test_a_cache_that_cannot_be_written_is_said(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path / "file" / "below"))
    assert not diagnostics.cache().good


def test_a_device_that_does_not_load_is_said(monkeypatch):
    def broken(name):
        raise ImportError("no such library")

    monkeypatch.setattr(diagnostics, "import_module", broken)
    assert [finding.good for finding in diagnostics.devices()] == [False, False]
