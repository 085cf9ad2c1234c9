"""What this machine has of what piste can use: facts for `piste doctor`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from piste.errors import PisteError, few
from piste.files import cache_directory

# The extras that a user may want, and what for.
EXTRAS = {
    "fast": "models compiled for the CPU (small ones run several times faster); ONNX models",
    "data": "Parquet files, data sets of the hub, piste run",
    "ray": "piste run on a cluster",
    "web": "piste serve",
    "mcp": "piste mcp",
    "notebook": "piste.widget(): words clicked away in a notebook",
    "spacy": 'noun chunks as units, unit="noun-chunk"',
    "pandas": "to_pandas(): results as data frames",
    "shap": "to_shap(): explanations in shap's plots",
}
SAMPLE = "A superb film."
DEMO = ("piste", "models", "demo")  # the end of the embedded model's folder, wherever piste is


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, what was found, and whether it is as it should be."""

    what: str
    found: str
    good: bool = True


def machine() -> list[Finding]:
    """The interpreter, the system and the cores."""
    return [
        Finding("piste", version("piste")),
        Finding("Python", f"{platform.python_version()} in {sys.prefix}"),
        Finding("system", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
        cache(),
    ]


def cache() -> Finding:
    """Where converted models and answers are kept, and whether that can be written to."""
    folder = cache_directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    except OSError as error:
        return Finding("cache", f"{folder} cannot be used: {error.strerror}", good=False)
    if not os.access(folder, os.W_OK):
        return Finding("cache", f"{folder} cannot be written to", good=False)
    return Finding("cache", f"{folder}, {size / 2**20:,.0f} MB (PISTE_CACHE sets another)")


def libraries() -> list[Finding]:
    """Every library that piste always needs, with its version."""
    return [_library(need) for need in _needs(None)]


def extras() -> list[Finding]:
    """For each extra what is missing, and what it would be good for."""
    findings = []
    for extra, purpose in EXTRAS.items():
        lacking = [finding for need in _needs(extra) if not (finding := _library(need)).good]
        said = "; ".join(f"{one.what} {one.found}" for one in lacking)
        advice = f"pip install 'piste[{extra}]'"
        text = purpose if not lacking else f"{said}. For {purpose}: {advice}"
        findings.append(Finding(extra, text, not lacking))
    return findings


def _needs(extra: str | None) -> Iterator[Requirement]:
    """What pyproject.toml asks for, always or for an extra; extras that name others too."""
    for line in requires("piste") or ():
        need = Requirement(line)
        always = need.marker is None
        wanted = always if extra is None else not always and _holds(need, extra)
        if wanted and need.name == "piste":
            for other in need.extras:
                yield from _needs(other)
        elif wanted:
            yield need


def _holds(need: Requirement, extra: str) -> bool:
    return need.marker is not None and need.marker.evaluate({"extra": extra})


def _library(need: Requirement) -> Finding:
    try:
        installed = version(need.name)
    except PackageNotFoundError:
        return Finding(need.name, "is not installed", good=False)
    fits = need.specifier.contains(installed, prereleases=True)
    return Finding(need.name, installed if fits else f"{installed} is not {need.specifier}", fits)


def devices() -> list[Finding]:
    """What torch and OpenVINO can compute on."""
    return [
        _devices("torch", "backends.pretrained"),
        _devices("openvino", "backends.openvino_runtime"),
    ]


def backends() -> list[Finding]:
    """Of the compiled models, which backend was measured to be the faster here, and by how much."""
    from piste.models.backends import speed

    return [
        Finding(
            "demo" if Path(one.model).parts[-3:] == DEMO else few((one.model,)),
            f"{'torch' if one.prefers_torch else 'openvino'}: {one.reason}"
            f" (torch {one.torch:,.0f} tokens/s, openvino {one.openvino:,.0f})",
        )
        for one in speed.known()
    ]


def _devices(library: str, module: str) -> Finding:
    try:
        devices: list[str] = import_module(f"piste.models.{module}").devices()
    except (ImportError, OSError, RuntimeError) as error:  # as a wheel for another machine raises
        return Finding(library, f"not used: {error}", good=False)
    return Finding(library, ", ".join(devices))


def model() -> list[Finding]:
    """The embedded model, loaded as any other and asked."""
    from piste.decision import predict
    from piste.models.loading import load

    try:
        classifier = load()
        sure = float(predict([SAMPLE], classifier)[0, 1])
    except PisteError as error:
        return [Finding("embedded model", str(error), good=False)]
    answer = f"{classifier.backend}; “{SAMPLE}” is positive with {sure:.2f}"
    return [Finding("embedded model", answer, good=sure > 0.5), *_home()]


def _home() -> list[Finding]:
    """Where models of the hub are kept."""
    from huggingface_hub.constants import HF_HUB_CACHE, HF_HUB_OFFLINE

    offline = ", HF_HUB_OFFLINE is set: only what is there" if HF_HUB_OFFLINE else ""
    there = len(list(Path(HF_HUB_CACHE).glob("models--*")))
    return [Finding("hub", f"{there} models in {HF_HUB_CACHE}{offline}")]
