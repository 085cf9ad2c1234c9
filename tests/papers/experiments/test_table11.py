"""Table 11: how times are taken and compared. No test depends on how fast this machine is."""

import gzip
import itertools
import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from papers.experiments import table11
from papers.experiments.architectures import Size, build, wordpieces
from papers.experiments.base import Context
from papers.experiments.table11 import (
    EFF,
    GRAD,
    IG,
    LIME,
    OURS,
    SHAP,
    Contender,
    Table11Settings,
    Timing,
    against_slalom,
    chosen,
    contenders,
    cut,
    findings,
    measure,
)
from piste.errors import FileError
from piste.methods import Attribution, Method
from piste.models.backends.function import from_function

TINY = Table11Settings(
    Size(layers=2, width=16, heads=2, longest=64), (40,), texts=2, vocabulary=60, tokenized=None,
    fewest=8, most=12, repeats=1, patience=1e9,
)  # fmt: skip
REVIEWS = [
    "the food was good and we came back again soon",
    "the food was bad and we never came back again here",
    "good",
    "a friendly place with good food and good service",
]


class Clock:
    """A clock that goes on by the next of the given steps with each run."""

    def __init__(self, *steps):
        self.readings = itertools.accumulate(s for step in steps for s in (0.0, step))

    def __call__(self):
        return next(self.readings)


@dataclass(frozen=True)
class Silent(Method):
    """A method that asks nothing and counts how often it ran."""

    ran: list

    def explain(self, decision, rng):
        self.ran.append(decision.players.text)
        return Attribution({"none": np.zeros(len(decision.players))}, "none", fit_seconds=0.5)


def timed(clock, texts=("one two", "three four five"), **changed):
    settings = Table11Settings(**{**vars(TINY), **changed})
    method = Silent([])
    function = from_function(lambda texts: np.array([len(text) for text in texts]))
    found = measure(function, texts, [Contender("x", method)], settings, clock=clock)
    return found[0], method.ran


def test_median_over_texts_of_medians_over_runs():
    timing, ran = timed(Clock(1.0, 9.0, 2.0, 3.0, 4.0, 3.5), repeats=3, patience=100.0)
    assert timing.seconds == pytest.approx(np.median([2.0, 3.5]))
    assert (timing.fit, timing.forwards, timing.tokens) == (0.5, 1.0, 2.5)
    assert timing.runs == 6
    assert len(ran) == 7  # the first warms up


def test_what_takes_long_is_not_repeated():
    timing, ran = timed(Clock(6.0, 1.0, 4.5), repeats=2, patience=5.0)
    assert timing.runs == 3
    assert timing.seconds == pytest.approx(np.median([6.0, (1.0 + 4.5) / 2]))
    assert ran == ["one two"] * 2 + ["three four five"] * 2


def some(name, seconds, samples=None, tokens=100.0):
    return Timing(name, samples, seconds, 0.0, 10.0, tokens, 1)


def paperlike(**seconds):
    found = {"shap": 4.0, "lime": 3.0, "ours": 0.5, "ig": 0.2, "grad": 0.1} | seconds
    return [
        some(SHAP, found["shap"], 1000, 900.0), some(LIME, found["lime"], 1000, 800.0),
        some(EFF, 2.0, 1000), some(EFF, 20.0, 10_000), some(SHAP, 30.0, 10_000),
        some(OURS, found["ours"]), some(IG, found["ig"]), some(GRAD, found["grad"]),
    ]  # fmt: skip


def test_ratios_are_to_slalom_with_as_many_samples():
    ratios = against_slalom(paperlike())
    ours = [ratio.ours for ratio in ratios]
    assert ours == pytest.approx([2.0, 1.5, 1.0, 1.0, 1.5, 0.25, 0.1, 0.05])
    theirs = [ratio.paper for ratio in ratios]
    assert theirs[5] is None
    del theirs[5]
    expected = [3.89 / 0.24, 1.55 / 0.24, 1, 1, 45.5 / 2.4, 0.05 / 0.24, 0.01 / 0.24]
    assert theirs == pytest.approx(expected)


def test_findings_follow_the_numbers():
    alike = " ".join(findings(against_slalom(paperlike())))
    assert "All are on the paper's side" in alike
    assert "SHAP sends 9.0 times SLALOM-eff's tokens" in alike
    assert "SHAP takes 1.33 times as long as LIME, in the paper 2.51" in alike
    other = " ".join(findings(against_slalom(paperlike(ig=5.0, shap=9.0))))
    assert "On the other side of SLALOM than in the paper: IG." in other
    assert "as long as LIME" not in other


def test_contenders_have_the_samples_they_are_named_for():
    found = contenders((80, 90))
    assert [each.name for each in found] == [SHAP, LIME, EFF, SHAP, LIME, EFF, OURS, IG, GRAD]
    assert [each.method.samples for each in found[:7]] == [80, 80, 80, 90, 90, 90, None]
    assert {each.light.samples for each in found[:6]} == {table11.WARM_UP}
    assert found[-1].light is found[-1].method


def test_texts_of_about_the_wanted_length():
    assert chosen(REVIEWS, TINY) == REVIEWS[:2]
    with pytest.raises(FileError):
        chosen(["good"], TINY)


def test_wordpieces_are_framed_and_split():
    tokenizer = wordpieces(REVIEWS, 60)
    ids = tokenizer("good foods")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids)[0 :: len(ids) - 1] == ["[CLS]", "[SEP]"]
    assert len(tokenizer) <= 60
    assert tokenizer.unk_token_id not in ids


def test_pretrained_weights_are_cut_to_the_layers(tmp_path):
    tokenizer = wordpieces(REVIEWS, 60)
    whole = build("bert", TINY.size, len(tokenizer))
    whole.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model, again = cut(str(tmp_path), 1)
    assert len(model.bert.encoder.layer) == 1
    weights = [m.bert.encoder.layer[0].output.dense.weight.detach() for m in (whole, model)]
    assert np.array_equal(*weights)
    assert again("good food")["input_ids"] == tokenizer("good food")["input_ids"]


def test_the_whole_table(tmp_path):
    (tmp_path / "yelp").mkdir()
    rows = "\n".join(json.dumps({"text": text, "label": 1}) for text in REVIEWS)
    for part in ("train", "test"):
        with gzip.open(tmp_path / "yelp" / f"{part}.jsonl.gz", "wt") as stream:
            stream.write(rows)
    context = Context(tmp_path / "cache", data=tmp_path)
    outcome = table11.run(context, replace(TINY, texts=1))
    (table,) = outcome.tables
    assert [row[0] for row in table.rows] == [
        "SHAP, 40 samples", "LIME, 40 samples", "SLALOM-eff, 40 samples", OURS, IG, GRAD,
    ]  # fmt: skip
    assert all(row[-1] == "1" for row in table.rows)  # one text, once
    tokens = {row[0].split(",")[0]: int(row[4].replace(",", "")) for row in table.rows}
    assert min(tokens["SHAP"], tokens["SLALOM-eff"]) > tokens["Grad"]
    assert outcome.settings["texts"] == 1
    assert "torch" in outcome.settings["backend"]
    assert list(outcome.figures) == ["ratios"]
