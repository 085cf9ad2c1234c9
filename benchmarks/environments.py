"""What must be there before anything runs: the peers' environment and the model to explain."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from piste.files import cache_directory

HERE = Path(__file__).resolve().parent
CACHE = cache_directory()
PINS = HERE / "peers-constraints.txt"
PEERS = ("slalom-explanations", "lime", "shap", "captum", "interpreto")
VERSIONS = "import importlib.metadata as m, sys; print(*(m.version(p) for p in sys.argv[1:]))"


def peers_python(folder: Path = CACHE / "venv-peers") -> Path:
    """The interpreter that has the peers. Made when it is missing or the pins have changed."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp, wanted = folder / "installed", hashlib.sha256(PINS.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"making the peers' environment in {folder} (about 2 GB)", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", PINS, "torch", "transformers", *PEERS], check=True)
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
