"""What piste says of its work goes through the standard logging, and only when asked."""

import logging
import subprocess
import sys

import pytest

import piste
from piste.arrays import Ragged
from piste.models.query import Query
from piste.text.encoding import Frame

TEXT = "The plot is thin, but the acting is superb."


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "piste", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")


def test_much_is_said_with_verbose():
    loud = run("--verbose", "explain", TEXT)
    assert "piste.models.loading: Loaded demo" in loud.stderr
    assert "piste.methods.context: Round 1" in loud.stderr
    assert "superb" not in loud.stderr  # what people write stays out of logs


def test_loading_and_rounds_are_logged(caplog, demo):
    with caplog.at_level(logging.DEBUG, "piste"):
        piste.load(backend="torch")
        piste.explain(TEXT, demo)
    said = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("Loaded demo") for line in said)
    assert any(line.startswith("Round 1:") for line in said)


def test_running_out_of_memory_is_a_warning(caplog):
    class Small:
        name, labels, outputs = "small", ("a", "b"), "classes"

        def logits(self, ids):
            if len(ids) > 1:
                raise MemoryError
            return [[0.0, 1.0]]

    query = Query(Small(), Frame())
    query.logits(Ragged.of([[1], [2]]))
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_library_prints_nothing(capfd, demo):
    piste.explain(TEXT, demo)
    with pytest.raises(piste.PisteError):
        piste.explain("", demo)
    assert capfd.readouterr() == ("", "")
