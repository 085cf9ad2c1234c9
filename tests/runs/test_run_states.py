"""A run that is mistaken, of pairs, stopped, or done: each says so."""

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

import piste
from piste.cli import app, progress
from piste.render import corpus, corpus_html
from piste.runs import shards
from piste.runs.word_summary import summarise

TEXTS = ["the film was good", "a terrible film", "great fun", "not good"]


def written(path, **more):
    rows = [{"id": str(i), "text": text} | more for i, text in enumerate(TEXTS)]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def said(summary):
    stream = io.StringIO()
    corpus.show(summary, Console(file=stream, width=200))
    return stream.getvalue()


def test_a_mistaken_run_leaves_no_folder(tmp_path, demo):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    data = written(tmp_path / "data.jsonl")
    for mistake in (
        lambda out: piste.run(tmp_path / "nowhere.jsonl", demo, out),
        lambda out: piste.run(empty, demo, out),
        lambda out: piste.run(data, demo, out, target="all"),
        lambda out: piste.run(data, demo, out, long="fold"),
        lambda out: piste.run(data, demo, out, engine="steam"),
        lambda out: piste.run(data, demo, out, method="lime", lexicon=True),
        lambda out: piste.run(data, demo, out, refine=3),
        lambda out: piste.run(data, demo, out, tolerance=5),
        lambda out: piste.run(data, demo, out, unit="syllable"),
        lambda out: piste.run(data, demo, out, repeats="thrice"),
        lambda out: piste.run(data, demo, out, budget=-1),
        lambda out: piste.run(data, demo, out, target="no label"),
        lambda out: piste.run(data, demo, out, refine=-3),
    ):
        with pytest.raises(piste.PisteError):
            mistake(tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_pairs_are_explained_one_by_one(tmp_path, demo):
    data = written(tmp_path / "pairs.jsonl", text_pair="a bad plot")
    report = piste.run(data, demo, tmp_path / "out", budget=40)
    assert report.failed == 0
    assert not (tmp_path / "out" / "lexicon.json.gz").exists()
    (texts,) = shards.read(tmp_path / "out", shards.TEXTS, ["forwards"])
    assert min(texts["forwards"]) > 1


def test_pairs_are_known_by_the_first_good_row(tmp_path, demo):
    data = written(tmp_path / "pairs.jsonl", text_pair="a bad plot")
    data.write_text('{"text": ""}\n' + data.read_text())
    report = piste.run(data, demo, tmp_path / "out", method="occlusion")
    assert (report.texts, report.failed) == (5, 1)
    with pytest.raises(piste.PisteError, match="single texts"):
        piste.run(data, demo, tmp_path / "other", lexicon=True, refine=7)


def test_a_function_of_pairs_is_run_and_judged(tmp_path):
    def overlap(pairs):
        return [len({*a.split()} & {*b.split()}) - 1.5 for a, b in pairs]

    data = written(tmp_path / "pairs.jsonl", text_pair="a good film")
    classifier = piste.from_function(overlap, ["unlike", "alike"])
    report = piste.run(data, classifier, tmp_path / "out", method="occlusion")
    assert report.failed == 0
    judged = piste.evaluate(data, classifier, ["occlusion"], ["deletion"], out=tmp_path / "judged")
    assert not judged.failures()


def test_a_larger_limit_goes_on(tmp_path, demo):
    data = written(tmp_path / "data.jsonl")
    made = [
        piste.run(data, demo, tmp_path / "out", method="occlusion", limit=limit)
        for limit in (2, None, 4)
    ]
    assert [report.texts for report in made] == [2, 4, 4]
    assert [report.made for report in made] == [2, 4, 0]


def test_a_lexicon_refuses_a_pair(demo):
    lexicon = piste.build_lexicon(TEXTS, demo)
    with pytest.raises(piste.PisteError, match="single texts"):
        piste.explain(TEXTS[0], demo, lexicon=lexicon, pair=TEXTS[1])


def test_long_texts_of_a_run_can_be_read_in_windows(tmp_path, demo):
    long = tmp_path / "long.jsonl"
    long.write_text(json.dumps({"text": "a good film " * 400}) + "\n")
    options = {"method": "gradients", "long": "windows"}
    piste.run(long, demo, tmp_path / "out", **options)
    (rows,) = shards.read(tmp_path / "out", shards.PLAYERS, ["word"])
    assert len(rows["word"]) == 1200


def test_a_run_that_is_done_says_so(tmp_path):
    data = written(tmp_path / "data.jsonl")
    arguments = ["run", str(data), "--out", str(tmp_path / "out"), "--method", "occlusion"]
    first, second = (CliRunner().invoke(app, arguments).output for _ in range(2))
    assert "Nothing to do" not in first
    assert "Nothing to do" in second
    assert "4 texts in" in second


def test_a_quiet_run_says_what_went_wrong_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)  # off a terminal, a line for whatever is done
    data = written(tmp_path / "data.jsonl")
    arguments = ["run", str(data), "--method", "occlusion", "--out"]
    told = CliRunner().invoke(app, [*arguments, str(tmp_path / "told")])
    assert "4 texts in" in told.output
    assert "Texts: " in told.stderr
    found = CliRunner().invoke(app, [*arguments, str(tmp_path / "out"), "--quiet"])
    assert (found.exit_code, found.output) == (0, "")
    (rows,) = shards.read(tmp_path / "out", shards.TEXTS, ["id"])
    assert len(rows["id"]) == 4
    data.write_text(data.read_text() + json.dumps({"id": "e", "text": " "}) + "\n")
    failed = CliRunner().invoke(app, [*arguments, str(tmp_path / "failed"), "--quiet"])
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "1 of 5 texts failed" in failed.stderr
    assert "e: " in failed.stderr  # and which one


