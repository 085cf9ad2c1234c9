"""The papers use piste as anybody could: by the names that it exports."""

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

import piste

ROOT = Path(__file__).parents[2] / "papers"


def exported(module: str) -> set[str]:
    """The public names of piste or of a module one level down; nothing of any other."""
    if module.count(".") > 1:
        return set()
    return set(getattr(importlib.import_module(module), "__all__", ()))


def is_module(name: str) -> bool:
    return name not in piste.__all__ and find_spec(f"piste.{name}") is not None


def breaches(code: str) -> list[str]:
    """Names of piste that the code uses and that are not public."""
    tree = ast.parse(code)
    modules = {}  # by the name that they have in the code
    used = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            ours = [alias for alias in node.names if alias.name.split(".")[0] == "piste"]
            used += [alias.name for alias in ours if alias.name != "piste"]
            modules |= {alias.asname or alias.name: alias.name for alias in ours}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "piste":
            for alias in node.names:
                if node.module == "piste" and is_module(alias.name):
                    modules[alias.asname or alias.name] = f"piste.{alias.name}"
                elif alias.name not in exported(str(node.module)):
                    used.append(f"{node.module}.{alias.name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            if module and node.attr not in exported(module):
                used.append(f"{module}.{node.attr}")
    return used


def test_the_papers_use_public_names_only():
    files = sorted(ROOT.rglob("*.py"))
    assert len(files) > 30
    found = {
        str(path.relative_to(ROOT)): names
        for path in files
        if (names := breaches(path.read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    ("code", "breach"),
    [
        ("from piste.models.query import Query", "piste.models.query.Query"),
        ("def f():\n    from piste.runs import judged", "piste.runs.judged"),
        ("from piste import surrogates\nsurrogates.lasso", "piste.surrogates.lasso"),
        ("import piste\npiste.files", "piste.files"),
        ("import piste.models.query", "piste.models.query"),
        ("from piste import Query", "piste.Query"),
    ],
)
def test_a_breach_is_named(code, breach):
    assert breaches(code) == [breach]


def test_public_names_are_no_breach():
    code = "import piste\nfrom piste import explain, surrogates as s\nfrom piste.runs import View\n"
    assert breaches(code + "piste.load, s.fit_gam") == []


def test_the_papers_are_not_in_the_package():
    source = ROOT.parent / "src" / "piste"
    assert not (source / "experiments").exists()
    assert not (source / "theory").exists()
