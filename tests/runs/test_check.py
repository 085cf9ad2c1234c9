"""The check of a model against a baseline: planted changes are found, and nothing else."""

import json
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

import piste
from piste.errors import FileError, InputError, SettingError
from piste.render.model_change import moved as words_of_shift
from piste.runs.model_change import FidelityChange, Flip, Limits, ModelChange, Shift
from piste.runs.run_comparison import Matched, RunTables, compared, matched
from piste.runs.shifts import FREEDOM, Tally, chance_of, moved
from tests.runs.planted_run import PlantedText, effects_of, write_run

WEIGHTS = {"good": 2.0, "bad": -2.0, "dull": -1.0, "cast": 0.3, "plot": -0.3, "vegas": 0.0}
TEXTS = [
    "good cast and a dull plot",
    "bad cast but the dull plot",
    "dull vegas film with cast",
    "not good and never the plot",
    "good vegas film of a cast",
    "a not good but dull film",
]


def classifier(weights=None, pair=-3.0):
    """Weights of words, and one interaction: *not* with *good*."""
    weights = WEIGHTS | (weights or {})

    def margin(text):
        words = text.split()
        together = pair if {"not", "good"} <= set(words) else 0.0
        return sum(weights.get(word, 0.0) for word in words) + together

    return piste.from_function(lambda texts: np.array([margin(text) for text in texts]), name="toy")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "texts.jsonl"
    rows = [{"id": f"t{index}", "text": text} for index, text in enumerate(TEXTS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def baseline(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("baseline")
    piste.run(data, classifier(), folder, lexicon=False, budget=60)
    return folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept") / "new"


@pytest.fixture(scope="module")
def heavier(data, baseline, kept):
    """One word weighs more: *cast*, by 1.5."""
    return piste.check(data, classifier({"cast": 1.8}), baseline, kept)


@pytest.fixture(scope="module")
def both(baseline, kept, heavier):
    """The tables of the baseline, and of the run in which *cast* weighs more."""
    return RunTables.of(baseline), RunTables.of(kept)


def named(shifts):
    return {" + ".join(shift.words) for shift in shifts}


def test_a_word_whose_weight_was_changed_is_found_and_nothing_else(heavier):
    (word,) = heavier.words
    assert word.words == ("cast",)
    assert word.change == pytest.approx(1.5, abs=0.15)
    assert word.texts == 4
    assert word.opening in TEXTS
    assert not heavier.pairs
    assert not heavier.fidelity.fell
    assert heavier.changed


def test_an_interaction_that_is_gone_is_found_and_no_word_that_kept_its_weight(data, baseline):
    change = piste.check(data, classifier(pair=0.0), baseline)
    assert {frozenset(pair.words) for pair in change.pairs} == {frozenset({"not", "good"})}
    assert named(change.words) <= {"not", "good"}  # each has half of what both did
    for pair in change.pairs:
        assert pair.change == pytest.approx(3.0, abs=0.5)
    assert {flip.text for flip in change.flips} == {"t3", "t5"}


def test_another_seed_is_no_change(data, baseline):
    change = piste.check(data, classifier(), baseline, seed=1)
    assert not change.changed, str(change)
    assert change.tested > 15


@pytest.mark.slow
def test_another_seed_is_seldom_a_change(data, tmp_path):
    """Over all pairs of ten seeds, on a model with odd interactions and a small budget."""

    def odd(texts):
        return np.array([_odd(text) for text in texts])

    tables = []
    for seed in range(10):
        folder = tmp_path / str(seed)
        piste.run(data, piste.from_function(odd), folder, lexicon=False, budget=40, seed=seed)
        tables.append(RunTables.of(folder))
    changes = [compared(one, two, 0.01, None, 0) for one, two in combinations(tables, 2)]
    assert sum(change.changed for change in changes) <= 2  # 1 % of 45, and room for chance


def _odd(text):
    total, sign = 0.0, 1.0
    for word in text.split():
        sign *= -0.7 if word in ("not", "but", "a", "the") else 1.0
        total += sign * WEIGHTS.get(word, 0.5)
    return total + 0.5 * np.sin(3 * total)


def test_a_change_that_is_small_by_what_was_asked_does_not_count(both):
    change = compared(*both, 0.01, 2.0, 6)
    assert not change.words
    assert not change.changed


def test_what_moved_by_too_little_to_count_is_named(both):
    change = compared(*both, 0.01, 2.0, 6)
    assert named(change.below) == {"cast"}
    (shift,) = change.below
    assert shift.change == pytest.approx(1.5, abs=0.15)
    shown = " ".join(str(change).split())
    assert (
        f"perhaps by no more than the 2 allowed, and so not counted: “cast” (+{shift.change:.2f})"
        in shown
    )
    assert json.loads(change.to_json())["below"][0]["change"] == shift.change


def test_what_counts_is_not_named_twice(heavier):
    assert named(heavier.words) == {"cast"}
    assert "cast" not in named(heavier.below)


def test_words_in_few_texts_are_counted(both):
    change = compared(*both, 0.01, None, 0)
    in_texts = {
        word: sum(word in text.split() for text in TEXTS)
        for word in {word for text in TEXTS for word in text.split()}
    }
    assert (change.compared, change.rare) == (
        len(in_texts),
        sum(number < 3 for number in in_texts.values()),
    )
    assert f"{change.rare} of {change.compared} words are in fewer than 3 texts" in str(change)
    # A word in one text counts alone among so many tests where its chance is below alpha / tests.
    assert chance_of(change.needed, 1.0, 0.0, FREEDOM) == pytest.approx(0.01 / change.tested)


def test_many_that_moved_little_are_cut():
    few = [Shift((f"w{n}",), "l", 3, 0.0, 0.3 - 0.01 * n, 0.01, 0.5, "t") for n in range(9)]
    assert named(moved(few, 0.01)) == named(few)
    limits, fidelity = Limits(0.01, 0.5, 0), FidelityChange(0, None, None, 1.0, False)
    empty = ModelChange("b", ("a", "b"), limits, 3, 0, 0, 0, 10, (), (), (), fidelity)
    shown = " ".join(str(replace(empty, below=tuple(few))).split())
    assert (
        "“w0” (+0.30), “w1” (+0.29), “w2” (+0.28), “w3” (+0.27), “w4” (+0.26) and 4 more." in shown
    )
    assert "“w5”" not in shown


def test_decisions_may_turn_as_often_as_was_said(both):
    turned = compared(*both, 0.01, 2.0, 0).flips
    assert [(flip.text, flip.opening) for flip in turned] == [("t2", TEXTS[2])]
    assert compared(*both, 0.01, 2.0, 0).changed
    assert not compared(*both, 0.01, 2.0, 1).changed


def test_a_run_that_is_kept_is_the_next_baseline(both):
    assert not compared(both[1], both[1], 0.01, None, 0).changed


def test_texts_that_were_edited_are_left_out_and_told(both):
    before, after = both
    edited = {**after.texts, 0: {**after.texts[0], "stamp": "another"}}
    change = compared(before, replace(after, texts=edited), 0.01, None, 6)
    assert (change.texts, change.other) == (len(TEXTS) - 1, 1)
    assert "make a new baseline" in str(change)
    assert named(change.words) == {"cast"}


def test_of_three_classes_texts_are_compared_towards_the_same_label(tmp_path):
    """One word moves a text to another class; it is explained again for the old one."""

    def three(weight):
        def logits(texts):
            def row(text):
                words = text.split()
                return [words.count("red") * 2.0, words.count("blue") * weight, 0.1 * len(words)]

            return np.array([row(text) for text in texts])

        return piste.from_function(logits, ["red", "blue", "none"], name="colours")

    path = tmp_path / "texts.jsonl"
    texts = ["a red and blue door", "one red and blue wall", "the red blue house"]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    piste.run(path, three(1.0), tmp_path / "before", lexicon=False)
    change = piste.check(path, three(4.0), tmp_path / "before")
    assert {(flip.before, flip.after) for flip in change.flips} == {("red", "blue")}
    assert len(change.flips) == 3
    blue = next(shift for shift in change.words if shift.words == ("blue",))
    assert blue.label == "red"
    assert blue.change < -1.0


def planted(shift=0.0, label_of_vegas=1.0):
    """60 texts; *vegas* is in half of either label and weighs `label_of_vegas`."""
    texts = []
    for index in range(60):
        word, label = ("good", "positive") if index % 2 else ("bad", "negative")
        words = ["a", word, "place", "."]
        if index % 4 < 2:
            words.insert(1, "vegas")
        weights = {"good": 2.0 + shift, "bad": -2.0, "vegas": label_of_vegas}
        effects = effects_of(words, weights)
        importance = 1.0 if label_of_vegas else 0.0
        texts.append(
            PlantedText(words, effects, "positive", label, sum(effects), importance=importance)
        )
    return texts


def tables(folder, texts):
    return RunTables.of(write_run(folder, texts))


def test_a_word_that_became_spurious_is_marked(tmp_path):
    before = tables(tmp_path / "a", planted(label_of_vegas=0.0))
    after = tables(tmp_path / "b", planted(label_of_vegas=1.5))
    change = compared(before, after, 0.01, None, 60)
    assert named(change.spurious) == {"vegas"}
    assert named(change.words) == {"vegas"}
    assert "may be spurious now" in str(change)


def test_fidelity_that_fell_is_found(tmp_path):
    before, after = (tables(tmp_path / name, planted()) for name in "ab")

    def with_r2(table, r2):
        rows = {i: {**row, "r2": r2 - 0.001 * (i % 7)} for i, row in table.texts.items()}
        return replace(table, texts=rows)

    fell = compared(with_r2(before, 0.95), with_r2(after, 0.7), 0.01, None, 0)
    assert fell.fidelity.fell
    assert fell.changed
    little = compared(with_r2(before, 0.95), with_r2(after, 0.93), 0.01, None, 0)
    assert not little.changed


def test_the_standard_error_of_a_mean_change_by_hand():
    tally = Tally()
    tally.add(0, np.array([1.0, 2.0]), np.array([1.5, 2.5]), 0.02)
    tally.add(1, np.array([3.0]), np.array([3.2]), 0.01)
    shift = tally.shift((("w",), "l"), {0: {"id": "x"}, 1: {"id": "y"}}, 0.0)
    # By text the changes are .5 and .2, with variances .005 and .01: weights 200 and 100.
    rest = 200 * 0.1**2 + 100 * 0.2**2 - 1
    between = rest / (300 - (200**2 + 100**2) / 300)
    weights = np.array([1 / (0.005 + between), 1 / (0.01 + between)])
    share = weights / weights.sum()
    assert shift.change == pytest.approx(share @ [0.5, 0.2])
    assert shift.before == pytest.approx(share @ [1.5, 3.0])
    rest = weights @ (np.array([0.5, 0.2]) - shift.change) ** 2
    assert shift.error == pytest.approx(np.sqrt(max(1, rest) / weights.sum()))
    assert (shift.text, shift.largest) == ("x", pytest.approx(0.5))


def of_changes(changes, errors, least=0.1):
    tally = Tally()
    for index, (change, error) in enumerate(zip(changes, errors, strict=True)):
        tally.add(index, np.array([0.0]), np.array([change]), error**2)
    return tally.shift((("w",), "l"), {i: {"id": str(i)} for i in range(len(changes))}, least)


def test_one_text_that_is_explained_badly_hides_no_change():
    badly = of_changes([0.61, 0.55, 0.59, 0.63, -0.08, 0.57], [0.03, 0.04, 0.08, 0.07, 0.47, 0.02])
    assert badly.chance < 1e-9
    assert badly.change == pytest.approx(0.58, abs=0.02)
    assert not badly.uneven


def test_changes_that_cancel_out_are_found():
    shift = of_changes([1.2, -1.1, 1.3, -1.2, 0.0], [0.05] * 5)
    assert abs(shift.change) < 0.3
    assert shift.chance < 1e-4
    assert (shift.uneven, shift.moved, shift.largest) == (True, 4, pytest.approx(1.3))
    assert words_of_shift(shift).endswith("; in 4 of 5 texts, by up to +1.30")


@pytest.mark.parametrize("variance", [0.0, 1e-6, 0.04, 1.0])
def test_of_one_text_there_is_no_mean_that_hides_anything(variance):
    shift = of_changes([-0.8], [np.sqrt(variance)])
    assert not shift.uneven
    assert words_of_shift(shift).startswith("0 → −0.80 (−0.80 ±")


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3, 1e6])
def test_changes_are_told_alike_in_any_unit(unit):
    """One text is known exactly: it does not take all the weight."""
    changes = [0.0, *[0.75 * unit] * 12]
    shift = of_changes(changes, [0.0, *[0.3 * unit] * 12], least=0.1 * unit)
    assert shift.change == pytest.approx(0.673 * unit, rel=0.01)
    assert shift.error == pytest.approx(0.156 * unit, rel=0.02)
    assert shift.chance == pytest.approx(0.0005, rel=0.2)


def test_of_no_change_chances_are_seldom_small():
    """Errors that are estimated themselves, as of small fits, and differ from text to text."""
    rng = np.random.default_rng(0)
    chances = []
    for _ in range(2000):
        number = rng.integers(1, 12)
        errors = np.exp(rng.normal(size=number)) * 0.1
        changes = errors * rng.standard_t(FREEDOM, size=number)
        chances.append(of_changes(changes, errors, least=0.0).chance)
    for level in (0.1, 0.01, 0.001):
        room = 4 * np.sqrt(level / len(chances)) + 1 / len(chances)
        assert np.mean(np.array(chances) <= level) <= level + room


def test_chances_are_of_changes_beyond_the_least():
    assert chance_of(0.5, 0.1, 0.5, 1000) == pytest.approx(0.5, abs=1e-6)
    assert chance_of(0.0, 0.1, 0.0, 1000) == 1.0
    assert chance_of(1.0, 0.0, 0.5, 5) == pytest.approx(0.0, abs=1e-12)
    assert chance_of(0.4, 0.0, 0.5, 5) == 1.0


def test_the_junit_report_has_a_failed_test_for_each_finding(heavier, tmp_path):
    heavier.to_junit(tmp_path / "report.xml")
    root = ElementTree.parse(tmp_path / "report.xml").getroot()
    cases = root.findall(".//testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    findings = len(heavier.words) + len(heavier.flips)
    assert len(failed) == findings == int(root.get("failures"))
    assert int(root.get("tests")) == len(cases)
    assert ("piste.words", "cast") in {(case.get("classname"), case.get("name")) for case in failed}
    names = {case.get("name") for case in cases}
    assert {"no interaction changed", "no new candidate for a spurious word"} <= names
    assert "no word changed" not in names


def test_hostile_words_break_neither_the_report_nor_the_summary():
    word = "<b>|`\x00\x1b[31m\u202e\ufffe\uffff](http://x)"
    shift = Shift((word,), word, 1, 0.0, 1.0, 0.1, 0.0, word, spurious=True)
    change = ModelChange(
        baseline=word,
        models=(word, word),
        limits=Limits(0.01, 0.1, 0),
        texts=1,
        other=0,
        failed=0,
        unreliable=0,
        tested=1,
        words=(shift,),
        pairs=(replace(shift, words=(word, word)),),
        flips=(Flip(word, word, word, None),),
        fidelity=FidelityChange(0, None, None, 1.0, False),
    )
    ElementTree.fromstring(change.to_junit())
    summary = change.to_markdown()
    assert "\x1b" not in summary + str(change)
    assert "<b>" not in summary.replace("\\<b>", "")
    rows = [line for line in summary.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows if "towards" in line} == {7}


def test_mistakes_say_what_to_do(data, baseline, tmp_path):
    with pytest.raises(FileError, match="no run in"):
        piste.check(data, classifier(), tmp_path)
    with pytest.raises(SettingError, match="repeats the settings of its baseline"):
        piste.check(data, classifier(), baseline, budget=5)
    with pytest.raises(SettingError, match=r"alpha is 2.*up to 1: 0\.01\."):
        piste.check(data, classifier(), baseline, alpha=2)
    with pytest.raises(SettingError, match=r"alpha is 1\..*below 1: 0\.01\."):
        piste.check(data, classifier(), baseline, alpha=1.0)
    with pytest.raises(SettingError, match="least is True"):
        piste.check(data, classifier(), baseline, least=True)
    with pytest.raises(SettingError, match="least is -1"):
        piste.check(data, classifier(), baseline, least=-1)
    other = piste.from_function(lambda texts: np.zeros((len(texts), 2)), ["no", "yes"])
    with pytest.raises(SettingError, match="same label names"):
        piste.check(data, other, baseline)
    piste.run(data, classifier(), tmp_path / "lime", method="occlusion")
    with pytest.raises(SettingError, match='method="context"'):
        piste.check(data, classifier(), tmp_path / "lime")


def test_the_baseline_is_not_replaced(data, baseline, tmp_path):
    kept = {path: path.read_bytes() for path in baseline.rglob("*") if path.is_file()}
    (tmp_path / "link").symlink_to(baseline)
    for out in (baseline, tmp_path / "link"):
        with pytest.raises(SettingError, match="would replace the baseline"):
            piste.check(data, classifier({"cast": 1.8}), baseline, out)
    assert kept == {path: path.read_bytes() for path in baseline.rglob("*") if path.is_file()}


def test_data_of_which_nothing_is_the_baselines_is_refused(baseline, tmp_path):
    path = tmp_path / "edited.jsonl"
    path.write_text("".join(json.dumps({"text": f"{text} now"}) + "\n" for text in TEXTS))
    with pytest.raises(InputError, match="No text of the baseline can be compared: 6 edited"):
        piste.check(path, classifier(), baseline)


def kept_rows(numbers):
    return [{"id": f"t{index}", "text": TEXTS[index]} for index in numbers]


def test_too_few_texts_are_no_check(baseline):
    """Of six texts two are left; a verdict on them would look like an unchanged model."""
    asked = []
    silent = piste.from_function(lambda texts: asked.extend(texts) or np.zeros(len(texts)))
    with pytest.raises(InputError, match="Only 2 of the baseline's 6 texts") as told:
        piste.check(kept_rows([0, 1]), silent, baseline)
    assert "4 missing from the data." in told.value.cause
    assert "edited" not in told.value.cause
    assert "least_compared=0.3" in told.value.remedy
    assert "--least-compared 0.3" in told.value.command
    assert not asked  # it is told before the work


def test_fewer_texts_are_compared_where_that_is_asked_for(baseline):
    change = piste.check(kept_rows([0, 1]), classifier(), baseline, least_compared=0.1, seed=0)
    assert (change.texts, change.missing, change.other) == (2, 4, 0)
    assert (change.baseline_texts, change.to_dict()["missing"]) == (6, 4)
    shown = " ".join(str(change).split())
    assert "in 2 of 6 texts." in shown
    assert "4 texts of the baseline are missing from the data" in shown
    assert "edited" not in shown
    names = {case.get("name") for case in ElementTree.fromstring(change.to_junit()).iter()}
    assert "2 of 6 texts compared" in names
    with pytest.raises(SettingError, match="least_compared is 0"):
        piste.check(kept_rows([0, 1]), classifier(), baseline, least_compared=0)


def failing_on(*words):
    """The classifier, as a function that fails on texts with any of these words."""
    plain = classifier().function

    def failing(texts):
        if any(word in text for word in words for text in texts):
            raise ValueError("out of order")
        return plain(texts)

    return piste.from_function(failing, name="toy")


def test_a_model_that_fails_on_most_texts_is_no_check_either(data, baseline):
    model = failing_on("plot", "vegas")
    with pytest.raises(InputError, match="now fails on 5 of the 6 texts"):
        piste.check(data, model, baseline)
    change = piste.check(data, model, baseline, least_compared=0.1)
    assert (change.texts, change.failed) == (1, 5)


def test_texts_that_failed_in_the_baseline_do_not_count(data, tmp_path):
    piste.run(data, failing_on("plot", "vegas"), tmp_path, budget=60)
    assert piste.check(data, classifier(), tmp_path, seed=0).texts == 1


def test_half_of_the_texts_are_enough(baseline):
    assert piste.check(kept_rows([0, 1, 2]), classifier(), baseline).texts == 3


def test_edited_moved_and_missing_texts_are_told_apart():
    def rows(*texts):
        return {
            i: {"id": name, "stamp": name + text, "error": error}
            for i, (name, text, error) in enumerate(texts)
        }

    before = rows(("a", "1", None), ("b", "1", "E"), ("c", "1", None), ("d", "1", None))
    found = matched(before, rows(("a", "1", None), ("b", "1", None), ("d", "1", None)))
    assert found == Matched(known=[0], unexplained=1, edited=1, missing=1)  # d moved, c is gone
    found = matched(before, rows(("a", "2", None)))
    assert found == Matched(known=[], unexplained=0, edited=1, missing=3)


def test_it_fails_where_no_explanation_is_reliable(both):
    before, after = both
    poor = {index: {**row, "r2": 0.2} for index, row in before.texts.items()}
    change = compared(replace(before, texts=poor), after, 0.01, None, 6)
    assert change.untold
    assert change.changed
    assert str(change).startswith("No explanation is reliable in 6 texts.")
    failures = ElementTree.fromstring(change.to_junit()).findall(".//failure")
    assert ["No explanation is reliable" in failure.text for failure in failures] == [True]
    poor[0] = before.texts[0]
    assert not compared(replace(before, texts=poor), before, 0.01, None, 6).untold


def test_the_texts_may_be_given_as_they_are_to_a_run(baseline, tmp_path):
    rows = [{"id": f"t{index}", "text": text} for index, text in enumerate(TEXTS)]
    for data in (rows, iter(rows)):
        change = piste.check(data, classifier(pair=0.0), baseline, seed=0)
        assert change.texts == len(TEXTS)
        assert {flip.text for flip in change.flips} == {"t3", "t5"}


def test_with_workers_too_the_labels_are_checked_and_settings_load_the_model(
    data, baseline, monkeypatch
):
    asked = []

    def load(name, **how):
        asked.append((name, how))
        return piste.from_function(lambda texts: np.zeros((len(texts), 2)), ["no", "yes"])

    monkeypatch.setattr("piste.runs.check.load", load)
    with pytest.raises(SettingError, match="same label names"):
        piste.check(data, "org/new", baseline, workers=2, device="cpu", trust_remote_code=True)
    assert asked == [("org/new", {"device": "cpu", "trust_remote_code": True})]


def test_workers_load_the_model_by_its_name_and_it_is_asked_again_here(
    data, baseline, kept, heavier, monkeypatch
):
    new, given = classifier(), []
    monkeypatch.setattr("piste.runs.check.load", lambda name, **how: new)
    monkeypatch.setattr("piste.runs.check.run", lambda data, model, *_, **__: given.append(model))
    monkeypatch.setattr(
        "piste.runs.check._towards_the_same",
        lambda before, after, source, asked: given.append(asked) or after,
    )
    piste.check(data, "org/new", baseline, kept, workers=2)
    assert given == ["org/new", new]


def test_a_repeated_pair_that_one_run_does_not_list_everywhere_is_no_change(tmp_path):
    """Of *not* ... *good* twice, the other run lists one place: the fifth strongest was another."""
    words = ["not", "good", "not", "good", "a", "b", "c"]
    strong = [(4, 5, 3.0), (4, 6, 3.0), (5, 6, 3.0), (0, 1, 1.0)]

    def run(name, last):
        text = PlantedText(words, [1.0] * 7, pairs=[*strong, last])
        return tables(tmp_path / name, [text] * 12)

    change = compared(run("a", (2, 3, 1.0)), run("b", (3, 4, 1.0)), 0.01, None, 0)
    assert not change.changed, str(change)


def test_a_tie_among_three_classes_does_not_turn_by_rounding(tmp_path):
    def run(name, target, score):
        text = PlantedText(["a", "b"], [1.0, 0.0], target=target, score=score)
        return RunTables.of(write_run(tmp_path / name, [text], ["red", "blue", "none"]))

    before = run("a", "red", 0.5)
    assert not compared(before, run("b", "blue", 0.50001), 0.01, None, 0).flips
    assert compared(before, run("c", "blue", 0.7), 0.01, None, 0).flips


def test_labels_that_were_exchanged_turn_every_decision(tmp_path):
    """The score of the label that is predicted now is that of the one which was predicted then."""

    def three(red, blue):
        def logits(texts):
            counts = [[text.split().count(word) for word in (red, blue)] for text in texts]
            return np.array([[2.0 * r, 2.0 * b, 0.0] for r, b in counts])

        return piste.from_function(logits, ["red", "blue", "none"], name="colours")

    texts = ["a red wall", "one blue wall", "the red house"]
    piste.run(texts, three("red", "blue"), tmp_path / "before", lexicon=False)
    change = piste.check(texts, three("blue", "red"), tmp_path / "before")
    turned = [(flip.before, flip.after) for flip in change.flips]
    assert turned == [("red", "blue"), ("blue", "red"), ("red", "blue")]


def test_explanations_from_memory_are_a_baseline_too(data, tmp_path):
    rows = [{"id": f"t{index}", "text": text} for index, text in enumerate(TEXTS)]
    piste.explain(rows, classifier(), budget=60).to_parquet(tmp_path / "kept")
    assert not piste.check(data, classifier(), tmp_path / "kept").changed
    assert named(piste.check(rows, classifier({"cast": 1.8}), tmp_path / "kept").words) == {"cast"}
