"""Checks that take minutes: `make test-slow`."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import piste
from piste.design import short
from piste.models.query import Query
from piste.ragged import Ragged
from piste.surrogates.gauss_newton import fit_gauss_newton
from piste.surrogates.sgd import fit_sgd
from piste.surrogates.slalom import count_matrix
from tests.surrogates.test_slalom import random_model

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
IMDB = ROOT.parent / "shared" / "data" / "imdb"


def reviews(name: str, count: int) -> list[dict]:
    if not (IMDB / name).exists():
        pytest.skip("the IMDB reviews are not here")
    with gzip.open(IMDB / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(count), lines, strict=False)]


def test_the_embedded_model_is_as_good_as_its_card_says():
    rows = reviews("test.jsonl.gz", 4000)
    classifier = piste.load()
    encoded = [classifier.encode(row["text"].replace("<br />", " ")) for row in rows]
    query = Query(classifier, encoded[0].frame)
    guesses = query.logits(Ragged.of([e.ids for e in encoded])).argmax(axis=1)
    accuracy = np.mean(guesses == [row["label"] for row in rows])
    assert accuracy > 0.875  # the card: 88.8 % of 20,000; this is within two standard errors


def test_the_training_script_makes_a_model_that_loads(tmp_path):
    rows = reviews("train.jsonl.gz", 400)
    source = tmp_path / "reviews.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, str(ROOT / "scripts" / "train_demo.py"), str(source)]
    options = ["--out", str(tmp_path / "model"), "--epochs", "1", "--held-out", "50"]
    subprocess.run([*command, *options], check=True)
    assert piste.load(tmp_path / "model").labels == ("negative", "positive")


def test_gauss_newton_is_no_worse_than_the_papers_sgd_at_its_own_size():
    """200 players, 5,000 short samples, 60 epochs."""
    true = random_model(200)
    rng = np.random.default_rng(0)
    counts = count_matrix(short(rng, 200, 5000), np.arange(200), 200)
    margins = true.predict(counts) + 0.1 * rng.normal(size=(5000, 1))
    _, ours, _ = fit_gauss_newton(counts, margins)
    _, theirs = fit_sgd(counts, margins)
    assert ours.loss <= theirs.loss
