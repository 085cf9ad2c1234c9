"""A run on the hub: what is sent there, to whom it is shown, and that nothing goes unasked."""

import gzip
import io
import json
import os
import subprocess
import sys
from dataclasses import replace

import pyarrow.parquet as parquet
import pytest
import yaml

import piste
from piste.runs import shards
from piste.runs.hub import _last, lexicon_to_show
from tests.runs.fake_hub import fake_hub

TEXTS = ["A fine film.", "A dull film."]


@pytest.fixture
def hub():
    with fake_hub() as hub:
        yield hub


@pytest.fixture
def run(hub, tmp_path):
    """`piste run` as a process of its own: the hub's address is read when its library loads."""
    data = tmp_path / "secret-place" / "reviews.jsonl"
    data.parent.mkdir()
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))

    def called(*arguments, token="hf_of_a_test"):
        home = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}
        environment = {
            k: v for k, v in os.environ.items() if k not in ("HF_TOKEN", "HF_HUB_OFFLINE")
        }
        environment |= home | ({"HF_TOKEN": token} if token else {})
        command = [sys.executable, "-m", "piste", "run", str(data), "--out", str(tmp_path / "out")]
        return subprocess.run(
            [*command, "--budget", "20", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return called


def test_nothing_is_contacted_without_the_flag(hub, run, tmp_path):
    done = run()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "manifest.json").exists()
    assert hub.requests == []


def test_a_run_becomes_a_private_data_set_with_a_card(hub, run, tmp_path):
    done = run("--to-hub", "my-org/explained")
    assert done.returncode == 0, done.stderr
    assert f"Sent to {hub.url}/datasets/my-org/explained" in done.stdout
    assert hub.private == {"my-org/explained": True}
    ours = {given for path, given in hub.requests if "my-org" in path or "repos" in path}
    assert ours == {"Bearer hf_of_a_test"}
    files = hub.files["my-org/explained"]
    table = parquet.read_table(io.BytesIO(files["players/part-00000000.parquet"]))
    (kept,) = shards.read(tmp_path / "out", shards.PLAYERS)
    assert table.to_pydict() == kept
    _, metadata, page = files["README.md"].decode().split("---\n", 2)
    paths = {one["config_name"]: one["data_files"] for one in yaml.safe_load(metadata)["configs"]}
    assert paths == {"texts": "texts/*.parquet", "players": "players/*.parquet"}
    assert 'load_dataset("my-org/explained", "texts")' in page
    assert "can read the\ntexts" in page
    assert not [name for name, content in files.items() if b"secret-place" in content]
    assert json.loads(files["manifest.json"])["data"] == "reviews.jsonl"


def test_public_only_where_that_was_asked(hub, run):
    assert run("--to-hub", "my-org/open", "--public").returncode == 0
    assert hub.private == {"my-org/open": False}
    again = run("--to-hub", "my-org/open")  # it is public already: not without saying so
    assert again.returncode == 2
    assert "is public" in again.stderr
    assert "--public" in again.stderr


@pytest.mark.parametrize(
    ("repo", "token", "said"),
    [("no/such/name", "t", "owner/name"), ("my-org/x", None, "hf auth login")],
)
def test_mistakes_are_told_before_the_work(hub, run, tmp_path, repo, token, said):
    done = run("--to-hub", repo, token=token)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "out").exists()
    assert hub.requests == []


def test_a_refusal_is_told_before_the_work(hub, run, tmp_path):
    hub.refuses = True
    done = run("--to-hub", "my-org/x")
    assert done.returncode == 2
    assert "did not accept my-org/x" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_parts_of_an_earlier_run_do_not_stay(hub, run):
    old = ["texts/part-00000256.parquet", "players/part-00000256.parquet", "lexicon.json.gz"]
    theirs = [".gitattributes", "notes/part-00000256.parquet", "mine.md"]
    hub.private["my-org/explained"] = True
    hub.files["my-org/explained"] = dict.fromkeys([*old, *theirs], b"old")
    done = run("--to-hub", "my-org/explained")
    assert done.returncode == 0, done.stderr
    there = hub.files["my-org/explained"]
    assert not there.keys() & set(old)
    assert there.keys() > set(theirs)
    assert there["texts/part-00000000.parquet"] != b"old"


def test_a_run_from_memory_keeps_no_path_and_needs_no_record(hub, tmp_path):
    """Its manifest names the lexicon's file, where that of `piste run` has a digest."""
    lexicon = tmp_path / "secret-place" / "words.json.gz"
    lexicon.parent.mkdir()
    piste.build_lexicon(TEXTS, out=lexicon, effort=0.05)
    explanations = piste.explain(TEXTS, lexicon=lexicon)
    old = piste.Explanations(replace(one, record=None) for one in explanations.explained)
    for folder, made in ((tmp_path / "new", explanations), (tmp_path / "old", old)):
        made.to_parquet(folder)
        script = f"from piste.runs import to_hub; to_hub({str(folder)!r}, 'my-org/explained')"
        environment = os.environ | {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_of_a_test"}
        environment.pop("HF_HUB_OFFLINE", None)
        command = [sys.executable, "-c", script]
        subprocess.run(command, env=environment, check=True)
        files = hub.files["my-org/explained"]
        assert not [name for name, content in files.items() if b"secret-place" in content]
        assert "seed 0" in files["README.md"].decode()
    assert json.loads(files["manifest.json"])["method"] == "context"


def test_the_lexicon_keeps_no_path(tmp_path):
    told = {"model": "/home/me/secret-place/mine", "words": ["a"]}
    (tmp_path / "lexicon.json.gz").write_bytes(gzip.compress(json.dumps(told).encode()))
    shown = json.loads(gzip.decompress(lexicon_to_show(tmp_path / "lexicon.json.gz")))
    assert shown == {"model": "mine", "words": ["a"]}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("my-org/my-model", "my-org/my-model"),
        ("imdb", "imdb"),
        ("nyu-mll/glue:sst2", "nyu-mll/glue:sst2"),
        ("a list", "a list"),
        ("/home/me/model", "model"),
        ("../gone/place/model", "model"),
        ("./gone", "gone"),
        ("gone/place/model/", "model"),
        ("gone/reviews.jsonl", "reviews.jsonl"),
        ("C:\\Users\\me\\model", "model"),
    ],
)
def test_of_a_path_the_last_name_is_shown(name, shown):
    assert _last(name) == shown
