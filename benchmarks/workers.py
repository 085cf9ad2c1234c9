"""Processes that hold one library each: asked job by job, started anew when they die."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class Worker:
    """One library in a process of its own."""

    def __init__(self, library: str, python: Path, logs: Path) -> None:
        self.library, self.python = library, python
        logs.mkdir(parents=True, exist_ok=True)
        self.log = logs / f"{library}.log"
        self.process: subprocess.Popen[str] | None = None

    def ask(self, job: dict[str, Any]) -> list[dict[str, Any]]:
        """A line for every run of the job; errors where the process has died."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            lines: list[dict[str, Any]] = json.loads(answer)
            return lines
        self.close()
        said = f"the process of {self.library} died, see {self.log}"
        return [run | {"error": said} for run in job["runs"]]

    def _running(self) -> "subprocess.Popen[str]":
        if self.process is None:
            more = {"TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
            with self.log.open("a") as log:
                self.process = subprocess.Popen(
                    [str(self.python), str(HERE / "contender.py"), self.library],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    encoding="utf-8",
                    env=os.environ | more,
                )
        return self.process

    def close(self) -> None:
        if self.process is not None:
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
