import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import piste

PACKAGES = ("models", "text", "surrogates", "runs", "render", "methods", "metrics", "result")
SINGLE = ("arrays", "compare", "data", "decision", "diff", "errors", "files", "options", "verify")
MODULES = (*PACKAGES, *SINGLE)
REFERENCE = Path(__file__).parents[1] / "docs" / "reference.md"


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_importing_piste_loads_nothing_heavy():
    code = "import piste, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(run(code)))
    assert not loaded & {"torch", "transformers", "scipy", "numpy", "matplotlib", "rich"}


@pytest.mark.parametrize("first", ["import piste.explain", "from piste.explain import explain"])
def test_explain_stays_a_function_whatever_was_imported_first(first):
    assert run(f"{first}\nimport piste\nprint(callable(piste.explain))").strip() == "True"


def test_every_public_name_exists():
    for name in piste.__all__:
        assert getattr(piste, name) is not None
    assert set(piste.__all__) <= set(dir(piste))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="expalin"):
        _ = piste.expalin


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_of_a_module_exists_and_is_in_the_reference(name):
    module = importlib.import_module(f"piste.{name}")
    text = REFERENCE.read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `piste\.{name}` \|(.*)\|$", text, re.M)
    listed = set(re.findall(r"`(\w+)`", row))
    for public in module.__all__:
        assert getattr(module, public) is not None
        assert public in listed or f"::: piste.{name}.{public}" in text, public
    if name in PACKAGES:
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = module.no_such_name


def test_packages_load_their_names_when_used():
    imports = "; ".join(f"import piste.{package}" for package in PACKAGES)
    loaded = set(json.loads(run(f"{imports}; import json, sys; print(json.dumps([*sys.modules]))")))
    assert not loaded & {"torch", "transformers", "matplotlib"}


def public_functions():
    """Every function that piste exports, and every public method of its classes, by name."""
    modules = [piste, *(importlib.import_module(f"piste.{name}") for name in MODULES)]
    for module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            members = vars(value) if inspect.isclass(value) else {name: value}
            for member, function in members.items():
                function = getattr(function, "__func__", function)  # class and static methods
                if inspect.isfunction(function) and not member.startswith("_"):
                    yield f"{module.__name__}.{name}.{member}", function


def test_no_public_function_takes_more_than_nine_parameters():
    counts = {
        name: sum(
            parameter.kind != parameter.VAR_KEYWORD and parameter.name not in ("self", "cls")
            for parameter in inspect.signature(function).parameters.values()
        )
        for name, function in public_functions()
    }
    assert len(counts) > 50
    assert {name: count for name, count in counts.items() if count > 9} == {}
