"""Commands on a full disk: a clear error, nothing lost, and they go on when there is space.

A trial runs a command with less free space than it needs, then with a little more, and so on; each
of these counts as one try. At last there is enough. A command that cannot write must say so in one
line and end with exit code 2; what was there must stay; the last command must end with the result
of an undisturbed one. Caches are a convenience: without space for one, a command succeeds all the
same.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.endpoint import running
from tests.soak.cases import Batch, Case, Result, Tally
from tests.soak.full_disk import largest_of, size_of, small_disk
from tests.soak.processes import Command, forked
from tests.soak.works import OUT, WORKS, Kept, Work, differences, write_data

LONGEST = 120.0  # seconds that a command may take
STEPS = 3  # of growing free space in one trial
TEXTS = 9
TEXT = "The plot is thin, but the acting is superb and the last scene is simply beautiful."
OLD = "the result of an earlier command"
PROMPT = "Question\n{text}\nAnswer:"
PAGE, JSON = "explanation.html", "explanation.json"


def _explanation(out: Path) -> object:
    found = json.loads((out / JSON).read_text(encoding="utf-8"))
    return {name: found[name] for name in ("players", "scores", "errors", "target")}


def _whole_files(out: Path) -> Kept:
    """Which files are whole: the earlier ones, or new ones."""
    ends = {PAGE: "</html>", JSON: "}"}
    contents = {name: (out / name).read_text(encoding="utf-8") for name in ends}
    return {
        name: "whole"
        for name, text in contents.items()
        if text == OLD or text.rstrip().endswith(ends[name])
    }


EXPLAIN = ("explain", TEXT, "--json", f"{{out}}/{JSON}")
ENDPOINT = ("--endpoint", "{url}", "--labels", "positive,negative", "--prompt", "{prompt}")
EXPLAINED = Work("explain", (*EXPLAIN, "--html", f"{{out}}/{PAGE}"), _explanation, _whole_files)
COMPILED = Work("compile-cache", EXPLAIN, _explanation, lambda out: {})
ANSWERED = Work(
    "answer-cache", (*EXPLAIN, *ENDPOINT, "--model", "toy"), _explanation, lambda out: {}
)


def prepare(folder: Path, scale: float, work: Work) -> None:
    """The undisturbed command, and the space that it takes."""
    data = write_data(folder / "data.jsonl", TEXTS)
    out = _new_output(work, folder / "disk")
    _undisturbed(forked(work.arguments(data, out), folder / "undisturbed"))


def prepare_cached(folder: Path, scale: float, work: Work) -> None:
    """The same for a command whose cache is on the disk."""
    (folder / OUT).mkdir()
    with _arguments(work, folder, folder / OUT) as words:
        _undisturbed(forked(words, folder / "undisturbed", {"PISTE_CACHE": str(folder / "disk")}))


def _undisturbed(command: Command) -> None:
    if command.wait(LONGEST) != 0:
        raise RuntimeError(f"the command fails by itself: {command.output[-300:]}")


def _new_output(work: Work, folder: Path) -> Path:
    """Where the command writes to; for `explain`, with the files of an earlier command."""
    folder.mkdir()
    out = folder / OUT
    if work is EXPLAINED:
        out.mkdir()
        for name in (PAGE, JSON):
            (out / name).write_text(OLD)
    return out


@contextmanager
def _arguments(work: Work, folder: Path, out: Path) -> Iterator[list[str]]:
    """The command's words, while the endpoint that some of them name answers."""
    prompt = folder / "prompt.txt"
    prompt.write_text(PROMPT)
    with running() as server:
        yield [word.format(out=out, url=server.url, prompt=prompt) for word in work.options]


