"""A folder that becomes a Space of the Hugging Face hub: this server in a container.

Nothing is sent anywhere: the folder is pushed by whoever made it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from piste import __version__
from piste.errors import FileError, SettingError
from piste.files import file_error, make_folder, write_atomic

PORT, OWNER = 7860, "https://huggingface.co"  # where Spaces look, and whose page shows them
MODELS = "models"  # folder of the models that were copied
# In a model's folder, what its training left there; a model is loaded without.
LEFT_OVER = (
    ".*",
    "checkpoint-*",
    "training_args.bin",
    "optimizer.*",
    "scheduler.*",
    "rng_state*",
    "trainer_state.json",
    "runs",
    "*.log",
)
HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
DOCKERFILE = """\
FROM python:3.12-slim
RUN useradd --create-home --uid 1000 user
USER user
WORKDIR /home/user/app
ENV HOME=/home/user PATH=/home/user/.local/bin:$PATH
COPY --chown=user requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY --chown=user . .
EXPOSE {port}
CMD ["python", "app.py"]
"""
APP = '''\
"""Starts the server of this Space; the hub says in SPACE_HOST under which name it shows it."""

import os

import piste
from piste.web.server import serve
from piste.web.settings import Settings

MODELS = {models}


def load():
    return {{name: piste.load(place) for name, place in MODELS.items()}}


serve(
    load,
    Settings(
        host="0.0.0.0",
        port={port},
        token=os.environ.get("PISTE_TOKEN"),  # a secret of the Space closes it to others
        site=os.environ.get("SPACE_HOST"),  # elsewhere a token is made, and printed
        embedded_in="{owner}",
    ),
    print,
)
'''
README = """\
---
title: {title}
sdk: docker
app_port: {port}
tags:
- explainability
- piste
pinned: false
---

Why does {models} classify a text as it does? A page of piste: type a text, see what every word
contributes, remove words and watch the model answer.

Whoever can open this Space can ask it. Make the Space private, or give it a secret `PISTE_TOKEN` of
at least 16 characters: the page then wants `?token=` with it.
"""


def write_space(folder: Path, models: Sequence[str]) -> list[Path]:
    """Write the files of a Space for these models; those in folders are copied into it.

    What training left in a model's folder is not copied.
    Raises a `FileError` where the folder holds something already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileError(f"{folder} holds something already.", "Give a new or an empty folder.")
    places = {_name(model): _place(model) for model in models}
    if len(places) < len(models):
        raise SettingError("Two models have the same name.", "Rename one of their folders.")
    here = [model for model in models if Path(model).is_dir()]
    for model in here:
        _check_outside(folder, model)
    make_folder(folder)
    for model in here:
        _copy(Path(model), folder / _place(model))
    named = ", ".join(places)
    texts = {
        "README.md": README.format(title=json.dumps(f"Why {named}?"), models=named, port=PORT),
        "Dockerfile": DOCKERFILE.format(port=PORT),
        "requirements.txt": f"piste[web]=={__version__}\n",
        "app.py": APP.format(models=json.dumps(places), port=PORT, owner=OWNER),
    }
    for name, text in texts.items():
        write_atomic(folder / name, text)
    return [folder / name for name in texts]


def _check_outside(folder: Path, model: str) -> None:
    """Refuse a Space in the folder of a model, which would be copied into itself."""
    if folder.resolve().is_relative_to(Path(model).resolve()):
        raise SettingError(f"{folder} lies in the model's folder {model}.", "Give one elsewhere.")


def _copy(model: Path, place: Path) -> None:
    try:
        shutil.copytree(model, place, ignore=shutil.ignore_patterns(*LEFT_OVER))
    except OSError as error:
        shutil.rmtree(place.parent, ignore_errors=True)  # so that it can be tried again
        raise file_error("write", place, error) from error


def _name(model: str) -> str:
    """What the page calls it: of a folder its last name."""
    is_folder = Path(model).is_dir()
    name = Path(model).resolve().name if is_folder else model
    if not HUB_NAME.fullmatch(name):
        what = "name for a model" if is_folder else "folder, and no name for a model"
        raise SettingError(
            f"{name!r} is no {what}.",
            "Check the path; a name has letters, digits, hyphens and dots.",
        )
    return name


def _place(model: str) -> str:
    return f"{MODELS}/{_name(model)}" if Path(model).is_dir() else model
