"""`python -m tests.web.slow_server serve ...`: the command with a model that takes its time."""

import time
from typing import Any

import numpy as np

import piste
from piste.cli import main

SECONDS = 0.4  # a batch: dozens of them make an explanation


def slow(texts: list[str]) -> Any:
    time.sleep(SECONDS)
    return np.array([float(text.count("good")) for text in texts])


if __name__ == "__main__":
    piste.load = lambda *_, **__: piste.from_function(slow)  # type: ignore[assignment]
    main()