class Trials:
    """A batch's disk, and what was found on it."""

    def __init__(self, batch: Batch, work: Work) -> None:
        self.batch, self.work = batch, work
        self.tally, self.draw = Tally(), random.Random(batch.seed)
        self.disk = small_disk(batch.folder / "disk")
        measure = size_of if self.disk.is_real else largest_of
        self.need = measure(batch.shared / "disk")  # bytes of an undisturbed command

    def some_space(self) -> int:
        """Bytes, too few; often very few, so that every file meets the end of the disk."""
        return int(self.need * self.draw.random() ** 3)

    def go_on(self) -> bool:
        return self.tally.tried < self.batch.count and not self.batch.is_late

    def result(self) -> Result:
        kind = "on a tmpfs" if self.disk.is_real else "by a limit on file sizes"
        self.tally.count(kind, self.tally.tried)
        return self.tally.result()

    def growing_space(self, folder: Path) -> None:
        """One result with less space than it needs, time and again; then with enough."""
        out = _new_output(self.work, folder)
        words = self.work.arguments(self.batch.shared / "data.jsonl", out)
        for free in sorted(self.some_space() for _ in range(min(STEPS, self.batch.count))):
            kept = self.work.kept(out)
            code = self.with_space(free, words)
            if code:
                now = self.work.kept(out)
                lost = [name for name, content in kept.items() if now.get(name) != content]
                self.tally.check(not lost, f"{free} bytes free: lost or changed {lost[:3]}")
        self.disk.release()
        self.ends_well(forked(words, self.batch.folder / "log"), out, "disk")
        shutil.rmtree(folder)

    def with_space(self, free: int, words: list[str]) -> int | None:
        """The exit code of the command with so many bytes free."""
        command = forked(words, self.batch.folder / "log", before=self.disk.leave(free))
        code, output = command.wait(LONGEST), command.output
        command.clear()
        self.tally.tried += 1
        self.tally.count("stopped with an error", int(code == 2))
        clear = code == 0 or (code == 2 and "piste: " in output and "Traceback" not in output)
        self.tally.check(clear, f"{free} bytes free: ended with {code}: {output[-300:]}")
        return code

    def ends_well(self, command: Command, out: Path, undisturbed: str) -> None:
        code = command.wait(LONGEST)
        command.clear()
        self.tally.check(code == 0, f"ended with {code}: {command.output[-300:]}")
        if code == 0:
            expected = self.work.read(self.batch.shared / undisturbed / OUT)
            told = differences(self.work.read(out), expected)
            self.tally.check(not told, f"not as undisturbed: {told}")

    def cached(self, cache: Path) -> None:
        """A command whose cache has less space than it needs: it succeeds, and says nothing odd."""
        cache.mkdir()
        out, log = self.batch.folder / OUT, self.batch.folder / "log"
        out.mkdir(exist_ok=True)
        free = self.some_space()
        with _arguments(self.work, self.batch.folder, out) as words:
            command = forked(words, log, {"PISTE_CACHE": str(cache)}, self.disk.leave(free))
            self.ends_well(command, out, ".")
        self.tally.tried += 1
        blamed = "does not convert" in command.output
        self.tally.check(not blamed, f"blames the model for the disk: {command.output[:300]}")
        self.disk.release()
        shutil.rmtree(cache)


def full(batch: Batch, work: Work) -> Result:
    trials, number = Trials(batch, work), 0
    while trials.go_on():
        trials.growing_space(trials.disk.folder / f"trial-{number}")
        number += 1
    return trials.result()


def full_cache(batch: Batch, work: Work) -> Result:
    trials = Trials(batch, work)
    while trials.go_on():
        trials.cached(trials.disk.folder / f"cache-{trials.tally.tried}")
    return trials.result()


def _case(work: Work, title: str, count: int, cached: bool = False) -> Case:
    run: Callable[..., Result] = full_cache if cached else full
    make = prepare_cached if cached else prepare
    functions = partial(run, work=work), partial(make, work=work)
    return Case("disk", work.name, title, count, 9, 150.0, *functions)


def cases() -> list[Case]:
    return [
        _case(WORKS["run"], "`run` on a full disk", 9),
        _case(WORKS["evaluate"], "`evaluate` on a full disk", 9),
        _case(WORKS["lexicon"], "`lexicon build` on a full disk", 9),
        _case(EXPLAINED, "`explain --html --json` on a full disk", 9),
        _case(COMPILED, "compile cache on a full disk", 6, cached=True),
        _case(ANSWERED, "endpoint's answer cache on a full disk", 6, cached=True),
    ]
