"""Whole data sets: nothing lost, nothing twice, the same rows as explaining one text by one."""

import json
import os
import random
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

import piste
from piste.errors import PisteError, SettingError
from piste.runs import shards
from piste.runs.word_summary import summarise

TEXTS = [
    "the film was good and the plot not bad at all",
    "a terrible film with a bad plot",
    "great fun for the whole family",
    "I don't know why they made it",
    "the acting was superb , the story unforgettable",
    "bad , bad , bad",
    "not good",
]
TIMED = ("seconds",)


def written(path, texts=TEXTS, extra=()):
    rows = [{"id": f"t{i}", "text": text, "label": i % 2} for i, text in enumerate(texts)]
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join([*lines, *extra]) + "\n")
    return path


def tables(folder):
    texts = pq.read_table(folder / "texts").to_pydict()
    for name in TIMED:
        texts.pop(name)
    return texts, pq.read_table(folder / "players").to_pydict()


THREADS = 1e-2  # other processes may compute with another number of threads
ROUNDING = 1e-5  # the same program again: its threads may sum in another order, in float32


def assert_same(cell, wanted, name, within):
    """Equal but for numbers, which are equal within a tolerance."""
    if isinstance(wanted, list):
        assert len(cell) == len(wanted), name
        for one, other in zip(cell, wanted, strict=True):
            assert_same(one, other, name, within)
    elif isinstance(wanted, dict):
        assert cell.keys() == wanted.keys(), name
        for key in wanted:
            assert_same(cell[key], wanted[key], f"{name} {key}", within)
    elif isinstance(wanted, float):
        assert cell == pytest.approx(wanted, rel=within, abs=within), name
    else:
        assert cell == wanted, name


def assert_same_rows(one, other, within=THREADS):
    for mine, theirs in zip(tables(one), tables(other), strict=True):
        assert list(mine) == list(theirs)
        for name, cells in mine.items():
            assert_same(cells, theirs[name], name, within)


def test_the_rows_are_those_of_explain(tmp_path, demo):
    data = written(tmp_path / "data.jsonl")
    report = piste.run(data, demo, tmp_path / "out", shard=3)
    assert (report.texts, report.failed) == (len(TEXTS), 0)
    texts, players = tables(tmp_path / "out")
    for index, text in enumerate(TEXTS):
        one = piste.explain(text, demo, effort="light")
        mine = [i for i, number in enumerate(players["index"]) if number == index]
        assert [players["word"][i] for i in mine] == [p.text for p in one.players]
        for name in ("effect", "value", "importance", "relevance"):
            found = np.array([players[name][i] for i in mine])
            assert found == pytest.approx(one.scores[name], rel=1e-2, abs=1e-2)
        found = [players["effect_error"][i] for i in mine]
        assert found == pytest.approx(one.errors["effect"], rel=1e-2, abs=1e-2)
        assert texts["base"][index] == pytest.approx(one.base, abs=1e-4)
        assert texts["flip"][index] == (None if one.flip is None else list(one.flip.players))
        assert len(texts["pairs"][index]) <= 5
        for pair, wanted in zip(texts["pairs"][index], one.pairs(5), strict=True):
            assert pair["effect"] == pytest.approx(wanted.effect, rel=1e-2, abs=1e-2)
            assert pair["first_word"] == one.players[pair["first"]].text
            assert pair["second_word"] == one.players[pair["second"]].text
        assert texts["target"][index] == one.target.label
        assert texts["score"][index] == pytest.approx(one.target.score, abs=1e-4)
        assert texts["label"][index] == str(index % 2)
        assert texts["passes"][index] == pytest.approx(one.cost.passes)
    assert report.passes == pytest.approx(sum(texts["passes"]))


def test_with_a_lexicon_each_text_costs_one_question(tmp_path, demo):
    data = written(tmp_path / "data.jsonl", TEXTS * 4)
    piste.run(data, demo, tmp_path / "out", lexicon=True, refine=0)
    texts, _ = tables(tmp_path / "out")
    assert set(texts["forwards"]) == {1}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["model"] == "demo"
    assert manifest["versions"]["piste"]


