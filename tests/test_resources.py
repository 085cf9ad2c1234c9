"""Too little memory, and Ctrl-C: the work shrinks or ends, and nothing half done stays behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import piste
from piste.errors import OutputError
from piste.files import write_atomic
from piste.models.backends.function import FunctionClassifier
from tests.planted import PlantedSlalom
from tests.systems import posix_only

ERRORS = {
    "python": MemoryError(),
    "torch": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "cpu": RuntimeError(
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
    ),
    "mps": RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"),
}


class Small(FunctionClassifier):
    """A classifier whose machine holds so many rows at once."""

    most = 4
    error: Exception = MemoryError()
    refused = 0

    def logits(self, ids):
        if len(ids) > self.most:
            self.refused += 1
            raise self.error
        return super().logits(ids)


def small(most: int, error: Exception) -> Small:
    planted = PlantedSlalom(8)
    made = piste.from_function(planted)
    found = Small(made.function, made.labels, made.scale, made.name)
    found.most, found.error = most, error
    return found


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("most", [1, 4])
def test_out_of_memory_shrinks_the_batch_and_changes_nothing_else(kind: str, most: int) -> None:
    asked, roomy = small(most, ERRORS[kind]), small(10**6, ERRORS[kind])
    text = PlantedSlalom(8).text
    found, expected = piste.explain(text, asked), piste.explain(text, roomy)
    assert asked.refused > 0
    assert roomy.refused == 0
    assert all((found.scores[name] == scores).all() for name, scores in expected.scores.items())
    assert found.cost.forwards == expected.cost.forwards


@pytest.mark.parametrize("kind", ERRORS)
def test_one_sequence_that_does_not_fit_is_explained(kind: str) -> None:
    with pytest.raises(OutputError, match="does not fit into memory") as caught:
        piste.explain(PlantedSlalom(8).text, small(0, ERRORS[kind]))
    assert "shorter text" in caught.value.remedy


@pytest.mark.parametrize("method", ["gradients", "integrated-gradients", "attention"])
def test_gradients_and_attention_shrink_too(method: str, bert, monkeypatch) -> None:
    expected = piste.explain("the film was good", bert, method)
    forward, refused = bert.model.forward, []

    def cramped(*arguments, **named):
        rows = next(value for value in named.values() if hasattr(value, "shape")).shape[0]
        if rows > 1:
            refused.append(rows)
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(*arguments, **named)

    monkeypatch.setattr(bert.model, "forward", cramped)
    found = piste.explain("the film was good", bert, method)
    assert refused or method != "integrated-gradients"
    np.testing.assert_allclose(
        found.scores[found.primary], expected.scores[found.primary], atol=1e-5
    )


def interrupted(tmp_path: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command, send it Ctrl-C once its model is being asked, and say how it ended."""
    mark = tmp_path / "asked"
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.slow_model", str(mark), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
    )
    try:
        while not mark.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    mark.unlink()
    return process.returncode, out.decode(), err.decode()


@posix_only
@pytest.mark.parametrize("command", ["explain", "compare"])
def test_ctrl_c_ends_with_one_line_and_leaves_files_alone(command: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "x.json").write_text("before")
    outputs = [f"--{kind}={folder}/x.{kind}" for kind in ("json", "html")]
    code, out, err = interrupted(
        tmp_path, command, "a good film", *outputs, f"--figure={folder}/x.svg"
    )
    assert code == 130
    assert out == ""
    assert err == "piste: interrupted; no file is half written.\n"
    assert [path.name for path in folder.iterdir()] == ["x.json"]
    assert (folder / "x.json").read_text() == "before"


@posix_only
def test_ctrl_c_in_an_evaluation_leaves_a_folder_to_go_on_in(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("text\na good film\na bad film\n")
    folder = tmp_path / "out"
    code, _, err = interrupted(
        tmp_path, "evaluate", str(tmp_path / "texts.csv"), f"--out={folder}", "--methods=occlusion"
    )
    assert code == 130
    assert len(err.strip().splitlines()) == 1
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]
    asked = piste.from_function(lambda texts: [float(len(text)) for text in texts])
    piste.evaluate(tmp_path / "texts.csv", asked, ["occlusion"], ["deletion"], out=tmp_path / "o2")


@pytest.mark.parametrize("where", ["os.replace", "os.chmod", "os.fdopen"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interrupt_while_writing_leaves_the_old_file(where, error, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("before")

    def interrupt(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(where, interrupt)
        with pytest.raises(error):
            write_atomic(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
