"""Fuzz one target for a while: `python -m tests.fuzz.run text|tokenizers|file`.

FUZZ_SECONDS is the time box, 60 by default. Coverage guides the inputs (atheris); one that breaks
a target is written to a file in the working directory, and the exit code is not 0.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["piste"]):
    from tests.fuzz import targets
    from tests.fuzz.mutations import damaged
    from tests.test_hostile import TOKENS

SEED = 8  # bytes


def _text(data: bytes) -> str:
    return atheris.FuzzedDataProvider(data).ConsumeUnicode(sys.maxsize)


def _file(data: bytes) -> bytes:
    """The bytes themselves; a few of them are the seed of damage that JSON survives."""
    if len(data) > SEED:
        return data
    return damaged(json.loads(targets.valid_file()), int.from_bytes(data, "big"))


def _seeds(name: str) -> Path:
    """What the mutations begin with: a valid file, or texts that have broken things before."""
    folder = Path(tempfile.mkdtemp(prefix="piste-seeds-"))
    texts = [token.encode("utf-8", "surrogatepass") for token in TOKENS]
    files = [targets.valid_file(), *(bytes([0, index]) for index in range(50))]
    for index, seed in enumerate(files if name == "file" else texts):
        (folder / str(index)).write_bytes(seed)
    return folder


def main() -> None:
    name = sys.argv[1]
    target = targets.TARGETS[name]
    seconds = os.environ.get("FUZZ_SECONDS", "60")

    def once(data: bytes) -> None:
        target(_file(data) if name == "file" else _text(data))

    once(targets.valid_file())  # models load before the clock starts
    options = [f"-max_total_time={seconds}", "-print_final_stats=1", "-max_len=20000"]
    atheris.Setup([sys.argv[0], *options, "-verbosity=0", str(_seeds(name))], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
