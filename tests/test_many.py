"""Many texts at once: the same explanations as one by one, in a list that loses none."""

import html
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import datasets
import numpy as np
import pandas
import pyarrow
import pytest

import piste
from piste.errors import FileError, InputError, SettingError
from piste.models.sharing import THREADS, Abandoned, Gathering, together
from piste.runs import shards
from tests.planted import additive

WEIGHTS = {"good": 2.0, "bad": -3.0, "film": 0.5, "plot": -0.5}
TEXTS = ["a good film", "a bad film with a bad plot", "the plot was good", "film"]


def classifier(calls=None, fails_on=()):
    """A linear model of words; it keeps a list of its calls, and cannot read some texts."""
    linear = additive(WEIGHTS)

    def function(texts):
        if calls is not None:
            calls.append(len(texts))
        if any(word in text for word in fails_on for text in texts):
            raise RuntimeError("this word is too much for me")
        return linear(texts)

    return piste.from_function(function)


def effects(explanation):
    return {
        p.text: s for p, s in zip(explanation.players, explanation.scores["effect"], strict=True)
    }


def test_many_are_explained_as_one_by_one():
    model = classifier()
    several = piste.explain(TEXTS, model, target="positive")
    assert len(several) == len(TEXTS)
    for text, found in zip(TEXTS, several, strict=True):
        alone = piste.explain(text, model, target="positive")
        assert found.text == text
        assert effects(found) == pytest.approx(effects(alone), abs=1e-9)
    assert effects(several[0])["good"] == pytest.approx(2.0, abs=0.1)


def test_questions_of_many_share_batches():
    apart, shared = [], []
    texts = [f"{text} number {n}" for n, text in enumerate(TEXTS * 2)]
    for text in texts:
        piste.explain(text, classifier(apart), "occlusion")
    piste.explain(texts, classifier(shared), "occlusion")
    assert len(shared) < len(apart) / 2


def test_batches_of_many_are_as_large_as_is_asked_for():
    large, small = [], []
    piste.explain(TEXTS, classifier(large), "occlusion")
    piste.explain(TEXTS, classifier(small), "occlusion", batch_tokens=1)
    assert max(large) > max(small) == 1


def test_what_fails_says_why_and_the_rest_is_kept():
    texts = ["a good film", "", None, "good poison", "a bad plot", 3]
    found = piste.explain(texts, classifier(fails_on=["poison"]), "occlusion")
    assert [bool(one) for one in found] == [True, False, False, False, True, False]
    reasons = [one.reason for one in found.failures]
    assert "empty" in reasons[0]
    assert "missing" in reasons[1]
    assert "too much for me" in reasons[2]
    assert "int" in reasons[3]
    assert len(found.explained) == 2
    assert found.ids == list("012345")
    assert "4 failed" in repr(found)
    with pytest.raises(AttributeError, match="too much for me"):
        _ = found[3].players


def test_a_setting_that_no_text_can_have_is_an_error_and_not_many_failures():
    with pytest.raises(SettingError, match="no target 'nope'"):
        piste.explain(TEXTS, classifier(), target="nope")
    with pytest.raises(SettingError, match="spans belong to one text"):
        piste.explain(TEXTS, classifier(), spans=[(0, 3)])
    with pytest.raises(SettingError, match="rounds is for one text"):
        piste.explain(TEXTS, classifier(), rounds=print)


def test_an_iterator_is_read_as_far_as_wanted():
    read = []

    def stream():
        for number in range(5 * THREADS):
            read.append(number)
            yield f"good film {number}"

    found = piste.explain(stream(), classifier(), "occlusion")
    assert len(read) == THREADS
    assert not found.is_complete
    assert found[THREADS].text == f"good film {THREADS}"
    assert len(read) == 2 * THREADS
    assert "so far" in repr(found)
    assert [one.text for one in found] == [f"good film {n}" for n in range(5 * THREADS)]
    assert found.is_complete
    assert len(found) == len(read) == 5 * THREADS
    assert found[-1].text == f"good film {5 * THREADS - 1}"