def test_a_summary_of_an_unfinished_run_says_so(tmp_path, demo):
    data = written(tmp_path / "data.jsonl")
    piste.run(data, demo, tmp_path / "out", lexicon=True, refine=0)
    assert summarise(tmp_path / "out").ended
    assert "has not finished" not in said(summarise(tmp_path / "out"))
    manifest = tmp_path / "out" / "manifest.json"
    told = json.loads(manifest.read_text())
    del told["ended"]
    manifest.write_text(json.dumps(told))
    assert "has not finished" in said(summarise(tmp_path / "out"))
    assert "has not finished" in corpus_html.page(summarise(tmp_path / "out"))


def test_labels_that_the_model_does_not_know_are_named(tmp_path, demo):
    data = written(tmp_path / "data.jsonl", label="<pos>")
    piste.run(data, demo, tmp_path / "out", lexicon=True, refine=0)
    summary = summarise(tmp_path / "out")
    assert summary.strange == ("<pos>",)
    assert summary.right is None
    assert "does not know these labels of the data: <pos>" in said(summary)
    assert "&lt;pos&gt;" in corpus_html.page(summary)


def test_off_a_terminal_progress_is_a_line_now_and_then(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with progress.LateBar("Texts", Console(file=stream)) as bar:
        for done in range(1, 91):
            now[0] += 1
            bar(done, 1000)
    left = {30: "0:16:10", 60: "0:15:40", 90: "0:15:10"}  # a text a second
    assert stream.getvalue().splitlines() == [
        f"Texts: {n} of 1,000, about {rest} left" for n, rest in left.items()
    ]


@pytest.mark.parametrize("limit", [None, 2, 3, 4, 100])
def test_a_run_counts_the_texts_it_has(tmp_path, demo, limit):
    data, seen = written(tmp_path / "data.jsonl"), []
    piste.run(data, demo, tmp_path / "out", limit=limit, shard=3, method="occlusion",
              watch=lambda *step: seen.append(step))  # fmt: skip
    total = min(limit or 4, 4)
    done = [count for _, count, _ in seen]
    assert {(stage, of) for stage, _, of in seen} == {("texts", total)}
    assert done == sorted(done)
    assert sorted({*done}) == [*range(total + 1)]


def test_a_run_that_goes_on_counts_what_is_there(tmp_path, demo):
    data, out, seen = written(tmp_path / "data.jsonl"), tmp_path / "out", []
    piste.run(data, demo, out, limit=3, shard=3, method="occlusion")
    piste.run(data, demo, out, limit=4, shard=3, method="occlusion",
              watch=lambda *step: seen.append(step))  # fmt: skip
    assert seen[0] == ("texts", 3, 4)
    assert seen[-1] == ("texts", 4, 4)


def test_a_run_asks_less_of_a_text_unless_told_otherwise(tmp_path, demo):
    data, cost = tmp_path / "data.jsonl", {}
    text = "the film was good and the plot was not as thin as they had said it would be"
    data.write_text(f"{json.dumps({'text': text})}\n" * 2)
    for name, options in {
        "usual": {},
        "light": {"effort": "light"},
        "own": {"effort": "normal"},
        "object": {"method": piste.Context()},
    }.items():
        piste.run(data, demo, tmp_path / name, limit=2, **options)
        (texts,) = shards.read(tmp_path / name, shards.TEXTS, ["tokens"])
        cost[name] = sum(texts["tokens"])
    assert cost["usual"] == cost["light"] < cost["own"] == cost["object"]
    assert json.loads((tmp_path / "usual" / "manifest.json").read_text())["effort"] == "light"
