"""A data set, several methods, figures: planted answers, nothing lost, nothing twice."""

import io
import json
import subprocess
import sys
import time

import numpy as np
import pytest

import piste
from piste.errors import FileError, SettingError
from piste.metrics import METRICS
from piste.render.evaluation import deletion_figure, show, write
from piste.runs.evaluate import Evaluation, evaluate
from piste.runs.evaluate_text import View
from piste.runs.statistics import Difference, as_csv, costs, differences, interval, means, table
from piste.runs.store import Store
from tests.planted import additive

TEXTS = [
    "The plot is thin but the acting is superb.",
    "A dull film with a weak end and tired jokes.",
    "Simply beautiful, warm and funny from first to last.",
]
EXAMPLES = [piste.Example(f"t{index}", text) for index, text in enumerate(TEXTS)]
QUICK = ("occlusion", "gradients")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    rows = [{"id": example.id, "text": example.text} for example in EXAMPLES]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_planted_linear_model_is_explained_without_error_by_occlusion():
    rng = np.random.default_rng(0)
    weights = {f"w{index}": float(value) for index, value in enumerate(rng.normal(size=10))}
    classifier = piste.from_function(additive(weights))
    examples = [piste.Example(str(i), " ".join(rng.permutation(list(weights)))) for i in range(3)]
    found = evaluate(
        examples, classifier, ["occlusion"], ["removal-error", "leave-one-out"], target="positive"
    )
    assert found.values("occlusion", "removal-error") == pytest.approx(0, abs=1e-9)
    assert found.values("occlusion", "leave-one-out") == pytest.approx(1)
    assert "leave-one-out ↑  1.000" in str(found)


def test_every_metric_can_be_measured_at_once(demo, data):
    train = data.parent / "train.jsonl"
    train.write_text('{"text": "superb warm", "label": 1}\n{"text": "dull weak", "label": 0}\n')
    marked = [
        piste.Example("a", TEXTS[0], words=("plot", "thin", "superb"), maps=((0, 1, 1), (0, 1, 1)))
    ]
    found = evaluate(marked, demo, ["occlusion"], list(METRICS), train=train)
    (row,) = found.rows
    assert {name for name, value in row["values"]["occlusion"].items() if value is None} == set()
    assert row["values"]["occlusion"]["stability"] == pytest.approx(1)  # nothing is random
    assert row["values"]["occlusion"]["randomisation"] < 1


def test_views_share_an_explanation_and_rank_by_their_score(demo):
    found = evaluate(EXAMPLES[:1], demo, ["slalom", "slalom:value"], ["deletion"])
    spent = found.rows[0]["cost"]
    assert spent["slalom"] == spent["slalom:value"]  # seconds included: it ran once
    with pytest.raises(SettingError, match="no method 'slalum'"):
        View.of("slalum:value")
    failed = evaluate(EXAMPLES[:1], demo, ["occlusion:valu"], ["deletion"]).failures()
    assert "There is no score 'valu'" in failed[0][2]


def test_the_cost_in_forward_passes_of_the_full_text(demo):
    """Rows of 0.1 have the length of the text under another name, and are read as well."""
    found = evaluate(EXAMPLES[:2], demo, ["occlusion"], ["deletion"])
    spent = [row["cost"]["occlusion"] for row in found.rows]
    expected = np.median([cost["tokens"] / cost["full_tokens"] for cost in spent])
    assert costs(found)["occlusion"].passes == pytest.approx(expected)
    assert table(found)[0][-2] == "passes"
    for cost in spent:
        cost["text"] = cost.pop("full_tokens")
    assert costs(found)["occlusion"].passes == pytest.approx(expected)


