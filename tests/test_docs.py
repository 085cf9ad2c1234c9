"""What the pages show runs, and what they link to exists."""

import contextlib
import io
import json
import math
import os
import re
import tomllib
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib
import pytest
import yaml
from typer.main import get_command

import piste
from piste import cli
from tests import pages
from tests.models.test_language_model import tiny_causal
from tests.pages import desk as desks
from tests.pages.excused import COMPILED, EXCUSED, SLOW
from tests.pages.shell import Shell, commands, entry_for
from tests.pages.transcripts import differs

ROOT = pages.ROOT
PAGES = pages.pages()


@pytest.fixture(scope="session")
def furnished(tmp_path_factory, byte_level):
    folder = tmp_path_factory.mktemp("desk")
    desks.furnish(folder, byte_level, tiny_causal(len(byte_level)))
    return folder


@pytest.fixture(scope="session")
def loaded_once():
    return desks.loads_once()


@pytest.fixture
def desk(furnished, loaded_once, tmp_path, monkeypatch):
    """A working directory as pages have it; models that were loaded before are at hand."""
    matplotlib.use("agg")
    desks.copy(furnished, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("piste.models.loading.load", loaded_once)
    monkeypatch.setattr("piste.runs.job.load", loaded_once)
    monkeypatch.setattr("piste.models.backends.endpoint._pause", lambda attempt: 0.01)
    monkeypatch.setattr("piste.cli.progress.EVERY", math.inf)  # slow machines print no more lines
    return tmp_path


class Reader:
    """Someone who works through a page from the top: one scope, one terminal."""

    def __init__(self, page: str, addresses: dict[str, str], slow: bool = False) -> None:
        own = desks.OWN in pages.read(page)
        self.scope: dict[str, Any] = desks.own_objects() if own else {}
        self.shell = Shell(addresses, slow=slow)
        self.printed = ""

    def read(self, block: pages.Block) -> None:
        if block.title is not None:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.body)
        getattr(self, block.kind)(block)

    def python(self, block: pages.Block) -> None:
        code = compile(self._here(block.body), block.place, "exec")
        if block.title is not None or _is_excused(block):
            return
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, self.scope)  # blocks of a page build on each other, as for a reader
        self.printed = out.getvalue()

    def sh(self, block: pages.Block) -> None:
        self.printed = self.shell.run(block.body)

    def text(self, block: pages.Block) -> None:
        why = differs(block.body, self.printed)
        assert not why, f"{block.place}\n{why}\nin all:\n{self.printed}"

    def json(self, block: pages.Block) -> None:
        json.loads(block.body)

    def toml(self, block: pages.Block) -> None:
        tomllib.loads(block.body)

    def yaml(self, block: pages.Block) -> None:
        """Parsed; what a workflow runs is run."""
        for job in yaml.safe_load(block.body).get("jobs", {}).values():
            for step in job["steps"]:
                self.shell.run(step.get("run", ""))

    def _here(self, code: str) -> str:
        for said, true in self.shell.addresses.items():
            code = code.replace(said, true)
        return code


def _imports(name: str, block: pages.Block) -> bool:
    return re.search(rf"^(import|from) {name}\b", block.body, re.M) is not None


def _is_excused(block: pages.Block) -> bool:
    return any(_imports(name, block) for name in COMPILED)


def work_through(page: str, slow: bool = False) -> None:
    asks = desks.LLM in pages.read(page)
    served = desks.endpoint() if asks else contextlib.nullcontext({})
    with served as addresses, mock.patch.dict(os.environ):  # what a page exports ends with it
        reader = Reader(page, addresses, slow)
        try:
            for block in pages.blocks(page):
                reader.read(block)
        finally:
            reader.shell.close()


def shell_commands(page: str) -> list[str]:
    scripts = [block.body for block in pages.blocks(page) if block.kind == "sh"]
    return [line for script in scripts for line in commands(script)]


@pytest.mark.parametrize("page", [page for page in PAGES if pages.blocks(page)])
@pytest.mark.filterwarnings("default")  # of other libraries, which the pages show too
def test_every_block_runs(page, desk):
    work_through(page)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(entry_for(line, SLOW) for line in shell_commands(p))]
)
@pytest.mark.filterwarnings("default")
def test_every_block_runs_the_slow_ones_too(page, desk):
    work_through(page, slow=True)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_run_or_checked(page):
    for block in pages.blocks(page):
        assert block.kind in pages.KINDS, f"{block.place} is {block.kind or 'of no language'}"
    for block in pages.indented(page):  # pictures and formulas only
        assert not re.search(r"^(\$|piste|python|pip|make|import|from) ", block, re.M), block


def test_every_excuse_is_used():
    lines = [line for page in PAGES for line in shell_commands(page)]
    for table in (EXCUSED, SLOW):
        assert {entry_for(line, table) for line in lines} - {None} == set(table)
    python = [block for page in PAGES for block in pages.blocks(page) if block.kind == "python"]
    for name in COMPILED:
        assert any(_imports(name, block) for block in python)


def test_there_are_blocks_to_run():
    assert len(pages.blocks("README.md")) >= 3


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_prose_exist(page):
    """`piste run --workers 2` in a sentence: the command is there, and has these options."""
    root = get_command(cli.app)
    for said in re.findall(r"`piste ([^`]+)`", pages.prose(page)):
        command, words = root, said.split()
        while hasattr(command, "commands") and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        known = {name for option in command.params for name in option.opts}
        given = {word.split("=")[0].rstrip(",.") for word in words if word.startswith("--")}
        assert command is not root or given, f"{page}: piste {said}"
        assert given <= known | {"--help", "--version"}, f"{page}: piste {said}"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", pages.read(page)):
        assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES:
        if page.startswith("docs/"):
            assert f": {page.removeprefix('docs/')}\n" in nav, page


def test_the_reference_holds_every_public_name():
    shown = re.findall(r"^::: ([\w.]+)$", pages.read("docs/reference.md"), re.M)
    homes = {f"{home}.{name}" for name, home in piste._HOMES.items()}
    assert homes <= set(shown)


def test_no_machine_or_registry_is_named():
    """The project must not depend on where it was written."""
    words = ["/work" + "/", "site-packages/", "/opt" + "/"]
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.suffix in {".py", ".md", ".toml", ".txt", ".yml"} and not parts[0].startswith("."):
            text = path.read_text(encoding="utf-8")
            assert not [w for w in words if w in text and path != Path(__file__)], path