def test_a_slice_of_an_iterator_explains_no_more_than_it_needs():
    read = []

    def stream():
        for number in range(3 * THREADS):
            read.append(number)
            yield f"good film {number}"

    found = piste.explain(stream(), classifier(), "occlusion")
    assert [one.text for one in found[1:4:2]] == ["good film 1", "good film 3"]
    assert len(read) == THREADS
    assert len(found[:0]) == len(found[9 * THREADS : 2]) == 0
    assert len(read) == THREADS
    assert len(found[: THREADS + 1]) == THREADS + 1
    assert len(read) == 2 * THREADS
    assert found[-1:][0].text == f"good film {3 * THREADS - 1}"
    assert found.is_complete


def test_a_source_that_raises_is_not_one_that_has_ended():
    def stream():
        for number in range(THREADS + 2):
            yield f"good film {number}"
        raise OSError("the disk is gone")

    found = piste.explain(stream(), classifier(), "occlusion")
    texts = []
    with pytest.raises(OSError, match="disk is gone"):
        texts.extend(one.text for one in found)
    assert texts == [f"good film {n}" for n in range(THREADS + 2)]  # all that was read before
    for _ in range(2):
        with pytest.raises(OSError, match="disk is gone"):
            len(found)
    assert not found.is_complete
    assert found[THREADS + 1].text == texts[-1]


def test_what_was_interrupted_does_not_look_complete():
    def stream():
        yield from ["good film"] * THREADS
        raise KeyboardInterrupt

    found = piste.explain(stream(), classifier(), "occlusion")
    with pytest.raises(KeyboardInterrupt):
        len(found)
    with pytest.raises(InputError, match="KeyboardInterrupt ended this"):
        len(found)
    assert not found.is_complete


def rows():
    return [{"text": text, "label": n % 2, "id": f"r{n}"} for n, text in enumerate(TEXTS)]


SOURCES = {
    "tuple": lambda: tuple(TEXTS),
    "array": lambda: np.array(TEXTS),
    "iterator": lambda: iter(TEXTS),
    "rows": rows,
    "examples": lambda: [piste.Example(f"r{n}", text) for n, text in enumerate(TEXTS)],
    "data set": lambda: datasets.Dataset.from_list(rows()),
    "its column": lambda: datasets.Dataset.from_list(rows())["text"],
    "stream": lambda: datasets.Dataset.from_list(rows()).to_iterable_dataset(),
    "frame": lambda: pandas.DataFrame(rows()),
    "column": lambda: pandas.Series(TEXTS, index=[f"r{n}" for n in range(len(TEXTS))]),
    "arrow": lambda: pyarrow.Table.from_pylist(rows()),
    "arrow column": lambda: pyarrow.Table.from_pylist(rows())["text"],
}


@pytest.mark.parametrize("kind", SOURCES)
def test_texts_come_from_any_object(kind, tmp_path):
    found = piste.explain(SOURCES[kind](), classifier(), "occlusion")
    assert [one.text for one in found] == TEXTS
    named = kind in ("rows", "examples", "data set", "stream", "frame", "column", "arrow")
    assert found.ids == [f"r{n}" if named else str(n) for n in range(len(TEXTS))]
    report = piste.run(SOURCES[kind](), classifier(), tmp_path / "run", method="occlusion")
    assert (report.texts, report.failed) == (len(TEXTS), 0)


@pytest.mark.parametrize(
    ("source", "error", "says"),
    [
        ([], InputError, "no text to explain"),
        (iter(()), InputError, "no text to explain"),
        (b"good", InputError, "bytes"),
        ({"text": TEXTS}, InputError, "no list of texts"),
        (3, InputError, "The text is an int, .* list"),
        (datasets.DatasetDict(test=datasets.Dataset.from_list(rows())), InputError, "'test'"),
        (datasets.Dataset.from_list([{"review": "good"}]), FileError, "there are review"),
    ],
)
def test_what_holds_no_texts_is_told(source, error, says):
    with pytest.raises(error, match=says):
        piste.explain(source, classifier())


def test_columns_name_the_text():
    data = datasets.Dataset.from_list([{"review": text} for text in TEXTS])
    found = piste.explain(data, classifier(), "occlusion", columns=piste.Columns(text="review"))
    assert [one.text for one in found] == TEXTS


