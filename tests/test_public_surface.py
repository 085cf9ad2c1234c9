import json
import subprocess
import sys

import pytest

import piste


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
