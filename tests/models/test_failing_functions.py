"""Functions that fail: what is told, and what comes through as it is."""

import urllib.error

import pytest

import piste
from piste.errors import FunctionError, OutputError, SettingError, is_passing
from tests.planted import additive


def test_an_error_of_the_functions_own_is_told_with_its_name_and_input():
    def broken(texts):
        raise ZeroDivisionError("mine")

    long = "word " * 40
    with pytest.raises(OutputError, match=r"'broken' failed \(ZeroDivisionError: mine\)") as told:
        piste.predict([long], piste.from_function(broken))
    assert repr(f"{long[:80]}...") in told.value.cause
    assert isinstance(told.value.__cause__, ZeroDivisionError)
    with pytest.raises(
        OutputError,
        match=r"3 inputs, of which the first is 'a'\. .*explain\(.*batch_tokens=1\)",
    ):
        piste.predict(["a", "b", "c"], piste.from_function(broken))


@pytest.mark.parametrize(
    "raised", [SettingError("No.", "Yes."), KeyboardInterrupt(), SystemExit(3)]
)
def test_what_is_no_mistake_of_the_function_comes_through(raised):
    def raising(texts):
        raise raised

    with pytest.raises(type(raised)) as told:
        piste.explain("a b", piste.from_function(raising))
    assert told.value is raised


@pytest.mark.parametrize("raised", [MemoryError(), RuntimeError("CUDA out of memory")])
def test_a_function_out_of_memory_is_asked_in_smaller_batches(raised):
    sizes = []

    def small(texts):
        sizes.append(len(texts))
        if len(texts) > 2:
            raise raised
        return [float(len(text)) for text in texts]

    found = piste.predict(["a", "b", "c", "d"], piste.from_function(small), "log-odds")
    assert found[:, 1].tolist() == [1.0] * 4
    assert max(sizes) == 4


def test_a_function_that_cannot_read_one_empty_text_of_two_is_told():
    def shares(pairs):
        return [len(one) / len(two) for one, two in pairs]

    with pytest.raises(OutputError, match="one part may be empty") as told:
        piste.explain("a man", piste.from_function(shares), pair="sleeps")
    assert isinstance(told.value.__cause__, ZeroDivisionError)
    assert "'shares'" in told.value.cause


@pytest.mark.parametrize(
    ("raised", "tries"),
    [(urllib.error.HTTPError("url", 400, "No text.", {}, None), 2), (ValueError("No text."), 1)],
)
def test_a_function_that_refuses_an_empty_text_is_explained(raised, tries):
    """What may pass is tried again for the next text, and keeps none from being explained."""
    asked = []

    def refusing(texts):
        if "" in texts:
            asked.append("")
            raise raised
        return additive({"good": 1.0})(texts)

    classifier = piste.from_function(refusing)
    for _ in range(2):
        explanation = piste.explain("good film", classifier)
        assert any("cannot read an empty text" in note for note in explanation.notes)
    assert len(asked) == tries


def test_causes_that_go_in_a_circle_end():
    error, other = ValueError("one"), ValueError("other")
    error.__cause__, other.__cause__ = other, error
    assert not is_passing(error)
    other.__cause__ = TimeoutError()
    assert is_passing(error)


def test_a_long_message_is_cut_and_one_that_cannot_be_said_is_left_out():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    for raised, length in ((ValueError("x" * 10_000), 800), (Mute(), 400)):

        def broken(texts, raised=raised):
            raise raised

        with pytest.raises(FunctionError, match=type(raised).__name__) as told:
            piste.predict(["a"], piste.from_function(broken))
        assert len(str(told.value)) < length


def test_a_comparison_does_not_call_a_broken_function_a_methods_failure():
    def broken(texts):
        raise ValueError("token=hunter2")

    with pytest.raises(FunctionError):
        piste.compare("good film", piste.from_function(broken))


def test_causes_are_told_apart_by_what_they_are():
    """A class whose errors all count as equal hides none of its causes."""

    class Alike(Exception):
        def __eq__(self, other):
            return True

        __hash__ = Exception.__hash__

    error, circle = Alike(), Alike()
    error.__cause__ = TimeoutError()
    assert is_passing(error)
    circle.__cause__ = other = Alike()
    other.__cause__ = circle
    assert not is_passing(circle)
