"""Which of torch and OpenVINO is faster on this machine: measured once, kept beside the graph.

Nothing here imports torch: what was measured is read before it is known whether torch is needed.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.errors import PisteError
from piste.files import cache_directory, write_atomic
from piste.models.fingerprint import content_digest
from piste.text.encoding import Frame

log = logging.getLogger(__name__)

# One for each machine that uses the cache, and each limit of threads. The number goes up when the
# way of measuring changes: what was measured otherwise is not read.
FILE = "speed-3-{}.json"
CLEARLY = 1.1  # times as fast as OpenVINO must torch be to be taken: less may be noise
SECONDS = 0.5  # for all repetitions, unless the model takes longer for the fewest
REPETITIONS = (3, 20)  # at least, at most; the first makes kernels and fills caches
# Rows and tokens of what an explanation asks: many words alone, then single parts of the text.
SHAPES = ((24, 3), (12, 5), (2, 9), (1, 17), (1, 30), (2, 45), (1, 63), (1, 90), (1, 120))
INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "asimd")
LIMITS = (
    "PISTE_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "ONEDNN_MAX_CPU_ISA",
    "ATEN_CPU_CAPABILITY",
)
Answer = Callable[[IntArray], FloatArray]
Machine = dict[str, str]


@dataclass(frozen=True)
class Speed:
    """Tokens a second of both on the same batches, measured in turn."""

    torch: float
    openvino: float
    model: str  # as it was loaded, for people

    @property
    def prefers_torch(self) -> bool:
        return self.torch > CLEARLY * self.openvino

    @property
    def reason(self) -> str:
        """Why the one that answers was chosen."""
        ratio = self.torch / self.openvino
        if self.prefers_torch:
            return f"{ratio:.1f} times as fast as OpenVINO here"
        if ratio > 1 / CLEARLY:
            return "about as fast as torch here"
        return f"{1 / ratio:.1f} times as fast as torch here"


def measure(torch: Answer, openvino: Answer, batches: Sequence[IntArray], model: str) -> Speed:
    """Time whole passes over the batches in turn. The fastest of each counts: others only slow it.

    In turn batch by batch, each would be timed while the other's threads still wait for work on
    the same cores. So whole passes, each after a batch that is not timed.
    """
    best = {torch: np.inf, openvino: np.inf}
    ended = time.perf_counter() + SECONDS
    for repetition in range(REPETITIONS[1]):
        if repetition >= REPETITIONS[0] and time.perf_counter() > ended:
            break
        for answer in best:
            answer(batches[-1])
            best[answer] = min(best[answer], _timed(answer, batches))
    tokens = sum(batch.size for batch in batches)
    return Speed(tokens / best[torch], tokens / best[openvino], model)


def _timed(answer: Answer, batches: Sequence[IntArray]) -> float:
    started = time.perf_counter()
    for batch in batches:
        answer(batch)
    return max(time.perf_counter() - started, 1e-9)  # a coarse clock may stand still


def batches(ids: Sequence[int], frame: Frame) -> list[IntArray]:
    """Framed sequences of these tokens in the shapes that explanations ask for.

    ids: of the longest text that is to be read.
    """
    longest = len(ids) + frame.size
    return [
        _framed(ids, frame, rows, min(tokens, longest))
        for rows, tokens in SHAPES
        if tokens <= longest or rows == 1
    ]


def _framed(ids: Sequence[int], frame: Frame, rows: int, tokens: int) -> IntArray:
    """Some models refuse a sequence without special tokens."""
    body = np.resize(np.array(ids), max(1, tokens - len(frame.prefix) - len(frame.suffix)))
    return frame.around(np.tile(body, (rows, 1)))


def read(folder: Path) -> Speed | None:
    """What was measured on this machine as it is now; None where nothing was."""
    return _read(_file(folder))


def keep(speed: Speed, folder: Path) -> None:
    """Write it beside the converted graph; where that was not kept, this is not either."""
    if not folder.is_dir():
        return
    kept = {**asdict(speed), "machine": machine()}
    try:
        write_atomic(_file(folder), json.dumps(kept, indent=1) + "\n")
    except PisteError as error:
        log.info("What was measured is not kept: %s", error)


def known() -> Iterator[Speed]:
    """What was measured on this machine as it is now, of all models in the cache."""
    for folder in sorted(cache_directory().glob("compiled/*/")):
        speed = read(folder)
        if speed is not None:
            yield speed


def _file(folder: Path) -> Path:
    return folder / FILE.format(content_digest(machine())[:12])


def _read(file: Path) -> Speed | None:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        speed = Speed(float(data["torch"]), float(data["openvino"]), str(data["model"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.info("Cannot read %s (%s): measuring again.", file, type(error).__name__)
        return None
    usable = min(speed.torch, speed.openvino) > 0 and np.isfinite([speed.torch, speed.openvino])
    return speed if np.all(usable) else None


def machine() -> Machine:
    """What the speeds depend on; where any of it changes, they are measured again."""
    name, instructions = _processor()
    limits = {name: os.environ[name] for name in LIMITS if name in os.environ}
    return {
        "processor": name,
        "instructions": instructions,
        "cores": str(_cores()),
        "system": f"{platform.system()} {platform.machine()}",
        **limits,
        **{package: _version(package) for package in ("torch", "openvino")},
    }


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _processor() -> tuple[str, str]:
    """Its name, and those of its instruction sets that matter here."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not on Linux
        return platform.processor() or platform.machine(), ""
    facts = {key.strip(): value.strip() for key, _, value in (one.partition(":") for one in lines)}
    flags = set((facts.get("flags") or facts.get("Features") or "").split())
    name = facts.get("model name") or platform.processor() or platform.machine()
    # Virtual machines often hide the exact name: family and model tell generations apart.
    exact = " ".join(facts[key] for key in ("cpu family", "model") if key in facts)
    return f"{name} {exact}".strip(), " ".join(one for one in INSTRUCTIONS if one in flags)


@functools.cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
