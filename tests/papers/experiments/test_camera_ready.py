"""What the camera-ready adds: both SLALOMs, time by samples, a model behind an API."""

import math
from dataclasses import replace

import numpy as np
import pytest

import piste
from papers.experiments import camera_ready, runtime, table11
from papers.experiments.loopback import LABELS, PROMPT, answer, serving
from piste.runs import Evaluation
from tests.planted import PlantedSlalom

PLANTED = PlantedSlalom(6)


def test_every_column_but_lrp_is_a_view():
    views = {view.name: view for view in camera_ready.views(50)}
    assert (*views, "LRP") == camera_ready.COLUMNS
    assert views["fidel lin"].method.deletions == 50
    assert (views["eff s"].method.samples, views["eff s"].score) == (50, "importance")


def test_a_table_has_ours_and_both_versions():
    views = [view.name for view in camera_ready.views(50)]
    rows = [
        {"index": n, "id": str(n), "values": {
            view: {"deletion": 0.9 if view.startswith("fidel lin") else 0.5} for view in views
        }}
        for n in range(9)
    ]  # fmt: skip
    judged = Evaluation(tuple(views), ("deletion",), rows)
    table = camera_ready._table("deletion", judged)
    by_row = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert by_row["ours"]["fidel lin"] == "0.900 [0.900, 0.900]"
    assert by_row["ours"]["LRP"] == "not run"
    assert by_row["v1, BERT"]["eff lin"] == "0.944"
    assert by_row["camera-ready, BERT"]["eff lin"] == "0.863"
    said = camera_ready.findings({"deletion": judged})
    assert "fidel lin better than eff lin by 0.400 [0.400, 0.400]; no difference" in said[0]
    assert said[0].endswith("between eff lin and LIME, SHAP, slalom, context.")


def timing(name, samples, seconds):
    return table11.Timing(name, samples, seconds, 0.0, 10, 100, 1)


def test_fidel_is_timed_with_as_many_samples():
    timed = {(one.name, one.samples): one for one in runtime.contenders((40, 80))}
    assert len(timed) == 8
    fidel = timed["SLALOM-fidel", 80]
    assert fidel.method.deletions == 80
    assert fidel.light.deletions == table11.WARM_UP


def test_the_order_of_times_is_compared():
    seconds = {"SHAP": 8.0, "LIME": 6.0, "SLALOM-fidel": 4.0, "SLALOM-eff": 2.0}
    timings = [timing(name, n, s * n) for name, s in seconds.items() for n in (1, 2)]
    ratios, order, *_ = runtime.findings(timings)
    assert "SHAP 4.0 (5.7)" in ratios
    assert order.endswith("as in the paper.")
    turned = [replace(t, seconds=20.0) if t.name == "SLALOM-eff" else t for t in timings]
    assert "in the paper SHAP, LIME" in runtime.findings(turned)[1]


def test_an_answer_has_the_log_odds_it_was_given():
    (entry,) = answer(1.5)["choices"][0]["logprobs"]["content"]
    odds = {token["token"]: token["logprob"] for token in entry["top_logprobs"]}
    assert odds["positive"] - odds["negative"] == pytest.approx(1.5)
    assert sum(math.exp(value) for value in odds.values()) == pytest.approx(0.98)


def test_a_model_behind_the_api_is_explained_as_it_is():
    def log_odds(text: str) -> float:
        return float(PLANTED([text])[0])

    with serving(log_odds) as url:
        remote = piste.from_endpoint(url, LABELS, PROMPT)
        found = piste.explain(PLANTED.text, remote, piste.Slalom(), target="positive", budget=60)
    direct = piste.from_function(lambda texts: np.array([log_odds(text) for text in texts]))
    expected = piste.explain(PLANTED.text, direct, piste.Slalom(), target="positive", budget=60)
    assert found.target.score == pytest.approx(log_odds(PLANTED.text), abs=1e-6)
    assert found.scores["value"] == pytest.approx(expected.scores["value"], abs=1e-3)
