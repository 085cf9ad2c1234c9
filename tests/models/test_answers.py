"""Answers that are kept, and files that cannot keep them."""

import json
import logging
import sqlite3
import threading

import pytest

import piste
from piste.errors import SettingError
from piste.models.backends import answer_cache
from piste.models.backends.answer_cache import AnswerCache, MemoryAnswers
from tests.models.conftest import LABELS, PROMPT

ANSWER = {"pos": -0.5}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "answers.sqlite"


@pytest.fixture
def filled(path):
    """A cache file with some answers in it."""
    AnswerCache(path).close()
    rows = [(answer_cache._key(number), json.dumps(ANSWER)) for number in range(200)]
    with sqlite3.connect(path) as file:
        file.executemany("INSERT INTO answers VALUES (?, ?)", rows)
    file.close()
    return path


def still_works(cache, question="other") -> bool:
    cache.put(question, ANSWER)
    return cache.get(question) == ANSWER


def others(path):
    """The files beside the cache."""
    return [other for other in path.parent.iterdir() if other != path]


def warnings(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_answers_outlive_the_object(filled):
    assert AnswerCache(filled).get(7) == ANSWER
    assert AnswerCache(filled).get("never asked") is None


def test_memory_forgets_the_oldest(monkeypatch):
    monkeypatch.setattr(answer_cache, "MOST_IN_MEMORY", 3)
    cache = MemoryAnswers()
    for number in range(5):
        cache.put(number, ANSWER)
    assert [cache.get(number) for number in range(5)] == [None, None, ANSWER, ANSWER, ANSWER]


@pytest.mark.parametrize("place", [0, 20, 100, 4096, 5000, 8192, 12_000])
@pytest.mark.parametrize("junk", [b"\0", b"\xa5"])
def test_damage_anywhere_is_no_error_and_nothing_is_deleted(filled, caplog, place, junk):
    damaged = bytearray(filled.read_bytes())
    damaged[place : place + 4096] = junk * 4096
    filled.write_bytes(damaged)
    cache = AnswerCache(filled)
    for number in range(0, 200, 10):
        assert cache.get(number) in (ANSWER, None)
    cache.put("other", ANSWER)
    assert len(warnings(caplog)) <= 1
    if others(filled):
        assert [file.read_bytes() for file in others(filled)] == [damaged]
    elif cache.problem:  # without its header it is not known to be ours
        assert filled.read_bytes() == damaged


def test_a_damaged_file_is_set_aside_and_a_new_one_begun(filled, caplog):
    damaged = filled.read_bytes()[:100] + b"\xa5" * 8092
    filled.write_bytes(damaged)
    cache = AnswerCache(filled)
    assert cache.get(7) is None
    assert still_works(cache)
    (aside,) = others(filled)
    assert aside.read_bytes() == damaged
    (warning,) = warnings(caplog)
    assert aside.name in warning
    filled.write_bytes(damaged)  # again: another name
    assert still_works(AnswerCache(filled))
    assert len(others(filled)) == 2


def test_damage_while_it_is_open(filled, caplog):
    cache = AnswerCache(filled)
    damaged = filled.read_bytes()[:100] + b"\xa5" * (filled.stat().st_size - 100)
    filled.write_bytes(damaged)
    assert cache.get(7) is None
    assert still_works(cache)
    assert [file.read_bytes() for file in others(filled)] == [damaged]


def test_a_file_that_another_process_has_set_aside(filled, tmp_path):
    first, second = AnswerCache(filled), AnswerCache(filled)
    filled.write_bytes(filled.read_bytes()[:100] + b"\xa5" * 8092)
    assert still_works(first)
    second.get(7)
    assert still_works(second)
    assert second.get("other") == ANSWER
    assert len(others(filled)) == 1  # the good file of the first one stays


def test_a_file_of_somebody_else_is_left_alone(path, caplog):
    path.parent.mkdir()
    path.write_text("my notes\n" * 1000)
    cache = AnswerCache(path)
    assert not still_works(cache)
    assert path.read_text() == "my notes\n" * 1000
    assert others(path) == []
    assert "not an SQLite file" in cache.problem
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize(
    "schema", ["CREATE TABLE bookmarks (url TEXT)", "CREATE TABLE answers (id INTEGER, text TEXT)"]
)
def test_a_database_of_another_program_is_left_alone(path, caplog, schema):
    path.parent.mkdir()
    with sqlite3.connect(path) as file:
        file.execute(schema)
    file.close()
    before = path.read_bytes()
    cache = AnswerCache(path)
    assert not still_works(cache)
    assert path.read_bytes() == before
    assert "another program" in cache.problem
    assert len(warnings(caplog)) == 1


def test_a_folder_or_a_path_that_cannot_be(tmp_path, caplog):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file" / "answers.sqlite", tmp_path / "\0"):
        caplog.clear()
        assert not still_works(AnswerCache(path))
        assert len(warnings(caplog)) == 1


def test_a_full_disk(filled, caplog):
    cache = AnswerCache(filled)
    pages = cache._file.execute("PRAGMA page_count").fetchone()[0]
    cache._file.execute(f"PRAGMA max_page_count = {pages}")
    for number in range(1000, 1050):
        cache.put(number, ANSWER)
    assert "full" in cache.problem
    assert cache.get(7) == ANSWER  # what is there can be read
    assert len(warnings(caplog)) == 1


def test_a_file_that_cannot_be_written(filled, caplog):
    cache = AnswerCache(filled)
    cache._file.execute("PRAGMA query_only = 1")
    assert not still_works(cache)
    assert "readonly" in cache.problem
    assert cache.get(7) == ANSWER
    assert len(warnings(caplog)) == 1


def test_a_file_that_stays_locked_is_waited_for_once(filled, caplog, monkeypatch):
    monkeypatch.setattr(answer_cache, "LOCK_WAIT", 0.05)
    cache = AnswerCache(filled)
    with sqlite3.connect(filled, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert cache.get(7) is None
        monkeypatch.setattr(cache, "_first_row", None)  # from here on the file is not touched
        assert not still_works(cache)
        other.execute("ROLLBACK")
    other.close()
    monkeypatch.undo()
    cache._closed_until = 0.0  # the pause is over
    assert cache.get(7) == ANSWER
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize("value", ["", "{", "[" * 100_000, "null", "1e999", '{"pos": NaN}', '"x"'])
def test_an_answer_that_is_none_is_asked_again(connect, server, tmp_path, value):
    connect().function(["superb"])
    with sqlite3.connect(tmp_path / "answers.sqlite") as file:
        file.execute("UPDATE answers SET answer = ?", (value,))
    file.close()
    assert connect().function(["superb"]).shape == (1, 2)
    assert len(server.seen) == 2


def test_threads_share_a_file_that_is_damaged(filled):
    filled.write_bytes(filled.read_bytes()[:100] + b"\xa5" * 8092)
    cache, failures = AnswerCache(filled), []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                cache.put([number, turn], ANSWER)
                assert cache.get([number, turn]) == ANSWER
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_an_explanation_says_that_nothing_could_be_kept(connect, tmp_path):
    found = piste.explain("A superb film.", connect(cache=tmp_path), "occlusion")
    assert "Some answers could not be cached: not a regular file." in found.notes
    assert str(tmp_path) not in found.to_json()


def test_without_a_model_name_nothing_outlives_the_classifier(server, tmp_path, monkeypatch):
    """The server may serve another model the next time."""
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path))
    first = piste.from_endpoint(server.url, LABELS, PROMPT)
    first.function(["superb", "dull"])
    first.function(["superb", "dull"])
    assert len(server.seen) == 2  # kept while it lives
    piste.from_endpoint(server.url, LABELS, PROMPT).function(["superb", "dull"])
    assert len(server.seen) == 4
    assert list(tmp_path.iterdir()) == []


def test_a_cache_file_needs_a_model_name(server, tmp_path):
    with pytest.raises(SettingError, match="Name it") as caught:
        piste.from_endpoint(server.url, LABELS, PROMPT, cache=tmp_path / "mine.sqlite")
    assert "mine.sqlite" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_models_do_not_share_answers(connect, server):
    connect(model="first").function(["superb"])
    connect(model="second").function(["superb"])
    connect(model="first").function(["superb"])
    assert [body["model"] for body in server.seen] == ["first", "second"]
