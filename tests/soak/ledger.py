"""Results on disk, a file a case: what was done before an interruption is not done again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from piste.files import write_atomic
from tests.soak.cases import Case, Result

ROOT = Path(__file__).parents[2]
TRIED = ("src", "tests/soak", "tests/fuzz")  # the code whose change makes results worthless


def code_digest() -> str:
    """Changes with the code that is tried and with the trials."""
    digest = hashlib.sha256()
    for folder in TRIED:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Ledger:
    """The stored results of one scale; those of other code or another scale do not count."""

    folder: Path
    scale: float

    @cached_property
    def code(self) -> str:
        return code_digest()

    def results(self, case: Case) -> dict[int, Result]:
        """The finished batches of a case, by number."""
        try:
            stored = json.loads(self._path(case).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if (stored["code"], stored["scale"]) != (self.code, self.scale):
            return {}
        return {int(number): Result.from_dict(data) for number, data in stored["batches"].items()}

    def add(self, case: Case, number: int, result: Result) -> None:
        batches = self.results(case) | {number: result}
        stored = {
            "code": self.code,
            "scale": self.scale,
            "batches": {str(key): value.to_dict() for key, value in sorted(batches.items())},
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(self._path(case), json.dumps(stored, indent=1) + "\n")

    def _path(self, case: Case) -> Path:
        return self.folder / f"{case.key.replace('/', '-')}.json"
