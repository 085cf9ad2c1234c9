"""Which files of piste one call enters, in the order in which it enters them.

python scripts/trace_walk.py             # explain() on the embedded model
python scripts/trace_walk.py compare
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import piste

SOURCE = Path(piste.__file__).parent
TEXT = "This film is not the masterpiece they promised, but the acting is superb."


def walk(call: Callable[[], object]) -> list[str]:
    """The files whose functions the call runs; imports do not count."""
    files: dict[str, None] = {}

    def enter(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(SOURCE) and frame.f_code.co_name != "<module>":
            files.setdefault(path.relative_to(SOURCE).as_posix())

    sys.settrace(enter)  # type: ignore[arg-type]  # returning None: no lines, calls only
    try:
        call()
    finally:
        sys.settrace(None)
    return list(files)


def main() -> None:
    classifier = piste.load(backend="torch")
    calls = {
        "explain": lambda: piste.explain(TEXT, classifier),
        "compare": lambda: piste.compare(TEXT, classifier, ["slalom", "lime"]),
    }
    name = sys.argv[1] if len(sys.argv) > 1 else "explain"
    calls[name]()  # everything is imported before the walk begins
    files = walk(calls[name])
    print(f"{name}() enters {len(files)} files:")
    for file in files:
        print(f"  {file}")


if __name__ == "__main__":
    main()