def test_context_with_a_lexicon_asks_a_few_parts_of_each_text(tmp_path, demo):
    data = written(tmp_path / "data.jsonl", TEXTS * 4)
    piste.run(data, demo, tmp_path / "out", lexicon=True, refine=12)
    texts, players = tables(tmp_path / "out")
    assert max(texts["forwards"]) <= 12 + 2 + 10
    assert None not in players["effect"]
    for index in range(len(TEXTS)):
        mine = [i for i, number in enumerate(players["index"]) if number == index]
        total = texts["base"][index] + sum(players["effect"][i] for i in mine)
        assert total == pytest.approx(texts["score"][index], abs=1e-6)


def test_other_methods(tmp_path, demo):
    data = written(tmp_path / "data.jsonl")
    piste.run(data, demo, tmp_path / "out", method="gradients")
    texts, players = tables(tmp_path / "out")
    assert {"grad-input", "grad-l2"} <= players.keys()
    assert set(texts["pairs"]) == set(texts["base"]) == set(texts["flip"]) == {None}


def test_a_text_that_fails_is_a_row_and_the_run_goes_on(tmp_path, demo):
    data = written(tmp_path / "data.jsonl", [*TEXTS[:2], " ", *TEXTS[2:4]], ['{"text": 5}', "{no"])
    report = piste.run(data, demo, tmp_path / "out", shard=2)
    assert (report.texts, report.failed) == (7, 3)
    texts, players = tables(tmp_path / "out")
    assert "empty" in texts["error"][2]
    assert "no text" in texts["error"][5]
    assert "not JSON" in texts["error"][6]
    assert 2 not in players["index"]


def test_a_run_goes_on_where_it_was(tmp_path, demo):
    data = written(tmp_path / "data.jsonl", TEXTS * 2)
    piste.run(data, demo, tmp_path / "whole", shard=4)
    piste.run(data, demo, tmp_path / "parts", shard=4)
    before = (tmp_path / "parts/texts/part-00000000.parquet").stat().st_mtime_ns
    (tmp_path / "parts/texts/part-00000001.parquet").unlink()  # killed before it was renamed
    piste.run(data, demo, tmp_path / "parts", shard=4)
    assert_same_rows(tmp_path / "parts", tmp_path / "whole", ROUNDING)
    assert (tmp_path / "parts/texts/part-00000000.parquet").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"method": "occlusion"}, {"shard": 5}, {"unit": "token"}], ids=str
)
def test_other_settings_are_refused(tmp_path, demo, other):
    data = written(tmp_path / "data.jsonl")
    piste.run(data, demo, tmp_path / "out", shard=4)
    with pytest.raises(SettingError, match="Give another folder"):
        piste.run(data, demo, tmp_path / "out", **{"shard": 4, **other})


def test_another_model_is_refused(tmp_path, demo, bert):
    data = written(tmp_path / "data.jsonl")
    piste.run(data, demo, tmp_path / "out")
    with pytest.raises(SettingError, match="model"):
        piste.run(data, bert, tmp_path / "out")


RUN = """
import sys, piste
piste.run(sys.argv[1], "demo", sys.argv[2], shard=3, lexicon=sys.argv[3] == "lexicon")
"""


