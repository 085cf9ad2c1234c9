"""The command line with a model that says when it is asked, and then takes its time.

`python -m tests.cli.slow_model MARK explain ...`: a test interrupts it once MARK exists.
"""

import signal
import sys
import time
from pathlib import Path
from typing import Any

import piste
from piste.cli import main


def slow(mark: Path) -> Any:
    def answer(texts: list[str]) -> list[float]:
        mark.touch()
        time.sleep(120)  # the interrupt comes long before
        return [0.0] * len(texts)

    return piste.from_function(answer)


if __name__ == "__main__":
    # What is started in the background ignores Ctrl-C, and so would a test's child.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    mark = Path(sys.argv.pop(1))
    piste.load = lambda *_, **__: slow(mark)  # type: ignore[assignment]
    main()
