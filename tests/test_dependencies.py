"""What the package imports is what pyproject.toml asks for: nothing comes along by chance."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scripts.oldest import OURS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "piste"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
HOLDERS = packages_distributions()  # of top-level modules
LOADERS = {"import_module", "find_spec", "require"}  # functions that take a module's name
# A folder of the package that may use an extra without asking whether it is there.
ROOMS = {"mcp": "mcp", "web": "web"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(lines: list[str]) -> set[str]:
    """The names in requirements, with those of our own extras that they name."""
    found = set()
    for need in map(Requirement, lines):
        if normal(need.name) == "piste":
            found |= {name for extra in need.extras for name in distributions(EXTRAS[extra])}
        else:
            found.add(normal(need.name))
    return found


CORE = distributions(PROJECT["dependencies"])
FOR_USERS = {name for extra in EXTRAS if extra not in OURS for name in distributions(EXTRAS[extra])}
ANY = {name for lines in EXTRAS.values() for name in distributions(lines)}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(node: ast.AST, is_lazy: bool = False) -> Iterator[tuple[str, bool]]:
    """Every imported module, and whether the file can be imported without it."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, is_lazy) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or "", is_lazy
    is_lazy |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_for_types(node)
    for child in ast.iter_child_nodes(node):
        yield from imports(child, is_lazy)


def named(tree: ast.AST) -> Iterator[str]:
    """Modules that are loaded by their name: `import_module("pandas")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func
            name = getattr(function, "id", None) or getattr(function, "attr", None)
            if name in LOADERS:
                yield node.args[0].value


def needed(module: str) -> set[str]:
    """The distributions that hold a module; none for our own and for Python's."""
    top = module.split(".")[0]
    if top == "piste" or top in sys.stdlib_module_names:
        return set()
    return set(map(normal, HOLDERS.get(top, [top])))


FILES = sorted(SOURCE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_every_import_is_declared(path):
    room = path.relative_to(SOURCE).parts[0]
    at_once = CORE | (distributions(EXTRAS[ROOMS[room]]) if room in ROOMS else set())
    for module, is_lazy in imports(TREES[path]):
        names, allowed = needed(module), at_once | (FOR_USERS if is_lazy else set())
        assert not names or names & allowed, f"{module} ({names}) is not declared in pyproject.toml"
    for module in named(TREES[path]):
        names = needed(module)
        assert not names or names & (CORE | ANY), f"{module} ({names}) is in no extra"


def test_every_declared_library_is_imported():
    used = {
        name
        for tree in TREES.values()
        for module in [*(module for module, _ in imports(tree)), *named(tree)]
        for name in needed(module)
    }
    assert not (CORE | FOR_USERS) - used


def test_the_check_sees_all_kinds_of_imports():
    tree = ast.parse(
        "import a.b\nfrom c import d\nif TYPE_CHECKING:\n    import e\n"
        "def f():\n    import g\n    return import_module('h'), importlib.util.find_spec('i')\n"
    )
    assert list(imports(tree)) == [("a.b", False), ("c", False), ("e", True), ("g", True)]
    assert list(named(tree)) == ["h", "i"]
    assert needed("markupsafe") == {"markupsafe"}
    assert needed("os.path") == needed("piste.data") == set()
    assert needed("no_such_module") == {"no-such-module"}