@pytest.mark.parametrize("columns", ["review", {"text": "review"}, None])
def test_columns_of_another_kind_are_told(columns):
    data = datasets.Dataset.from_list([{"review": text} for text in TEXTS])
    with pytest.raises(SettingError, match=r"columns is .*Columns\(text="):
        piste.explain(data, classifier(), "occlusion", columns=columns)


def test_a_classifier_in_the_place_of_the_text_is_told():
    with pytest.raises(InputError, match=r"The text is a .*Classifier, not a string"):
        piste.explain(classifier(), TEXTS[0])
    with pytest.raises(InputError, match="explain explains each"):
        piste.compare(TEXTS, classifier())


def overlap(pairs):
    return [len(set(a.split()) & set(b.split())) - 1.5 for a, b in pairs]


def test_pairs_are_given_as_tuples_or_beside():
    model = piste.from_function(overlap)
    firsts, second = ["a man sleeps", "a dog runs"], "a man runs"
    beside = piste.explain(firsts, model, "occlusion", pair=[second, second])
    for other in (
        piste.explain(firsts, model, "occlusion", pair=second),
        piste.explain([(first, second) for first in firsts], model, "occlusion"),
    ):
        assert [one.text for one in other] == [one.text for one in beside]
    assert beside[0].second == len(firsts[0]) + 1


def test_a_missing_second_text_is_a_failure_and_not_a_single_text():
    model = piste.from_function(overlap)
    firsts, second = ["a man sleeps", "a dog runs", "a man runs"], "a man runs"
    rows = [
        {"text": one, "text_pair": two} for one, two in zip(firsts, [second, None, 3], strict=True)
    ]
    for found in (
        piste.explain(firsts, model, "occlusion", pair=[second, None, 3]),
        piste.explain(iter(firsts), model, "occlusion", pair=iter([second, None, 3])),
        piste.explain(rows, model, "occlusion"),
    ):
        assert [bool(one) for one in found] == [True, False, False]
        assert found[1].reason == "The second text is missing."
    assert "int" in found[2].reason
    given = piste.explain(rows, model, "occlusion", pair=second)  # in place of the column
    assert len(given.explained) == 3


@pytest.mark.parametrize("pairs", [list, iter])
def test_another_number_of_second_texts_is_refused(pairs):
    calls = []

    def model(texts):
        calls.append(len(texts))
        return overlap(texts)

    seconds = ["a man runs"] * 3
    with pytest.raises(SettingError, match="more second texts than texts"):
        piste.explain(["a man", "a dog"], piste.from_function(model), pair=pairs(seconds))
    assert not calls
    with pytest.raises(SettingError, match=r"There are 4 texts, and 3 second texts\."):
        piste.explain(["a man"] * 4, piste.from_function(model), pair=pairs(seconds))
    assert not calls
    stream = piste.explain(iter(["a man"]), piste.from_function(model), pair=pairs(seconds))
    assert stream[0].text
    with pytest.raises(SettingError, match="more second texts than texts"):
        len(stream)


def test_threads_may_read_one_stream():
    gate = threading.Barrier(4)
    found = piste.explain((f"a good film {n}" for n in range(3 * THREADS)), classifier())

    def read(place):
        gate.wait()
        return found[place].text

    with ThreadPoolExecutor(4) as pool:
        places = [3 * THREADS - 1, 1, 2 * THREADS, -1]
        texts = [f"a good film {place % (3 * THREADS)}" for place in places]
        assert [*pool.map(read, places)] == texts
    assert len(found) == 3 * THREADS


def test_a_list_that_is_read_by_its_own_progress_says_so():
    """It must neither wait for itself nor pass for complete with what is there."""
    seen, refused = [], []

    def watch(done, planned):
        if not later:
            return
        (found,) = later
        seen.append((len(repr(found)) > 0, found[0].text))  # what is there can be read
        for read in (len, list, lambda results: results[-1], lambda results: results.explained):
            with pytest.raises(SettingError, match=r"progress function .* 16 texts are there"):
                read(found)
            refused.append(read)

    later = []
    texts = [f"{TEXTS[0]} {n}" for n in range(40)]
    found = piste.explain(iter(texts), classifier(), "occlusion", progress=watch)
    later.append(found)
    assert len(found[:17]) == 17
    assert seen
    assert {text for _, text in seen} == {texts[0]}
    assert len(refused) == 4 * len(seen)
    later.clear()
    assert [one.text for one in found] == texts


