"""A name that only the hub could know, where the hub is out of reach."""

import pytest

import piste
from piste.errors import ModelError
from piste.models import hub

NAME = "no-such-org/no-such-model"


class Session:
    """In place of the hub's: says what it is told to, and counts how often it was asked."""

    def __init__(self, problems):
        self.problems, self.asked = list(problems), 0

    def head(self, url, timeout):
        self.asked += 1
        problem = self.problems.pop(0) if self.problems else None
        if problem is not None:
            raise problem


class ConnectError(Exception):
    """As httpx calls it."""


class ReadTimeout(Exception):
    """As httpx calls it."""


@pytest.fixture
def line(monkeypatch, tmp_path):
    def of(*problems):
        session = Session(problems)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr("huggingface_hub.utils.get_session", lambda: session)
        monkeypatch.setattr(hub, "PAUSE", 0.0)
        return session

    return of


def test_without_a_connection_nobody_waits_for_the_library(line, monkeypatch):
    session = line(*[ConnectError("Name or service not known")] * 9)

    def never(*_, **__):
        raise AssertionError("the library was asked")

    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", never)
    with pytest.raises(ModelError, match=r"no connection to https.*Name or service not known"):
        piste.load(NAME)
    assert session.asked == hub.TRIES


def test_one_lost_answer_does_not_count(line):
    session = line(ConnectError("lost"))
    hub.check_connection(NAME)
    assert session.asked == 2


def test_a_slow_connection_is_left_to_the_library(line):
    line(*[ReadTimeout("slow")] * 9)
    hub.check_connection(NAME)


@pytest.mark.parametrize("name", ["cached/model", "/no/folder/of/this/name", "."])
def test_what_needs_no_hub_asks_for_none(line, tmp_path, name):
    session = line(*[ConnectError("gone")] * 9)
    snapshot = tmp_path / "models--cached--model" / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    hub.check_connection(name)
    assert session.asked == 0


def test_a_folder_without_a_file_is_no_cached_model(line, tmp_path):
    (tmp_path / "models--begun--model" / "blobs").mkdir(parents=True)
    session = line(*[ConnectError("gone")] * 9)
    with pytest.raises(ModelError, match="no connection"):
        hub.check_connection("begun/model")
    assert session.asked == hub.TRIES


def test_a_cache_of_transformers_own_counts(line, tmp_path, monkeypatch):
    snapshot = tmp_path / "own" / "models--cached--model" / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    session = line(*[ConnectError("gone")] * 9)
    monkeypatch.setenv("TRANSFORMERS_CACHE", str(tmp_path / "own"))
    hub.check_connection("cached/model")
    assert session.asked == 0
