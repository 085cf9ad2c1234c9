"""Write requirements.lock: exact versions with digests, for every extra, as uv resolves them.

    python scripts/lock.py

uv takes constraints from pyproject.toml only, so those of constraints.txt are put into a copy of
the project. The lock is exported without the addresses that uv.lock would hold: it names versions
and digests, and whoever installs chooses the index.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "src/piste/__init__.py")
LOCK = "requirements.lock"
EXPORT = (
    "export",
    "--frozen",
    "--all-extras",
    "--no-emit-project",
    "--no-annotate",
    "--no-header",
    "--quiet",
    "--format=requirements.txt",
    f"--output-file={LOCK}",
)
# Where constraints.txt is from: some of its pins have no builds for other systems or Pythons.
WHERE = "sys_platform == 'linux' and python_full_version >= '3.11.5' and python_version < '3.14'"


def constraints() -> list[str]:
    """The pins of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line.strip() and line[0] not in "#-"]
    return [f"{pin}; {WHERE}" for pin in pins]


def uv(folder: Path, *arguments: str) -> None:
    """Run uv there; settings of this machine do not count."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("UV_", "PIP_"))}
    command = [sys.executable, "-m", "uv", *arguments, "--no-config"]
    subprocess.run(command, cwd=folder, env=environment, check=True)


def constrained(folder: Path) -> None:
    """A copy of what uv reads of the project, with the constraints in it."""
    for name in NEEDED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    listed = ",\n".join(f'  "{line}"' for line in constraints())
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write(f"\n[tool.uv]\nconstraint-dependencies = [\n{listed}\n]\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        constrained(folder)
        uv(folder, "lock")
        uv(folder, *EXPORT)
        shutil.copy(folder / LOCK, ROOT / LOCK)


if __name__ == "__main__":
    main()
