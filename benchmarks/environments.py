"""What must be there before anything runs: the environments of the peers, and the MiniLM."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from piste.files import cache_directory

HERE = Path(__file__).resolve().parent
CACHE = cache_directory()
PINS = HERE / "peers-constraints.txt"
PEERS = ("slalom-explanations", "lime", "shap", "captum", "interpreto", "shapiq")
# lxt patches classes of transformers, which have changed since; what it needs for other models than
# BERT is not installed. See contenders/with_lxt.py for its licence.
LXT = ("lxt==2.1", "transformers==4.52.4", "torch==2.13.0", "numpy==2.4.6")
VERSIONS = "import importlib.metadata as m, sys; print(*(m.version(p) for p in sys.argv[1:]))"


def python_of(environment: str) -> Path:
    """The interpreter of "piste", "peers" or "lxt"; its environment is made when it is missing."""
    makers = {"peers": peers_python, "lxt": lxt_python}
    return makers[environment]() if environment in makers else Path(sys.executable)


def peers_python(folder: Path = CACHE / "venv-peers") -> Path:
    """Made anew when the pins have changed."""
    commands = [["-c", PINS, "torch", "transformers", "openvino", "lightgbm", *PEERS]]
    return _made(folder, hashlib.sha256(PINS.read_bytes()).hexdigest(), commands)


def lxt_python(folder: Path = CACHE / "venv-lxt") -> Path:
    return _made(folder, " ".join(LXT), [list(LXT[1:]), ["--no-deps", LXT[0]]])


def _made(folder: Path, wanted: str, commands: list[list[str | Path]]) -> Path:
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"making an environment in {folder} (about 2 GB)", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in commands:
            subprocess.run([*pip, *command], check=True)
        stamp.write_text(wanted)
    return python


def peer_versions(python: Path) -> dict[str, str]:
    names = [*PEERS, "torch", "transformers"]
    done = subprocess.run(
        [python, "-c", VERSIONS, *names], check=True, capture_output=True, text=True
    )
    return dict(zip(names, done.stdout.split(), strict=True))


def minilm(train: Path | None, folder: Path = CACHE / "minilm-yelp") -> Path:
    """The fine-tuned MiniLM, trained when it is missing."""
    if not (folder / "model.safetensors").exists():
        if train is None:
            sys.exit("The MiniLM is not trained yet: give --train yelp/train.jsonl.gz.")
        command = [sys.executable, HERE / "train_minilm.py", train, "--out", folder]
        subprocess.run(command, check=True)
    return folder
