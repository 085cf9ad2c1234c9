"""Converted models kept on disk, each with a digest of its files, in a folder of the user's own."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
from pathlib import Path
from typing import Any

from piste.files import cache_directory, new_folder
from piste.models.backends import openvino_runtime
from piste.models.loading_errors import first_line

log = logging.getLogger(__name__)

GRAPH, WEIGHTS, DIGEST = "model.xml", "model.bin", "digest"
PRIVATE = 0o700


def folder_for(key: str, kind: str = "compiled") -> Path | None:
    """Where the model with this key is kept; None where nothing can be kept safely.

    kind: what is kept of it.
    """
    place = cache_directory() / kind
    try:
        place.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        if _is_private(place):
            return place / key
        log.warning(
            "The cache %s can be written by other users and is not used; models are converted again"
            " at every load. Remove it, or point PISTE_CACHE at a folder of your own.",
            place,
        )
    except OSError as error:
        log.info("Converted models are not kept: %s.", first_line(error))
    return None


def _is_private(folder: Path) -> bool:
    """Whether nobody but this user (and root) can replace what is in it."""
    if os.name == "nt":  # permissions there are lists that the user's profile folder sets
        return True
    status = folder.stat()
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid in (os.getuid(), 0) and not writable


def read(folder: Path) -> Any | None:
    """The graph that `keep` wrote; None where there is none, or it is no longer what it was."""
    if not (folder / GRAPH).exists():
        return None
    try:
        if (folder / DIGEST).read_text() == _digest(folder):
            return openvino_runtime.library().Core().read_model(folder / GRAPH)
        log.warning("The converted model in %s is damaged: converting it again.", folder)
    except (OSError, RuntimeError) as error:
        log.warning("Cannot read the converted model in %s: %s.", folder, first_line(error))
    remove(folder)
    return None


def remove(folder: Path) -> None:
    """Forget a converted model."""
    shutil.rmtree(folder, ignore_errors=True)


def keep(graph: Any, folder: Path) -> None:
    """Write beside, then rename: another process never sees half a model."""
    openvino = openvino_runtime.library()
    try:
        with new_folder(folder) as beside:
            openvino.save_model(graph, beside / GRAPH, compress_to_fp16=False)
            (beside / DIGEST).write_text(_digest(beside))
    except (OSError, RuntimeError) as error:  # OpenVINO tells of a full disk by the latter
        log.warning(
            "Cannot keep the converted model in %s (%s): the next load converts it again."
            " Free some space, or point PISTE_CACHE elsewhere.",
            folder.parent,
            first_line(error),
        )


def _digest(folder: Path) -> str:
    digests = []
    for name in (GRAPH, WEIGHTS):
        with open(folder / name, "rb") as stream:
            digests.append(f"{name} {hashlib.file_digest(stream, 'blake2b').hexdigest()}\n")
    return "".join(digests)
