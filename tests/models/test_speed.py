"""The faster backend is chosen by measuring, once a model and machine, and the result says so."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import piste
from piste.cli import diagnostics
from piste.errors import ModelError, SettingError
from piste.models.backends import compiled, openvino_runtime, speed
from piste.models.backends.speed import Speed
from piste.models.fingerprint import difference, fingerprint
from piste.text.encoding import Frame
from tests.conftest import tiny_bert

TEXT = "the film was good and the plot not bad at all"
SLOW, FAST = Speed(50.0, 100.0, "m"), Speed(150.0, 100.0, "m")


@pytest.fixture
def saved(wordpiece, tmp_path, monkeypatch):
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(speed, "CLEARLY", 1.1)
    tiny_bert(len(wordpiece)).save_pretrained(tmp_path / "model")
    wordpiece.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def measuring(monkeypatch, result):
    """The number of measurements, each of which gives the result."""
    calls = []

    def measure(*given):
        calls.append(given)
        return result

    monkeypatch.setattr(speed, "measure", measure)
    return calls


@pytest.mark.parametrize(("result", "starts"), [(SLOW, "openvino"), (FAST, "torch")])
def test_the_faster_one_answers_and_the_explanation_says_why(result, starts, saved, monkeypatch):
    measuring(monkeypatch, result)
    explanation = piste.explain(TEXT, piste.load(saved), "occlusion")
    assert explanation.backend.startswith(starts)
    assert result.reason in explanation.backend
    again = piste.Explanation.from_dict(json.loads(explanation.to_json()))
    assert again.backend == explanation.backend
    assert explanation.notes == ()
    expected = piste.explain(TEXT, piste.load(saved, backend="torch"), "occlusion")
    np.testing.assert_allclose(explanation.scores["removal"], expected.scores["removal"], atol=1e-4)


@pytest.mark.parametrize("backend", ["torch", "openvino"])
def test_who_names_a_backend_gets_it_unmeasured(backend, saved, monkeypatch):
    calls = measuring(monkeypatch, FAST if backend == "openvino" else SLOW)
    assert piste.load(saved, backend=backend).backend.startswith(backend)
    assert calls == []


def test_a_machine_is_measured_once_and_again_when_it_changes(saved, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # whoever runs the tests may limit it
    calls = measuring(monkeypatch, FAST)
    for _ in range(2):
        assert piste.load(saved).backend.startswith("torch")
    assert len(calls) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "61")
    piste.load(saved)
    assert len(calls) == 2
    monkeypatch.delenv("OMP_NUM_THREADS")
    piste.load(saved)
    assert len(calls) == 2


@pytest.mark.parametrize("content", ["", "[]", "{", '{"torch": -1, "openvino": 0, "model": "m"}'])
def test_a_damaged_file_is_measured_again(content, saved, tmp_path, monkeypatch):
    calls = measuring(monkeypatch, SLOW)
    piste.load(saved)
    (file,) = tmp_path.glob("cache/compiled/*/speed-*.json")
    assert json.loads(file.read_text())["machine"] == speed.machine()
    file.write_text(content)
    piste.load(saved)
    assert len(calls) == 2
    assert list(speed.known()) == [SLOW]


def test_an_object_is_measured_and_nothing_is_kept(wordpiece, saved, tmp_path, monkeypatch):
    calls = measuring(monkeypatch, FAST)
    assert piste.load(tiny_bert(len(wordpiece)), wordpiece).backend.startswith("torch")
    assert len(calls) == 1
    assert list(tmp_path.glob("cache/compiled/*")) == []


def planted(monkeypatch, first, seconds):
    """Both answers on a clock that only they move, and the list of (who, which batch) they fill.

    A batch takes `first` seconds where the other answered last, else the next of `seconds`, of
    which the last stays.
    """
    now, calls, left = [0.0], [], {name: list(given) for name, given in seconds.items()}
    monkeypatch.setattr(speed.time, "perf_counter", lambda: now[0])

    def answer(name, ids):
        if not calls or calls[-1][0] != name:
            now[0] += first
        else:
            now[0] += left[name].pop(0) if len(left[name]) > 1 else left[name][0]
        calls.append((name, int(ids[0, 0])))
        return ids

    return partial(answer, "torch"), partial(answer, "openvino"), calls


def test_whole_passes_alternate_and_a_batch_after_each_switch_does_not_count(monkeypatch):
    torch, openvino, calls = planted(monkeypatch, 9.0, {"torch": [2.0], "openvino": [1.0]})
    asked = [np.full((2, 5), number) for number in range(3)]
    found = speed.measure(torch, openvino, asked, "m")
    once = [(name, number) for name in ("torch", "openvino") for number in (2, 0, 1, 2)]
    assert calls == once * speed.REPETITIONS[0]
    assert (found.torch, found.openvino) == (pytest.approx(30 / 6), pytest.approx(30 / 3))


def test_the_fastest_pass_counts(monkeypatch):
    """Other programs slow torch at first, and OpenVINO later."""
    given = {"torch": [8.0, 8.0, 2.0, 2.0, 5.0], "openvino": [7.0, 7.0, 1.0, 1.0, 3.0]}
    torch, openvino, _ = planted(monkeypatch, 9.0, given)
    found = speed.measure(torch, openvino, [np.ones((2, 5), dtype=np.int64)] * 2, "m")
    assert (found.torch, found.openvino) == (pytest.approx(20 / 4), pytest.approx(20 / 2))


def test_a_fast_model_is_timed_more_often(monkeypatch):
    torch, openvino, calls = planted(monkeypatch, 0.0, {"torch": [1e-6], "openvino": [1e-6]})
    speed.measure(torch, openvino, [np.ones((2, 5), dtype=np.int64)], "m")
    assert len(calls) == 2 * 2 * speed.REPETITIONS[1]


def test_what_was_measured_in_another_way_is_measured_again(saved, monkeypatch):
    calls = measuring(monkeypatch, SLOW)
    with monkeypatch.context() as earlier:
        earlier.setattr(speed, "FILE", "speed-{}.json")
        piste.load(saved)
    piste.load(saved)
    assert len(calls) == 2


def test_a_little_faster_is_not_clearly_faster(monkeypatch):
    monkeypatch.setattr(speed, "CLEARLY", 1.1)
    assert not Speed(109.0, 100.0, "m").prefers_torch
    assert Speed(111.0, 100.0, "m").prefers_torch
    assert "about as fast" in Speed(109.0, 100.0, "m").reason


def test_batches_fit_the_model():
    frame = Frame(prefix=(2,), suffix=(3,))
    for count in (1, 2, 7, 64):
        made = speed.batches([5] * count, frame)
        assert made
        assert max(batch.shape[1] for batch in made) <= count + frame.size
        for batch in made:  # some models refuse a sequence without its special tokens
            assert (batch[:, 0] == 2).all()
            assert (batch[:, -1] == 3).all()
            assert batch.shape[1] > 2


def test_doctor_names_the_choice(saved, monkeypatch):
    measuring(monkeypatch, FAST)
    piste.load(saved)
    (found,) = diagnostics.backends()
    assert found.found.startswith("torch: 1.5 times as fast as OpenVINO here")


def test_doctor_names_the_embedded_model_wherever_it_was_measured(monkeypatch):
    """A cache may be shared by several installations."""
    measured = [Speed(2.0, 1.0, name) for name in ("/other/clone/src/piste/models/demo", "my/demo")]
    monkeypatch.setattr(speed, "known", lambda: iter(measured))
    assert [found.what for found in diagnostics.backends()] == ["demo", "my/demo"]


def test_what_was_measured_is_read_without_torch(saved, monkeypatch):
    measuring(monkeypatch, FAST)
    piste.load(saved)
    code = (
        "import sys; from piste.models.backends import speed\n"
        "print(len(list(speed.known())), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]


def hint(classifier):
    return classifier.copy.network._compiled.get_property(
        "INFERENCE_PRECISION_HINT"
    ).get_type_name()


def test_float32_is_asked_for_on_every_processor(saved):
    assert hint(piste.load(saved, backend="openvino")) == "f32"


def test_bf16_where_the_processor_has_it(saved):
    if "BF16" not in openvino_runtime.library().Core().get_property(
        "CPU", "OPTIMIZATION_CAPABILITIES"
    ):
        pytest.skip("the processor has no bfloat16")
    if "ONEDNN_MAX_CPU_ISA" in os.environ:  # `make test-portable`: OpenVINO does not heed it
        pytest.skip("oneDNN is told to do without bfloat16")
    exact, coarse = piste.load(saved, backend="openvino"), piste.load(saved, precision="bf16")
    assert hint(coarse) == "bf16"
    assert "in bf16" in piste.explain(TEXT, coarse, "occlusion").backend
    ids = np.array([[2, 9, 8, 3]])
    np.testing.assert_allclose(coarse.logits(ids), exact.logits(ids), atol=0.1)
    told = [fingerprint(one, [(TEXT, None)]) for one in (exact, coarse)]
    assert "precision" in (difference(*told) or "")


def test_a_processor_without_bf16_is_told(saved, monkeypatch):
    core = openvino_runtime.library().Core
    monkeypatch.setattr(core, "get_property", lambda *_: ["FP32", "INT8"])
    with pytest.raises(ModelError, match="no instructions for bfloat16"):
        piste.load(saved, precision="bf16")


@pytest.mark.parametrize("settings", [{"backend": "torch"}, {"device": "cuda"}])
def test_bf16_is_for_openvino_on_a_cpu(settings, saved):
    with pytest.raises(SettingError, match="OpenVINO on the CPU"):
        piste.load(saved, precision="bf16", **settings)
    with pytest.raises(SettingError, match="f32, bf16"):
        piste.load(saved, precision="fp8")


def test_bf16_that_cannot_be_compiled_is_refused(saved, monkeypatch):
    monkeypatch.setattr(openvino_runtime, "check_precision", lambda precision: None)
    monkeypatch.setattr(compiled, "_convert", lambda *_: 1 / 0)
    with pytest.raises(ModelError, match="without precision"):
        piste.load(saved, precision="bf16")