def test_what_fails_is_listed_and_the_rest_goes_on():
    classifier = piste.from_function(additive({"good": 1.0}))
    examples = [piste.Example("ok", "good film"), piste.Example("empty", "  "),
                piste.Example("odd", "", problem="holds a int")]  # fmt: skip
    found = evaluate(examples, classifier, ["occlusion", "gradients"], ["deletion"])
    failed = {(text, method) for text, method, _ in found.failures()}
    assert failed == {("ok", "gradients"), ("empty", "all"), ("odd", "all")}
    assert len(found.rows) == 3
    assert table(found)[1][-1] == "1"  # texts on which occlusion ran


def test_it_goes_on_where_it_was(demo, data, tmp_path):
    out = tmp_path / "out"
    evaluate(data, demo, QUICK, ["deletion"], out=out, limit=2)
    seen = []
    again = evaluate(data, demo, QUICK, ["deletion"], out=out, watch=lambda *n: seen.append(n))
    assert [row["id"] for row in again.rows] == ["t0", "t1", "t2"]
    assert len((out / "rows.jsonl").read_text().splitlines()) == 3
    fresh = evaluate(data, demo, QUICK, ["deletion"])
    assert table(again) == table(fresh)


def test_a_row_that_was_cut_short_is_made_again(demo, data, tmp_path):
    out = tmp_path / "out"
    whole = evaluate(data, demo, QUICK, ["deletion"], out=out)
    lines = (out / "rows.jsonl").read_text().splitlines()
    (out / "rows.jsonl").write_text("\n".join([lines[0], lines[1][:40]]))
    again = evaluate(data, demo, QUICK, ["deletion"], out=out)
    assert table(again) == table(whole)
    assert [row["index"] for row in Store(out).rows()] == [0, 1, 2]


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"metrics": ["insertion"]}, {"methods": ["lime"]}, {"unit": "token"}]
)
def test_other_settings_do_not_mix(demo, data, tmp_path, change):
    settings = {"methods": ["occlusion"], "metrics": ["deletion"], "out": tmp_path / "out"}
    evaluate(data, demo, limit=1, **settings)
    with pytest.raises(SettingError, match="were made with"):
        evaluate(data, demo, limit=1, **(settings | change))


def test_another_model_does_not_mix(demo, bert, data, tmp_path):
    evaluate(data, demo, ["occlusion"], ["deletion"], out=tmp_path / "out", limit=1)
    with pytest.raises(SettingError, match="Give another folder"):
        evaluate(data, bert, ["occlusion"], ["deletion"], out=tmp_path / "out", limit=1)


def test_a_folder_that_cannot_be(demo, data, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="Choose another folder"):
        evaluate(data, demo, ["occlusion"], ["deletion"], out=tmp_path / "file")


