"""OpenVINO without its telemetry: nothing is contacted, nothing is written to the user's home."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

from piste.models.backends import openvino_runtime

PROGRAM = """
import json, sys

seen = []

def listen(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        seen.append(repr(arguments)[:200])

sys.addaudithook(listen)
import piste

explanation = piste.explain("a good film", piste.load(backend="openvino"), "occlusion")
print(json.dumps({"seen": seen, "backend": explanation.backend}))
"""


def test_no_connection_and_no_file_in_the_home(tmp_path):
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    environment = {
        **os.environ,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "PISTE_CACHE": str(cache),
        "MPLCONFIGDIR": str(cache),
    }
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    result = json.loads(answer.stdout.splitlines()[-1])
    assert result["backend"].startswith("openvino")
    assert result["seen"] == []
    assert [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()] == []


def test_a_version_that_does_not_know_the_limit_of_the_cache_compiles_without(monkeypatch):
    tried = []

    class Core:
        def compile_model(self, graph, device, settings):
            tried.append(settings.keys() & openvino_runtime.MOST_KEPT.keys())
            if tried[-1]:
                raise RuntimeError("no such setting")
            return SimpleNamespace(inputs=["ids"], outputs=["logits"])

    monkeypatch.setattr(openvino_runtime, "library", lambda: SimpleNamespace(Core=Core))
    assert openvino_runtime.Network("a graph").inputs == ["ids"]
    assert list(map(bool, tried)) == [True, False]