@pytest.mark.parametrize(
    ("kind", "times"),
    [
        ("plain", 2),
        pytest.param("lexicon", 5, marks=pytest.mark.slow),
        pytest.param("plain", 5, marks=pytest.mark.slow),
    ],
)
def test_killed_at_random_moments_it_ends_the_same(tmp_path, kind, times):
    data = written(tmp_path / "data.jsonl", TEXTS * 3)
    command = [sys.executable, "-c", RUN, str(data)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = time.monotonic()
    subprocess.run([*command, str(tmp_path / "whole"), kind], check=True, env=environment)
    takes = time.monotonic() - started
    chance = random.Random(0)
    for _ in range(times):
        running = subprocess.Popen([*command, str(tmp_path / "killed"), kind], env=environment)
        try:
            running.wait(timeout=chance.uniform(0.3, 1.0) * takes)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
    subprocess.run([*command, str(tmp_path / "killed"), kind], check=True, env=environment)
    assert_same_rows(tmp_path / "killed", tmp_path / "whole", ROUNDING)


def test_two_processes_give_the_rows_of_one(tmp_path):
    data = written(tmp_path / "data.jsonl", TEXTS * 2)
    piste.run(data, "demo", tmp_path / "one", shard=3)
    piste.run(data, "demo", tmp_path / "two", shard=3, workers=2)
    assert_same_rows(tmp_path / "two", tmp_path / "one")


def test_workers_need_a_name(tmp_path, demo):
    data = written(tmp_path / "data.jsonl")
    with pytest.raises(SettingError, match="name or directory"):
        piste.run(data, demo, tmp_path / "out", workers=2)


def test_no_text_at_all(tmp_path, demo):
    (tmp_path / "data.jsonl").write_text("")
    with pytest.raises(PisteError):
        piste.run(tmp_path / "data.jsonl", demo, tmp_path / "out")


def test_a_summary_finds_what_was_planted(tmp_path):
    """A model that has learnt a word which the labels know nothing of."""
    rng = np.random.default_rng(0)
    fillers = [f"word{i}" for i in range(20)]
    texts, labels = [], []
    for index in range(200):
        label = index % 2
        words = [*rng.choice(fillers, 8), "good" if label else "bad"]
        if rng.random() < 0.5:
            words.append("spielberg")
        texts.append(" ".join(rng.permutation(words)))
        labels.append(label)
    rows = [json.dumps({"text": t, "label": int(n)}) for t, n in zip(texts, labels, strict=True)]
    (tmp_path / "data.jsonl").write_text("\n".join(rows))
    weight = {"good": (2.0, 1.0), "bad": (-2.0, 1.0), "spielberg": (1.5, 1.5)}

    def margins(given):
        found = []
        for text in given:
            pairs = [weight.get(word, (0.0, 0.0)) for word in text.split()]
            weights = np.exp([s for _, s in pairs])
            found.append(float(weights @ [v for v, _ in pairs] / weights.sum()))
        return found

    classifier = piste.from_function(margins, ["negative", "positive"])
    piste.run(tmp_path / "data.jsonl", classifier, tmp_path / "out")
    found = summarise(tmp_path / "out")
    assert [word.word for word in found.spurious()][:1] == ["spielberg"]
    assert {"good", "bad", "spielberg"} == {w.word for w in found.strongest()[:3]}
    assert found.spoiling()[0].word == "spielberg"
    good = next(word for word in found.words if word.word == "good")
    assert good.value == pytest.approx(2.0, abs=0.2)
    assert good.lift == pytest.approx(0.5, abs=0.05)
    assert "Spurious candidates" in str(piste.summarise(tmp_path / "out"))
    assert found.plot().axes


def negated(count=60, seed=0):
    """Texts in which "not" turns "good", and what the model that does so says of texts."""
    rng = np.random.default_rng(seed)
    fillers = [f"word{i}" for i in range(12)]
    texts = []
    for index in range(count):
        words = list(rng.choice(fillers, 4, replace=False))
        if index % 3:
            words.insert(int(rng.integers(5)), "good")
        if index % 3 == 1:
            words.insert(words.index("good"), "not")
        texts.append(" ".join(words))

    def margins(given):
        said = [text.split() for text in given]
        return [
            2.0 * ("good" in words) - 3.0 * ("good" in words and "not" in words) for words in said
        ]

    return texts, margins


@pytest.mark.parametrize("lexicon", [True, False])
def test_a_summary_lists_words_that_act_together(tmp_path, lexicon):
    texts, margins = negated()
    data = written(tmp_path / "data.jsonl", texts)
    classifier = piste.from_function(margins, ["negative", "positive"])
    options = {"lexicon": True, "refine": 20} if lexicon else {"effort": "quick"}
    piste.run(data, classifier, tmp_path / "out", **options)
    found = summarise(tmp_path / "out")
    strongest = found.together(least=2)[0]
    assert (strongest.first, strongest.second, strongest.label) == ("not", "good", "positive")
    assert strongest.texts == 20
    # Whatever the predicted class: towards "positive" the two do -3 together.
    assert strongest.effect == pytest.approx(-3.0, abs=0.4)
    assert 0 <= strongest.error < 0.3
    assert "not + good" in str(found)
    assert "Words that act together" in found.to_html()
    pair = json.loads(found.to_json())["pairs"][0]
    assert (pair["first"], pair["second"], pair["texts"]) == ("not", "good", 20)
    good = next(word for word in found.words if word.word == "good")
    assert good.effect > 0.4
    assert "effect" in str(found)
    assert "lin" not in str(found).split()


def test_a_summary_of_rows_without_context(tmp_path, demo):
    """As 0.1.0 wrote them: words are ranked by lin, and nothing is said of pairs."""
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    piste.run(data, demo, out, method="slalom", lexicon=True, refine=0)
    part = "part-00000000.parquet"
    table = pq.ParquetFile(out / "texts" / part).read()
    pq.write_table(
        table.drop_columns(["base", "flip", "flip_label", "pairs"]), out / "texts" / part
    )
    manifest = json.loads((out / "manifest.json").read_text())
    del manifest["format"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    found = summarise(out)
    assert found.pairs == []
    assert found.strongest()[0].effect is None
    assert "value × e^importance" in str(found)
    assert "act together" not in str(found) + found.to_html()


def test_a_summary_needs_scores_of_words(tmp_path, demo):
    data = written(tmp_path / "data.jsonl")
    piste.run(data, demo, tmp_path / "out", method="occlusion")
    with pytest.raises(PisteError, match="use one of them"):
        summarise(tmp_path / "out")


def test_a_summary_of_something_else(tmp_path):
    with pytest.raises(PisteError, match="piste run"):
        summarise(tmp_path)


def test_hostile_words_in_a_summary(tmp_path, demo):
    text = "good <script>alert(1)</script> \x1b[31mbad\x1b[0m {{7*7}} =cmd()"
    data = written(tmp_path / "data.jsonl", [text] * 3)
    piste.run(data, demo, tmp_path / "out")
    from io import StringIO

    from rich.console import Console

    from piste.render.corpus import draw, show
    from piste.render.corpus_html import page

    found = summarise(tmp_path / "out")
    html = page(found)
    assert "<script>alert" not in html
    stream = StringIO()
    show(found, Console(file=stream, force_terminal=False))
    assert "\x1b" not in stream.getvalue()
    draw(found, tmp_path / "plane.png")
    assert (tmp_path / "plane.png").stat().st_size > 1000
    assert shards.numbers(tmp_path / "out") == [0]


def test_ray_gives_the_same_rows(tmp_path):
    pytest.importorskip("ray")
    data = written(tmp_path / "data.jsonl", TEXTS * 2, ["{no"])
    piste.run(data, "demo", tmp_path / "local", shard=3)
    report = piste.run(data, "demo", tmp_path / "ray", shard=3, engine="ray", workers=2)
    assert (report.texts, report.failed) == (15, 1)
    assert_same_rows(tmp_path / "ray", tmp_path / "local")


def test_ray_workers_find_relative_paths(tmp_path, monkeypatch):
    """A Ray that runs already was started elsewhere, and its workers keep to that folder."""
    ray = pytest.importorskip("ray")
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "data.jsonl", TEXTS)
    report = piste.run("data.jsonl", "demo", "out", shard=3, engine="ray")
    assert (report.texts, report.failed) == (len(TEXTS), 0)


@pytest.mark.slow
def test_a_killed_ray_worker_loses_no_row(tmp_path):
    pytest.importorskip("ray")
    psutil = pytest.importorskip("psutil")
    data = written(tmp_path / "data.jsonl", TEXTS * 12)
    piste.run(data, "demo", tmp_path / "local", shard=3)
    # The process that leads writes no rows: it could not.
    script = "import piste.runs.job as job\njob.stage = None\n" + RUN.replace(
        "shard=3", 'shard=3, engine="ray", workers=2'
    )
    running = subprocess.Popen([sys.executable, "-c", script, data, tmp_path / "ray", "plain"])
    killed = False
    while running.poll() is None and not killed:
        time.sleep(0.2)
        if len(shards.numbers(tmp_path / "ray")) >= 2:
            own = psutil.Process(running.pid).children(recursive=True)
            workers = [one for one in own if "MapWorker" in " ".join(one.cmdline())]
            if len(workers) == 2:
                workers[0].kill()
                killed = True
    assert running.wait() == 0
    assert killed
    assert_same_rows(tmp_path / "ray", tmp_path / "local")