def test_progress_that_lets_the_error_through_ends_the_list():
    later = []
    found = piste.explain(
        iter(TEXTS * 10), classifier(), "occlusion", progress=lambda *_: len(later[0])
        if later else None
    )  # fmt: skip
    later.append(found)
    for _ in range(2):
        with pytest.raises(SettingError, match="progress function"):
            list(found)
    assert not found.is_complete


def test_progress_that_raises_leaves_no_thread_behind():
    def stop(done, _planned):
        if done:
            raise ZeroDivisionError

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        piste.explain(TEXTS, classifier(), "occlusion", progress=stop)
    assert threading.active_count() == before


def test_one_second_text_that_is_none_is_refused():
    with pytest.raises(SettingError, match="pair is an int"):
        piste.explain(["a man"], classifier(), pair=5)


def test_progress_of_a_stream_plans_what_it_has_read():
    told = []
    stream = piste.explain(
        iter(TEXTS), classifier(), "occlusion", progress=lambda *numbers: told.append(numbers)
    )
    assert len(stream) == len(TEXTS)
    assert told == [(n, len(TEXTS)) for n in range(len(TEXTS) + 1)]


def test_progress_is_told_text_by_text_and_as_a_bar(capsys):
    told = []
    piste.explain(TEXTS, classifier(), "occlusion", progress=lambda *numbers: told.append(numbers))
    assert told == [(n, len(TEXTS)) for n in range(len(TEXTS) + 1)]
    assert capsys.readouterr() == ("", "")
    piste.explain(TEXTS, classifier(), "occlusion", progress=True)
    assert f"{len(TEXTS)}/{len(TEXTS)}" in capsys.readouterr().err
    piste.explain(TEXTS[0], classifier(), "occlusion", progress=True)
    piste.compare(TEXTS[0], classifier(), ["occlusion"], progress=True)
    assert "Asking the model" in capsys.readouterr().err
    with pytest.raises(SettingError, match="progress is 3"):
        piste.explain(TEXTS, classifier(), progress=3)


def test_a_bar_that_is_switched_off_keeps_quiet():
    script = f"""import piste
assert piste.explain({TEXTS[1]!r}, progress=True).scores
assert len(piste.explain(iter({[TEXTS[0]] * (THREADS + 1)!r}), None, "occlusion", progress=True))
"""
    environment = os.environ | {"TQDM_DISABLE": "1"}  # read when its library loads
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_summary_is_that_of_a_run(tmp_path):
    data = [piste.Example(str(n), text, label=n % 2) for n, text in enumerate(TEXTS)]
    ours = piste.explain(data, classifier()).summary()
    piste.run(data, classifier(), tmp_path / "run", effort="normal")
    theirs = piste.summarise(tmp_path / "run")
    assert {**ours.to_dict(), "source": ""} == {**theirs.to_dict(), "source": ""}
    assert [word.word for word in ours.strongest()[:2]] == ["bad", "good"]
    assert ours.right == theirs.right == 0.25


def test_to_parquet_is_a_run_that_can_be_summed_up(tmp_path):
    found = piste.explain([*TEXTS, ""], classifier())
    found.to_parquet(tmp_path / "run")
    summary = piste.summarise(tmp_path / "run")
    assert (summary.texts, summary.failed, summary.ended) == (5, 1, True)
    assert summary.words == found.summary().words
    (texts,) = shards.read(tmp_path / "run", shards.TEXTS)
    assert texts["id"] == found.ids
    with pytest.raises(FileError, match="holds results"):
        found.to_parquet(tmp_path / "run")
    with pytest.raises(FileError, match="name of a file"):
        found.to_parquet(tmp_path / "run.parquet")


