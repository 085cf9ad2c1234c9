"""Code written for 0.1: what moved still works and warns, what has gone says where to."""

import subprocess
import sys
from dataclasses import replace
from importlib import import_module

import pytest

import piste
from piste import cli, moved
from piste.errors import SettingError

FROM_01 = """
import warnings
warnings.simplefilter("error")
try:
    from piste.explanation import Explanation
except DeprecationWarning as warning:
    print(warning)
warnings.simplefilter("always")
from piste.explanation import Explanation
import piste, piste.runs.corpus
assert Explanation is piste.Explanation
assert piste.runs.corpus.summarise is piste.summarise
"""


@pytest.mark.parametrize("old", moved.MOVED)
def test_a_module_that_moved_is_the_new_one(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {moved.MOVED[old]}") as told:
        assert import_module(old) is import_module(moved.MOVED[old])
    assert [warning.filename for warning in told] != [moved.__file__]


def test_old_imports_work_in_a_process_of_their_own():
    done = subprocess.run(
        [sys.executable, "-c", FROM_01], capture_output=True, text=True, check=True
    )
    assert "piste.explanation is now piste.result.explanation" in done.stdout
    assert "<string>:9: DeprecationWarning" in done.stderr  # the line that somebody wrote


@pytest.mark.parametrize("old", moved.GONE)
def test_a_module_that_has_gone_says_what_to_do(old):
    with pytest.raises(ModuleNotFoundError, match=r"papers|Decision|windows|context"):
        import_module(old)


@pytest.mark.parametrize("focus", ["text", "tokens"])
def test_the_focus_of_slalom_has_gone_to_context(focus):
    with pytest.raises(SettingError, match="context"):
        piste.Slalom(focus=focus)
    assert "focus" not in piste.Slalom().settings()
    assert replace(piste.Slalom(), length=5).length == 5


def test_a_module_that_never_was_is_not_found_as_ever():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'piste\.nothing'$"):
        import_module("piste.nothing")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["explain", "A film.", "--focus", "text"], "context predicts removals"),
        (["explain", "A film.", "--focus=text"], "context predicts removals"),
        (["run", "texts.jsonl", "--no-lexicon"], "Leave it out"),
        (["theory", "--questions"], "python -m papers theory"),
        (["reproduce", "fig3"], "python -m papers run"),
    ],
)
def test_commands_and_options_that_have_gone_say_what_to_do(words, says, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["piste", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert says in " ".join(capsys.readouterr().err.split())


def test_what_stands_behind_two_dashes_is_a_text(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["piste", "explain", "--brief", "--", "--focus"])
    monkeypatch.setattr(cli, "app", lambda: None)
    cli.main()
