"""A folder that was used before: what is stale or damaged is made again, or refused."""

import json

import pyarrow.parquet as pq
import pytest

import piste
from piste.errors import FileError, SettingError
from piste.lexicon import Lexicon
from piste.runs.word_summary import summarise

TEXTS = [
    "the film was good and the plot not bad at all",
    "a terrible film with a bad plot",
    "great fun for the whole family",
    "the acting was superb, the story dull",
    "not good, not bad",
    "I don't know why they made it",
    "a dull and tired film",
    "warm, funny and never too long",
]
PLAIN = {"method": "occlusion", "shard": 3}


def written(path, texts=TEXTS):
    rows = [{"id": str(i), "text": text, "label": i % 2} for i, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def tables(folder):
    """Both tables of a run, all columns but the seconds."""
    found = []
    for kind in ("texts", "players"):
        table: dict = {}
        for part in sorted((folder / kind).glob("*.parquet")):
            for name, cells in pq.ParquetFile(part).read().to_pydict().items():
                table.setdefault(name, []).extend(cells)
        table.pop("seconds", None)
        found.append(table)
    return found


def part(folder, kind, number=0):
    return folder / kind / f"part-{number:08d}.parquet"


def edited(texts):
    return [texts[0].replace("good", "awful"), *texts[1:]]


def reordered(texts):
    return [texts[1], texts[0], *texts[2:]]


@pytest.mark.parametrize("change", [edited, reordered])
def test_a_shard_whose_rows_changed_is_made_again(tmp_path, demo, change):
    data, out = tmp_path / "data.jsonl", tmp_path / "out"
    piste.run(written(data), demo, out, **PLAIN)
    untouched = part(out, "texts", 1).stat().st_mtime_ns
    report = piste.run(written(data, change(TEXTS)), demo, out, **PLAIN)
    assert report.made == 3
    assert part(out, "texts", 1).stat().st_mtime_ns == untouched
    piste.run(data, demo, tmp_path / "fresh", **PLAIN)
    assert tables(out) == tables(tmp_path / "fresh")


def test_a_changed_label_or_id_is_a_changed_row(tmp_path, demo):
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    piste.run(data, demo, out, **PLAIN)
    for old, new in (('"label": 1', '"label": 0'), ('"id": "0"', '"id": "zero"')):
        data.write_text(data.read_text().replace(old, new, 1))
        assert piste.run(data, demo, out, **PLAIN).made == 3
    texts, players = tables(out)
    assert texts["label"][:2] == ["0", "0"]
    assert texts["id"][0] == players["id"][0] == "zero"


@pytest.mark.parametrize("kind", ["texts", "players"])
@pytest.mark.parametrize("damage", ["gone", "cut", "empty", "flipped", "another's"])
def test_a_damaged_shard_is_made_again(tmp_path, demo, kind, damage):
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    piste.run(data, demo, out, **PLAIN)
    whole, path = tables(out), part(out, kind)
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "another's":
        path.write_bytes(part(out, kind, 1).read_bytes())
    else:
        middle = len(content) // 3
        flipped = content[:middle] + bytes(255 - b for b in content[middle : middle + 9])
        flipped += content[middle + 9 :]
        path.write_bytes({"cut": content[:middle], "empty": b"", "flipped": flipped}[damage])
    assert piste.run(data, demo, out, **PLAIN).made == 3
    assert tables(out) == whole
    assert piste.run(data, demo, out, **PLAIN).made == 0


def test_an_emptied_player_table_is_made_again(tmp_path, demo):
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    piste.run(data, demo, out, **PLAIN)
    whole, path = tables(out), part(out, "players")
    table = pq.ParquetFile(path).read()
    pq.write_table(table.slice(0, 0), path)
    assert piste.run(data, demo, out, **PLAIN).made == 3
    assert tables(out) == whole


@pytest.mark.parametrize("fewer", ["rows", "limit"])
def test_fewer_texts_than_before_are_refused_and_nothing_is_lost(tmp_path, demo, fewer):
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    piste.run(data, demo, out, **PLAIN)
    whole = tables(out)
    options = dict(PLAIN)
    if fewer == "rows":
        written(data, TEXTS[:4])
    else:
        options["limit"] = 4
    with pytest.raises(SettingError, match=r"8 texts, and the data now has 4.*another folder"):
        piste.run(data, demo, out, **options)
    assert tables(out) == whole
    assert json.loads((out / "manifest.json").read_text())["ended"] == 8


def test_players_of_a_shard_that_was_not_finished_are_removed(tmp_path, demo):
    data, out = written(tmp_path / "data.jsonl", TEXTS[:3]), tmp_path / "out"
    piste.run(data, demo, out, **PLAIN)
    part(out, "players", 5).write_bytes(part(out, "players").read_bytes())
    (out / "texts" / "part-notes.parquet").write_bytes(b"somebody else's")
    assert piste.run(data, demo, out, **PLAIN).texts == 3
    assert [path.name for path in (out / "players").iterdir()] == ["part-00000000.parquet"]


def test_a_manifest_that_is_gone_is_not_made_up(tmp_path, demo):
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    piste.run(data, demo, out, **PLAIN)
    (out / "manifest.json").unlink()
    with pytest.raises(FileError, match=r"not manifest\.json.*another folder"):
        piste.run(data, demo, out, **PLAIN)
    assert not (out / "manifest.json").exists()


def test_settings_of_an_evaluation_that_are_gone_are_not_made_up(tmp_path, demo):
    data, out = written(tmp_path / "data.jsonl", TEXTS[:2]), tmp_path / "out"
    piste.evaluate(data, demo, ["occlusion"], ["deletion"], out=out)
    (out / "settings.json").unlink()
    with pytest.raises(FileError, match=r"not settings\.json"):
        piste.evaluate(data, demo, ["lime"], ["deletion"], out=out)


@pytest.mark.parametrize("verb", ["run", "evaluate"])
def test_results_of_an_older_format_are_refused(tmp_path, demo, verb):
    data, out = written(tmp_path / "data.jsonl", TEXTS[:2]), tmp_path / "out"

    def again():
        if verb == "run":
            return piste.run(data, demo, out, **PLAIN)
        return piste.evaluate(data, demo, ["occlusion"], ["deletion"], out=out)

    again()
    path = out / ("manifest.json" if verb == "run" else "settings.json")
    told = json.loads(path.read_text())
    del told["format"], told["fingerprint"]
    path.write_text(json.dumps(told | {"answer": [0.1, -0.1]}))
    with pytest.raises(FileError, match=r"format \(1\).*another folder"):
        again()


def test_settings_that_differ_by_little_differ(tmp_path, demo):
    data, out = written(tmp_path / "data.jsonl", TEXTS[:2]), tmp_path / "out"
    options = {"budget": 60}
    piste.run(data, demo, out, tolerance=0.5, **options)
    with pytest.raises(SettingError, match=r"tolerance 0\.5, not 0\.502"):
        piste.run(data, demo, out, tolerance=0.502, **options)


def test_a_summary_says_which_file_is_damaged(tmp_path, demo):
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    piste.run(data, demo, out, lexicon=True, refine=0, shard=3)
    part(out, "players", 1).unlink()
    with pytest.raises(FileError, match=r"part-00000001.*again"):
        summarise(out)


def test_a_limit_and_then_all_texts_equals_all_texts(tmp_path, demo):
    data = written(tmp_path / "data.jsonl")
    piste.run(data, demo, tmp_path / "steps", lexicon=True, refine=0, shard=3, limit=3)
    report = piste.run(data, demo, tmp_path / "steps", lexicon=True, refine=0, shard=3)
    piste.run(data, demo, tmp_path / "fresh", lexicon=True, refine=0, shard=3)
    assert report.made == len(TEXTS)
    assert tables(tmp_path / "steps") == tables(tmp_path / "fresh")


def test_an_edited_text_changes_the_lexicon_and_every_text(tmp_path, demo):
    data = written(tmp_path / "data.jsonl")
    piste.run(data, demo, tmp_path / "out", lexicon=True, refine=0, shard=3)
    written(data, edited(TEXTS))
    piste.run(data, demo, tmp_path / "out", lexicon=True, refine=0, shard=3)
    piste.run(data, demo, tmp_path / "fresh", lexicon=True, refine=0, shard=3)
    assert tables(tmp_path / "out") == tables(tmp_path / "fresh")


def test_with_a_lexicon_from_elsewhere_more_texts_leave_the_first_as_they_are(tmp_path, demo):
    data, lexicon = written(tmp_path / "data.jsonl"), tmp_path / "lexicon.json"
    piste.build_lexicon(TEXTS, demo, out=lexicon)
    piste.run(data, demo, tmp_path / "out", lexicon=lexicon, refine=0, shard=3, limit=3)
    report = piste.run(data, demo, tmp_path / "out", lexicon=lexicon, refine=0, shard=3)
    assert report.made == len(TEXTS) - 3


def test_the_same_texts_reuse_the_lexicon_and_a_damaged_one_is_built_again(tmp_path, demo):
    data, path = written(tmp_path / "data.jsonl"), tmp_path / "out" / "lexicon.json.gz"
    piste.run(data, demo, tmp_path / "out", lexicon=True, refine=0)
    before = path.stat().st_mtime_ns
    assert piste.run(data, demo, tmp_path / "out", lexicon=True, refine=0).made == 0
    assert path.stat().st_mtime_ns == before
    path.write_bytes(path.read_bytes()[:100])
    piste.run(data, demo, tmp_path / "out", lexicon=True, refine=0)
    assert Lexicon.load(path).facts["texts"] == len(TEXTS)


def test_damaged_answers_of_a_stopped_build_are_asked_again(tmp_path, demo, monkeypatch):
    monkeypatch.setattr("piste.runs.lexicon.CHUNK", 20)
    whole = piste.build_lexicon(TEXTS, demo)
    with monkeypatch.context() as patch:
        patch.setattr("piste.runs.lexicon.fitted", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            piste.build_lexicon(TEXTS, demo, out=tmp_path / "lexicon.json")
    chunks = sorted((tmp_path / "lexicon.json.answers").glob("*.npy"))
    chunks[0].write_bytes(b"")
    chunks[1].write_bytes(chunks[1].read_bytes()[:150])
    again = piste.build_lexicon(TEXTS, demo, out=tmp_path / "lexicon.json")
    assert (again.values == whole.values).all()


def test_other_training_texts_are_other_settings(tmp_path, demo):
    data, train = written(tmp_path / "data.jsonl", TEXTS[:1]), tmp_path / "train.jsonl"
    options = {"methods": ["occlusion"], "metrics": ["naive-bayes"], "train": train}
    train.write_text('{"text": "good", "label": 1}\n{"text": "bad", "label": 0}\n')
    piste.evaluate(data, demo, out=tmp_path / "out", **options)
    train.write_text('{"text": "bad", "label": 1}\n{"text": "good", "label": 0}\n')
    with pytest.raises(SettingError, match="train"):
        piste.evaluate(data, demo, out=tmp_path / "out", **options)
