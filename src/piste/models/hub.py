"""Whether the Hugging Face hub can be reached, asked once before anything waits for it.

The hub's library tries six times over half a minute, whatever the reason. That helps where answers
get lost on the way; where there is no way at all, everybody waits in vain.
"""

from __future__ import annotations

import os
import re
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from piste.errors import ModelError
from piste.models.loading_errors import first_line

TRIES, PAUSE, TIMEOUT = 2, 0.5, 5.0  # seconds
NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")  # of a model on the hub: an owner's, or one of old
# How httpx and requests, whichever the hub's library uses, call it that there is no connection. A
# time-out is none of them: a slow connection is one, and is left to the library.
NO_CONNECTION = ("ConnectError", "ConnectionError", "ProxyError", "SSLError")


def check_connection(source: str) -> None:
    """Raise a `ModelError` where a model has to come from the hub, and the hub is out of reach."""
    if not NAME.fullmatch(source) or Path(source).exists() or _is_cached(source):
        return
    problem = _no_connection()
    if problem is not None:
        from huggingface_hub import constants

        raise ModelError(
            f"Cannot load {source!r}: there is no folder of that name here, and no connection to"
            f" {constants.ENDPOINT} ({problem}).",
            "Check the spelling and the connection, or give a folder that save_pretrained() wrote.",
        )


def _is_cached(name: str) -> bool:
    """Whether something of it was loaded before: what is in the cache needs no connection.

    A download that came to nothing leaves a folder without a file.
    """
    from huggingface_hub import constants

    # transformers 4 may keep models in a folder of its own.
    caches = {constants.HF_HUB_CACHE, os.environ.get("TRANSFORMERS_CACHE", constants.HF_HUB_CACHE)}
    files = f"models--{name.replace('/', '--')}/snapshots/*/*"
    return any(any(Path(cache).glob(files)) for cache in caches)


def _no_connection() -> str | None:
    """Why the hub cannot be reached; None where it can, or where only the library can tell."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return None  # the library says so at once
    library: Any = import_module("huggingface_hub.utils")
    problem = None
    for number in range(TRIES):
        time.sleep(PAUSE if number else 0.0)
        try:
            library.get_session().head(constants.ENDPOINT, timeout=TIMEOUT)
        except Exception as error:
            if type(error).__name__ not in NO_CONNECTION:
                return None
            problem = first_line(error)
        else:
            return None
    return problem
