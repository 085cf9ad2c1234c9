"""The benchmark's own arithmetic, on games whose answers are planted."""

import json
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
WORDS = 5
VALUES = np.array([3.0, -2.0, 1.0, 0.5, -0.25])
PAIR = (0, 3, 4.0)  # the only two words that act together, and their interaction


class Planted:
    """Stands in for a model: a sequence is worth the sum of its words, and of the pair."""

    tokenizer = None

    def logits(self, rows, types):
        scores = []
        for row in rows:
            kept = [token - 10 for token in row if token >= 10]
            together = PAIR[2] if {PAIR[0], PAIR[1]} <= set(kept) else 0.0
            scores.append(VALUES[kept].sum() + together)
        return np.stack([np.zeros(len(rows)), np.array(scores)], axis=1)


@pytest.fixture(scope="module")
def harness():
    """The modules of benchmarks/, which are scripts and no package."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import judge
        import report
        import summary
        from contenders import base

        yield {"base": base, "judge": judge, "report": report, "summary": summary}
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.fixture
def game(harness):
    return planted_game(harness)


def planted_game(harness, absence="delete", **more):
    row = {
        "id": "1",
        "text": "ab cd ef gh ij",
        "target": 1,
        "outputs": 2,
        "raw": False,
        "words": [(3 * place, 3 * place + 2) for place in range(WORDS)],
        "ids": [[10 + place] for place in range(WORDS)],
        "segments": [0] * WORDS,
        "prefix": [1],
        "between": [],
        "suffix": [2],
        "types": [0, 0],
        "mask": 3,
        "second": None,
    }
    return harness["base"].Game(row | more, Planted(), absence)


def line_of(answer, judge):
    return {
        "scores": answer.scores.tolist(),
        "predicted": None if answer.predict is None else answer.predict(judge.parts).tolist(),
        "asked": [False] * len(judge.parts),
        "is_shapley": answer.is_shapley,
        "pairs": None if answer.pairs is None else answer.pairs.tolist(),
        "near": answer.near,
    }


def worth(mask):
    return float(VALUES[mask].sum() + PAIR[2] * (mask[PAIR[0]] and mask[PAIR[1]]))


def by_all_orders():
    """Shapley values by their definition."""
    orders, values = list(permutations(range(WORDS))), np.zeros(WORDS)
    for order in orders:
        mask = np.zeros(WORDS, dtype=bool)
        for word in order:
            before = worth(mask)
            mask[word] = True
            values[word] += worth(mask) - before
    return values / len(orders)


@pytest.mark.parametrize("absence", ["delete", "mask"])
def test_a_game_answers_and_counts_each_part_once(harness, absence):
    game = planted_game(harness, absence)
    masks = np.array([[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0]])
    assert game(masks).tolist() == [1.0, 0.0, 1.0]
    assert game.tokens == (4 + 2 if absence == "delete" else 7 + 7)
    game.begin()
    assert game(masks[:1]).tolist() == [1.0]  # known, and paid for again
    assert game.passes == pytest.approx((4 if absence == "delete" else 7) / 7)
    assert game.was_asked(masks[:2] > 0).tolist() == [True, False]


def test_the_second_text_of_a_pair_keeps_its_type(harness):
    more = {"segments": [0, 0, 0, 1, 1], "between": [2], "types": [0, 1], "second": "gh ij"}
    game = planted_game(harness, "mask", **more)
    ids, kinds = game._sequence(np.array([True, False, True, False, True]))
    assert ids == [1, 10, 3, 12, 2, 3, 14, 2]
    assert kinds == [0, 0, 0, 0, 0, 1, 1, 1]


def test_the_truth_has_no_error_and_predicts_everything(harness, game):
    judge = harness["judge"].Judge(game)
    pairs = np.zeros((WORDS, WORDS))
    pairs[PAIR[0], PAIR[1]] = pairs[PAIR[1], PAIR[0]] = PAIR[2]
    truth = harness["base"].Answer(
        by_all_orders(), lambda masks: np.array([worth(m) for m in masks]), True, pairs
    )
    figures = judge.figures(line_of(truth, judge))
    assert figures["shapley"] == pytest.approx(0, abs=1e-12)
    assert figures["r2"] == figures["calibrated"] == figures["halves"] == pytest.approx(1)
    assert figures["removals"] == pytest.approx(0, abs=1e-12)
    assert figures["interactions"] == pytest.approx(1)
    assert figures["people"] is None


def test_worse_explanations_have_worse_figures(harness, game):
    judge, base = harness["judge"].Judge(game), harness["base"]
    good = judge.figures(line_of(base.additive(game, by_all_orders(), is_shapley=True), judge))
    bad = judge.figures(line_of(base.additive(game, -by_all_orders(), is_shapley=True), judge))
    assert bad["shapley"] == pytest.approx(2)
    assert good["r2"] > max(bad["r2"], 0)
    assert good["r2"] <= good["calibrated"] < 1  # an additive surrogate cannot know the pair
    assert good["deletion"] > bad["deletion"]
    assert good["insertion"] < bad["insertion"]


def test_deletion_by_hand(harness, game):
    def p(score):
        return 1 / (1 + np.exp(-score))

    judge = harness["judge"].Judge(game)
    left = [[1, 2, 3, 4], [1, 2, 4], [1, 4], [1]]  # words gone by falling score: 0, 3, 2, 4
    scores = np.array([9.0, -1.0, 2.0, 5.0, 0.0])
    expected = np.mean([p(6.25) - p(VALUES[rest].sum()) for rest in left])
    assert judge.deletion(scores) == pytest.approx(expected)


def test_parts_that_were_asked_do_not_count(harness, game):
    judge = harness["judge"].Judge(game)
    line = line_of(harness["base"].additive(game, VALUES), judge)
    line["asked"] = [True] * len(judge.parts)
    assert judge.figures(line)["r2"] is None


def test_differences_are_paired_and_point_to_the_better(harness):
    summary = harness["summary"]
    lines = [
        {
            "task": "trec",
            "absence": "delete",
            "text": str(text),
            "contender": name,
            "passes": 70,
            "spent": 70,
            "figures": {"deletion": text + gain, "insertion": text + gain},
        }
        for text in range(20)
        for name, gain in (("context", 0.5), ("lime", 0.0))
    ]
    results = summary.Results(lines[:-1])  # lime lacks the last text
    ours, theirs = (summary.Point("trec", "delete", name, 70) for name in ("context", "lime"))
    found = results.difference(ours, theirs, "deletion")
    assert (found.value, found.low, found.high, found.texts) == (0.5, 0.5, 0.5, 19)
    assert results.difference(ours, theirs, "insertion").value == -0.5
    assert found.is_sure
    own = results.estimate(ours, "deletion")
    assert own.value == pytest.approx(10.0)
    assert own.low < own.value < own.high


def test_pages_keep_what_people_wrote(harness, tmp_path):
    report, page = harness["report"], tmp_path / "page.md"
    page.write_text(f"Before.\n\n{report.between('tables', 'old')}\n\nAfter.\n")
    report.fill(page, "tables", "new")
    text = page.read_text()
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
    assert "new" in text
    assert "old" not in text
    page.write_text("no markers")
    with pytest.raises(SystemExit, match="markers"):
        report.fill(page, "tables", "new")


@pytest.mark.parametrize(
    ("page", "name", "writer"),
    [
        ("README.md", "benchmark", "peers.py"),
        *(
            ("docs/findings.md", name, "lessons.py")
            for name in ("interactions", "passes", "enough")
        ),
    ],
)
def test_the_pages_have_their_markers(harness, page, name, writer):
    text = (ROOT / page).read_text("utf-8")
    assert all(text.count(marker) == 1 for marker in harness["report"].markers(name, writer))


def test_the_page_of_the_benchmark_has_a_place_for_every_game(harness, tmp_path):
    report = harness["report"]
    for text in ((ROOT / report.PAGE).read_text("utf-8"), report.blank()):
        for name in report.SECTIONS:
            assert all(text.count(marker) == 1 for marker in report.markers(name))


def test_games_that_were_not_measured_again_keep_their_tables(harness, tmp_path, monkeypatch):
    report, page = harness["report"], tmp_path / "docs" / "benchmarks.md"
    page.parent.mkdir()
    page.write_text(report.blank())
    report.fill(page, "yelp, delete", "measured last year")
    monkeypatch.setattr(report, "_facts", lambda: "facts")
    line = {
        "task": "trec",
        "absence": "delete",
        "passes": 70,
        "spent": 69.0,
        "figures": {"r2": 0.5},
    }
    lines = [line | {"text": text, "contender": c} for text in "abc" for c in ("context", "ridge")]
    report.write(lines, tmp_path, readme=True)
    text = page.read_text()
    assert "measured last year" in text
    assert "| ridge | 3 | 69.0 | 0.500 [0.500, 0.500] |" in text
    headlines = text.split(report.markers("headlines")[0])[1].split(report.markers("headlines")[1])
    assert not headlines[0].strip()  # of all their tasks or none


def test_contenders_that_ask_twice_get_more_samples(harness):
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import contender
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))

    class Repeating:
        """Half of the samples that should cost so many passes, then all of them."""

        def __init__(self):
            self.wanted = []

        def explain(self, game, settings, passes):
            self.wanted.append(passes)
            answer = harness["base"].additive(game, VALUES)
            answer.passes = 5.0 if len(self.wanted) == 1 else 9.5
            return answer

    library = Repeating()
    run = {"contender": "lime", "passes": 10}
    found = contender.line(run, planted_game(harness), library, np.ones((1, WORDS), dtype=bool))
    assert library.wanted == [10, 20]
    assert found["spent"] == 9.5


def test_answers_survive_on_disk(harness, tmp_path, game):
    base = harness["base"]
    game(np.eye(WORDS))
    base.write_answers(tmp_path / "deep" / "a.npz", game.answers)
    assert base.read_answers(tmp_path / "deep" / "a.npz") == game.answers
    (tmp_path / "torn.npz").write_bytes(b"PK")
    assert base.read_answers(tmp_path / "torn.npz") == {}
    assert base.read_answers(tmp_path / "missing.npz") == {}


def test_the_contender_process_reports_failures_as_lines(harness):
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import contender
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))

    class Library:
        def explain(self, game, settings, passes):
            if passes == 1:
                raise harness["base"].TooLittle
            if passes == 2:
                raise RuntimeError("broken")
            return harness["base"].additive(game, np.full(WORDS, np.nan if passes == 3 else 1.0))

    game, parts = planted_game(harness), np.ones((1, WORDS), dtype=bool)
    lines = [
        contender.line({"contender": "lime", "passes": passes}, game, Library(), parts)
        for passes in (1, 2, 3, 4)
    ]
    assert lines[0]["left out"] == "too few passes"
    assert "broken" in lines[1]["error"]
    assert "finite" in lines[2]["error"]
    assert lines[3]["scores"] == [1.0] * WORDS
    assert json.loads(json.dumps(lines)) == lines