def test_killed_and_started_again_gives_the_same_table(data, tmp_path):
    rows = [{"id": str(n), "text": f"{TEXTS[n % 3]} Part {n}."} for n in range(12)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["evaluate", str(data), "--methods", "occlusion,slalom", "--metrics", "deletion"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-m", "piste", *arguments, "--out"]
    subprocess.run([*command, whole], check=True, capture_output=True)
    process = subprocess.Popen(
        [*command, killed], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not (killed / "rows.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert not (killed / "table.md").exists()
    subprocess.run([*command, killed], check=True, capture_output=True)
    for name in ("table.md", "table.csv", "pairs.csv"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()


def made_up(one: list[float], other: list[float]) -> Evaluation:
    rows = [
        {"index": i, "id": str(i), "values": {"a": {"deletion": x}, "b": {"deletion": y}}}
        for i, (x, y) in enumerate(zip(one, other, strict=True))
    ]
    return Evaluation(("a", "b"), ("deletion",), rows)


def test_better_is_said_only_where_the_paired_interval_says_so():
    rng = np.random.default_rng(0)
    texts = rng.normal(size=40)  # texts differ far more than methods do
    apart = made_up(list(texts + 0.1), list(texts + rng.normal(scale=0.01, size=40)))
    (found,) = differences(apart)
    assert found.better == "a"
    assert "a better than b by 0.09" in str(found)
    alike = made_up(list(texts), list(texts + rng.normal(scale=0.5, size=40)))
    assert differences(alike)[0].better is None
    assert differences(made_up([1.0] * 4, [0.0] * 4))[0].better is None  # too few to say


def test_lower_is_better_for_some():
    low = Difference("insertion", "a", "b", interval(np.full(20, -0.3)))
    assert low.better == "a"
    assert "a better than b by 0.300 [0.300, 0.300]" in str(low)


def test_intervals_cover_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(0)
    inside = 0
    for seed in range(200):
        found = interval(rng.exponential(size=40), seed)
        inside += found.low <= 1.0 <= found.high
    assert 0.88 <= inside / 200 <= 0.98


def test_missing_values_are_left_out():
    found = means(made_up([1.0, None, 3.0], [None, None, None]))
    assert found["a"]["deletion"].mean == pytest.approx(2.0)
    assert found["a"]["deletion"].texts == 2
    assert str(found["b"]["deletion"]) == "-"


def test_cells_are_no_formulas():
    assert as_csv([["=1+1", "@x", -2.0, "fine"]]) == "'=1+1,'@x,-2.0,fine\n"


def test_what_is_written_and_shown(demo, tmp_path):
    examples = [*EXAMPLES, piste.Example("\x1b[31m=cmd()", " ")]
    found = evaluate(examples, demo, QUICK, ["deletion", "removal-error"])
    paths = write(found, tmp_path / "out")
    names = {path.name for path in paths}
    assert names == {"table.md", "table.csv", "pairs.csv", "costs.csv", "failures.csv",
                     "curves.png"}  # fmt: skip
    page = (tmp_path / "out" / "table.md").read_text()
    assert "| occlusion | 0." in page
    assert "4 texts, 1 failure (" in page
    from rich.console import Console

    console = Console(width=120, record=True, file=io.StringIO())
    show(found, console)
    shown = console.export_text()
    assert "Fewer than 8 texts" in shown
    assert "\x1b[31m" not in shown
    assert len(deletion_figure(found).axes[0].lines) == 2


def test_mistakes_are_said_before_the_work(demo):
    with pytest.raises(SettingError, match="Did you mean 'deletion'"):
        evaluate(EXAMPLES, demo, QUICK, ["delition"])
    with pytest.raises(SettingError, match="given twice"):
        evaluate(EXAMPLES, demo, ["lime", "lime"], ["deletion"])
    with pytest.raises(SettingError, match="methods is 'lime', not a list"):
        evaluate(EXAMPLES, demo, "lime", ["deletion"])
    classifier = piste.from_function(additive({}))
    with pytest.raises(SettingError, match="redrawn"):
        evaluate(EXAMPLES, classifier, ["lime"], ["randomisation"])


def test_changed_texts_and_failures_are_made_again(tmp_path):
    calls = []

    def moody(texts: list[str]) -> np.ndarray:
        calls.append(texts)
        if any("boom" in text for text in texts) and moody.broken:
            raise ValueError("out of order")
        return additive({"good": 1.0, "bad": -1.0})(texts)

    moody.broken = True
    classifier = piste.from_function(moody)

    def run(*texts):
        examples = [piste.Example(str(n), text) for n, text in enumerate(texts)]
        return evaluate(examples, classifier, ["occlusion"], ["deletion"], out=tmp_path / "out")

    first = run("good x y", "boom x y")
    ((text, _, reason),) = first.failures()
    assert text == "1"
    assert "'moody' failed (ValueError: out of order)" in reason
    moody.broken = False
    assert not run("good x y", "boom x y").failures()  # tried again
    asked = len(calls)
    changed = run("bad x y", "boom x y")
    assert len(calls) > asked
    fresh = evaluate([piste.Example("0", "bad x y")], classifier, ["occlusion"], ["deletion"])
    assert changed.values("occlusion", "deletion")[0] == fresh.values("occlusion", "deletion")[0]
    asked = len(calls)
    run("bad x y", "boom x y")
    # The texts that the function is known by, no more: the last line of a text holds.
    assert len(calls) == asked + 3


def test_two_models_of_one_name_do_not_mix(tmp_path):
    texts = [piste.Example("0", "good x y")]
    for sign in (1.0, -1.0):
        function = additive({"good": sign, "bad": -sign})
        classifier = piste.from_function(lambda t, f=function: f(t), name="same")
        if sign > 0:
            evaluate(texts, classifier, ["occlusion"], ["deletion"], out=tmp_path / "out")
        else:
            function_of = piste.from_function(lambda t: np.array([9.0 + len(x) for x in t]))
            function_of.name = "same"
            with pytest.raises(SettingError, match="another model called 'same'"):
                evaluate(texts, function_of, ["occlusion"], ["deletion"], out=tmp_path / "out")


def test_a_typo_does_not_spoil_the_folder(demo, data, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(FileError, match="there are id, text"):
        evaluate(data, demo, ["occlusion"], ["deletion"], out=out, columns=piste.Columns("txt"))
    assert evaluate(data, demo, ["occlusion"], ["deletion"], out=out, seed=3).rows


def test_views_keep_their_own_settings():
    from piste.methods.lime import Lime

    classifier = piste.from_function(additive({f"w{n}": float(n) for n in range(6)}))
    text = [piste.Example("0", "w0 w1 w2 w3 w4 w5")]
    pair = [View("fine", Lime(samples=400)), View("rough", Lime(samples=7))]
    both = evaluate(text, classifier, pair, ["stability"])
    for view in pair:
        alone = evaluate(text, classifier, [view], ["stability"])
        assert both.values(view.name, "stability") == alone.values(view.name, "stability")
        assert (
            both.rows[0]["cost"][view.name]["forwards"]
            == (alone.rows[0]["cost"][view.name]["forwards"])
        )


def test_metrics_do_not_ask_what_methods_have_asked():
    asked: list[str] = []

    def counted(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return additive({"a": 1.0})(texts)

    found = evaluate(
        [piste.Example("0", "a b c")], piste.from_function(counted), ["occlusion"],
        ["leave-one-out"],
    )  # fmt: skip
    spent = found.rows[0]["cost"]["occlusion"]["forwards"]
    curve = 1  # of the deletion curve: one of its two points is a single removal
    again = 1  # the function is asked for one text twice, to see whether its answers are steady
    assert len(asked) <= 1 + spent + curve + again


def test_what_a_metric_lacks_is_said(demo, data):
    with pytest.raises(SettingError, match="--train"):
        evaluate(data, demo, ["occlusion"], ["naive-bayes"])
    marked = piste.Example("t1", "a fine film", words=("fine",), maps=((1,),))
    some = [piste.Example("t0", "a good film"), marked]
    found = evaluate(some, demo, ["occlusion"], ["deletion", "human-auroc"])
    assert ("t0", "human-auroc", "no human marks fit this text") in found.failures()
    with pytest.raises(piste.PisteError, match="no text"):
        evaluate([], demo, ["occlusion"], ["deletion"])
    assert evaluate(["a good film"], demo, ["occlusion"], ["deletion"]).rows[0]["id"] == "0"


def test_marks_that_no_text_has_are_missed_before_the_work(data):
    def asked(texts):
        raise AssertionError("the model was asked")

    with pytest.raises(SettingError, match="human-auroc needs words that people marked"):
        evaluate(data, piste.from_function(asked), ["occlusion"], ["deletion", "human-auroc"])


def test_pairs_that_ran_keep_their_agreement():
    classifier = piste.from_function(additive({"a": 2.0, "b": 1.0}))
    found = evaluate([piste.Example("0", "a b c")], classifier,
                     ["occlusion", "gradients", "lime"], ["deletion"])  # fmt: skip
    from piste.runs.statistics import agreements

    matrix = agreements(found)
    assert matrix[0, 2] > 0.9
    assert np.isnan(matrix[0, 1])
    assert differences(made_up([1.0] * 9, [1.0 + 1e-12] * 9))[0].better is None  # rounding
