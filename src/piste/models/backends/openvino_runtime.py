"""OpenVINO on this machine's CPU: imported without its telemetry, safe to ask from any thread."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from piste.arrays import FloatArray
from piste.errors import ModelError

EXACT, COARSE = "f32", "bf16"
# Left to itself, OpenVINO computes in bfloat16 wherever the processor can.
SETTINGS = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": EXACT}
# For every new shape (rows, tokens) OpenVINO makes code, and keeps it for 5,000 layers: hundreds of
# megabytes for texts of all lengths. Of fewer the most recent are kept, and memory stays bounded.
MOST_KEPT = {"CPU_RUNTIME_CACHE_CAPACITY": "1000"}
TELEMETRY = "openvino_telemetry"


def available() -> bool:
    return find_spec("openvino") is not None


def library() -> Any:
    """The module `openvino`.

    Imported as it is, it reports to an analytics host and writes to the user's home. It does
    neither where its telemetry package cannot be imported, so that is what it finds here.
    """
    sys.modules.setdefault(TELEMETRY, None)  # type: ignore[arg-type]
    import openvino

    return openvino


def devices() -> list[str]:
    """What OpenVINO could compute on here; piste uses its CPU."""
    return [str(name) for name in library().Core().available_devices]


def name(precision: str = EXACT) -> str:
    coarse = "" if precision == EXACT else f" in {precision}"
    return f"openvino {version('openvino')}{coarse}"


def check_precision(precision: str) -> None:
    """Refuse what the processor would only imitate."""
    known = library().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if precision == COARSE and COARSE.upper() not in known:
        raise ModelError(
            "This processor has no instructions for bfloat16 (AVX512-BF16 or AMX).",
            "Leave precision out: the model then runs in float32.",
        )


class Network:
    """A graph compiled for the CPU. Every caller works on an infer request of its own.

    OpenVINO's requests hold the input and the output of one question: two threads on the same
    request get each other's answers.
    """

    def __init__(self, graph: Any, precision: str = EXACT) -> None:
        settings = SETTINGS | _threads() | {"INFERENCE_PRECISION_HINT": precision}
        core = library().Core()
        try:
            compiled = core.compile_model(graph, "CPU", settings | MOST_KEPT)
        except RuntimeError:  # a setting without a promise: a version may not know it
            compiled = core.compile_model(graph, "CPU", settings)
        self.inputs, self.outputs = compiled.inputs, compiled.outputs
        self._compiled = compiled
        self._idle: deque[Any] = deque()  # requests that nobody uses now

    def __call__(self, inputs: Mapping[str, Any] | Sequence[Any], output: Any = 0) -> FloatArray:
        """One output of the graph for these inputs."""
        try:
            request = self._idle.pop()
        except IndexError:
            request = self._compiled.create_infer_request()
        try:
            return np.array(request.infer(inputs, share_inputs=True)[output], dtype=np.float64)
        finally:
            self._idle.append(request)


def _threads() -> dict[str, str]:
    """As many threads as a worker of a run may use; all, where nobody says."""
    given = os.environ.get("PISTE_THREADS")
    return {} if given is None else {"INFERENCE_NUM_THREADS": given}


def reason(error: Exception) -> str:
    """What OpenVINO says: a stack of places in its source, and at the end what was wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].rstrip(".")[:200] if lines else type(error).__name__