def test_to_pandas_has_a_row_a_word_or_a_row_a_text():
    found = piste.explain([*TEXTS, ""], classifier(), target="positive")
    words = found.to_pandas()
    assert words[words["id"] == "0"]["word"].tolist() == TEXTS[0].split()
    assert words.groupby("word")["effect"].mean()["good"] == pytest.approx(2.0, abs=0.1)
    texts = found.to_pandas("texts")
    assert texts["score"].tolist()[:1] == pytest.approx([2.5])
    assert "empty" in texts["error"].tolist()[-1]
    with pytest.raises(SettingError, match="players, texts"):
        found.to_pandas("words")


def test_a_summary_of_nothing_or_of_two_models_is_refused():
    with pytest.raises(SettingError, match=r"No text was explained: .*one word to explain\. Look"):
        piste.explain([""], classifier()).summary()
    other = piste.from_function(additive(WEIGHTS), name="another")
    mixed = piste.Explanations([piste.explain("film", classifier()), piste.explain("film", other)])
    with pytest.raises(SettingError, match="more than one model"):
        mixed.summary()


def test_it_is_shown_and_hostile_text_stays_text():
    found = piste.explain(
        ["<script>alert(1)</script> good film", "", "a bad \x1b[31mfilm"], classifier()
    )
    told = str(found)
    assert told.startswith("3 texts, explained by context (function); 1 failed")
    assert "\x1b" not in told
    shown = found._repr_html_()
    assert "<script>alert" not in shown
    assert "<script>alert" not in html.unescape(shown)  # the document inside the frame
    assert "<script>" in html.unescape(html.unescape(shown))
    assert "not explained" in shown
    assert found.to_html().startswith("<!doctype html>")


def test_slices_and_pickles_are_explanations_too():
    found = piste.explain(TEXTS, classifier(), "occlusion")
    assert [one.text for one in found[1:3]] == TEXTS[1:3]
    assert isinstance(found[1:3], piste.Explanations)
    again = pickle.loads(pickle.dumps(found))
    assert [*again] == [*found]
    assert piste.Explanations(found).ids == found.ids


def test_whoever_leaves_lets_the_others_end_at_their_next_question():
    asked, ended = threading.Event(), threading.Event()

    def work(gathering, item):
        gathering.answers([np.zeros((1, 1), dtype=np.int64)])  # both have begun
        if item == 0:
            return item  # its reader leaves
        try:
            for _ in range(1000):
                gathering.answers([np.zeros((1, 1), dtype=np.int64)])
                asked.wait(0.01)
        except BaseException:
            ended.set()
            raise

    class Slow:
        def logits(self, ids):
            return np.zeros((len(ids), 1))

    results = together(Slow(), [0, 1], work, 2)
    assert next(results) == 0
    results.close()
    assert ended.is_set()


def test_an_abandoned_gathering_answers_no_more():
    gathering = Gathering(None, active=2)
    gathering.abandon()
    with pytest.raises(Abandoned):
        gathering.answers([np.zeros((1, 1), dtype=np.int64)])


def test_a_table_without_any_player_has_the_columns_all_the_same():
    failed = piste.explain(["", "  "], classifier(), "occlusion").to_pandas()
    assert len(failed) == 0
    full = piste.explain([TEXTS[0]], classifier(), "occlusion").to_pandas()
    assert list(full.columns[: len(failed.columns)]) == list(failed.columns)
    assert failed.columns[-1] == "score_error"


@pytest.mark.parametrize("target", [None, "predicted", "all"])
def test_what_is_predicted_is_checked_however_it_was_asked_for(target):
    def counts(texts):
        return [[t.count("good") + 0.1, t.count("bad") * 1.0, t.count("so") * 1.0] for t in texts]

    data = [
        {"text": "a good film", "label": "p"},
        {"text": "a bad film", "label": "n"},
        {"text": "a so so film good", "label": "p"},
    ]
    model = piste.from_function(counts, ["p", "n", "o"])
    summary = piste.explain(data, model, target=target).summary()
    assert summary.right == pytest.approx(2 / 3)
    assert len(summary.classes) == 3
