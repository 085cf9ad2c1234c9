"""Texts longer than the model reads: cut off and said so, or explained in windows."""

import dataclasses
import sys
from typing import ClassVar

import numpy as np
import pytest

import piste
from piste.errors import SettingError
from piste.result.merging import COMMON, merged, merged_fields
from piste.text.encoding import Encoding, cut, truncated, windows
from piste.text.players import split
from tests.conftest import tiny_bert

LONG = "the film was good. the plot was not bad at all! a terrible story; great fun. " * 12


def encoded(text, limit):
    words = text.split()
    starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
    spans = tuple((int(s), int(s) + len(w)) for s, w in zip(starts, words, strict=True))
    ids = tuple(range(len(words)))
    return Encoding(text, ids, spans, ids, limit=limit)


def test_a_text_that_fits_is_left_alone():
    encoding = encoded("a b c", 3)
    assert cut(encoding, "windows") == (encoding,)
    assert truncated(encoding) is encoding


@pytest.mark.parametrize("limit", [7, 20, 33, 100])
def test_windows_hold_every_token_once_and_fit(limit):
    encoding = encoded(LONG, limit)
    parts = windows(encoding)
    assert [token for part in parts for token in part.ids] == list(encoding.ids)
    assert all(0 < len(part.ids) <= limit for part in parts)


def test_windows_end_where_a_sentence_does():
    parts = windows(encoded("one two three four. five six seven. eight nine ten eleven.", 8))
    assert [part.ids[0] for part in parts] == [0, 7]


def test_without_sentences_windows_end_between_words(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")
    text = "unforgettable incomprehensible " * 30
    parts = windows(classifier.encode(text))
    words = {p.text for part in parts for p in split(part).items}
    assert words == {"unforgettable", "incomprehensible"}


def test_a_word_longer_than_a_window_is_cut_and_no_place_comes_twice(byte_level):
    from copy import deepcopy

    from tests.conftest import tiny_gpt2

    short = deepcopy(byte_level)
    short.model_max_length = 5
    classifier = piste.load(tiny_gpt2(len(byte_level)), short, backend="torch")
    text = "a good film.\n\nxyzzyxyzzyxyzzyxyzzy qqq.\n\nthe end"
    found = piste.explain(text, classifier, "occlusion", long="windows")
    places = [(player.start, player.end) for player in found.players]
    assert len(set(places)) == len(places)
    assert "".join(player.text for player in found.players) == text.replace(" ", "").replace(
        "\n", ""
    )


def test_truncation_is_said_loudly(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")
    found = piste.explain(LONG, classifier, "occlusion")
    assert "more than the model reads" in found.notes[0]
    assert "--long windows" in str(found)
    assert found.players[-1].end < len(LONG)


class Averaged:
    """A bag of words with a limit: the windows' answers are known."""

    weights: ClassVar = {"good": 2.0, "great": 1.0, "bad": -1.0, "terrible": -3.0}
    name, backend, labels, outputs = "bag", "test", ("no", "yes"), "classes"

    def __init__(self, limit):
        self.inner = piste.from_function(self.margin)
        self.limit = limit

    def margin(self, texts):
        return [sum(self.weights.get(w, 0.0) for w in self.split(text)) for text in texts]

    @staticmethod
    def split(text):
        return text.replace(".", " ").replace("!", " ").replace(";", " ").split()

    def encode(self, text):
        from dataclasses import replace

        return replace(self.inner.encode(text), limit=self.limit)

    def logits(self, ids):
        assert ids.shape[1] <= self.limit
        return self.inner.logits(ids)

    def show(self, ids):
        return self.inner.show(ids)


def test_what_is_explained_is_the_weighted_mean_of_the_windows():
    bag = Averaged(40)
    parts = windows(bag.encode(LONG))
    weights = np.array([len(part.ids) for part in parts]) / len(bag.encode(LONG).ids)
    answers = bag.margin([LONG[part.spans[0][0] : part.spans[-1][1]] for part in parts])
    found = piste.explain(LONG, bag, "occlusion", long="windows", target="yes")
    assert found.target.score == pytest.approx(weights @ answers)
    assert found.target.probability == pytest.approx(
        weights @ (1 / (1 + np.exp(-np.array(answers))))
    )
    assert len(found.players) == len(split(bag.encode(LONG)).items)


def test_a_removal_counts_with_its_windows_weight():
    bag = Averaged(40)
    found = piste.explain(LONG, bag, "occlusion", long="windows", target="yes", repeats="separate")
    parts = windows(bag.encode(LONG))
    share = len(parts[0].ids) / len(bag.encode(LONG).ids)
    good = next(i for i, p in enumerate(found.players) if p.text == "good")
    assert found.scores["removal"][good] == pytest.approx(2.0 * share)
    # The scores of all words add up to the mean of the windows' answers.
    assert found.scores["removal"].sum() == pytest.approx(found.target.score)


def test_shared_words_are_one_group_over_all_windows():
    found = piste.explain(LONG, Averaged(40), "occlusion", long="windows")
    good = [i for i, player in enumerate(found.players) if player.text == "good"]
    assert len({found.players[i].group for i in good}) == 1
    assert np.ptp(found.scores["removal"][good]) == 0
    for player in found.players:
        assert found.text[player.start : player.end] == player.text


def test_effects_and_base_add_up_to_the_score_and_belong_to_places(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")
    found = piste.explain(LONG, classifier, long="windows", effort="quick")
    assert found.primary == "effect"
    assert found.base + found.scores["effect"].sum() == pytest.approx(found.target.score, abs=1e-9)
    good = [i for i, player in enumerate(found.players) if player.text == "good"]
    assert np.ptp(found.scores["effect"][good]) > 0
    assert np.ptp(found.scores["value"][good]) == 0
    row = next(row for row in found.top(100) if row.player.text == "good")
    assert row.scores["effect"] == pytest.approx(found.scores["effect"][good].sum())
    assert piste.Explanation.from_dict(found.to_dict()) == found


def test_what_is_of_one_window_is_left_out_and_said(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")
    found = piste.explain(LONG, classifier, long="windows", effort="quick")
    assert (found.parts, found.flip, found.core, found.formula) == (None, None, None, None)
    assert any("act together" in note and "within windows only" in note for note in found.notes)
    with pytest.raises(SettingError, match="in windows does not tell which words act together"):
        found.pairs()
    with pytest.raises(SettingError, match="in windows does not tell what the model says"):
        found.predict([0])
    assert found.change([0]) == pytest.approx(found.scores["removal"][0])


def test_no_field_is_taken_from_the_first_window_unseen():
    """A new field of Explanation is either common to all windows, or merged, or left out."""
    bag = Averaged(40)
    one = piste.explain("good film", bag, "occlusion")
    fields = {field.name for field in dataclasses.fields(piste.Explanation)}
    handled = [*COMMON, *merged_fields([one, one], [0.5, 0.5])]
    assert sorted(handled) == sorted(fields)


def test_the_windows_agree_on_what_is_common():
    parts = []

    def kept(windows, weights):
        parts.extend(windows)
        return merged(windows, weights)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["piste.explain"], "merged", kept)
        piste.explain(LONG, Averaged(40), long="windows", budget=400)
    assert len(parts) > 2
    for name in COMMON:
        assert all(getattr(part, name) == getattr(parts[0], name) for part in parts), name


def test_errors_that_a_window_lacks_are_left_out():
    bag = Averaged(40)
    one = piste.explain("good film", bag, "slalom")
    other = dataclasses.replace(one, errors={"lin": one.errors["lin"]})
    assert set(merged([one, other], [0.5, 0.5]).errors) == {"lin"}


def test_slalom_in_windows_has_errors_fidelity_and_stated_weights(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")
    found = piste.explain(LONG, classifier, "slalom", long="windows", seed=3)
    assert found.errors.keys() == found.scores.keys()
    assert found.fidelity is not None
    assert found.players[-1].end == len(LONG.strip())
    note = next(note for note in found.notes if "windows" in note)
    assert "weighed by their tokens" in note
    assert piste.Explanation.from_dict(found.to_dict()) == found
    assert found.change([0]) == pytest.approx(found.scores["removal"][0])


def test_the_budget_is_shared_by_the_windows():
    bag = Averaged(40)
    found = piste.explain(LONG, bag, "slalom", long="windows", budget=400)
    assert found.budget == 400
    assert found.cost.forwards <= 400


def test_the_full_text_is_all_windows():
    bag = Averaged(40)
    found = piste.explain(LONG, bag, "occlusion", long="windows")
    frame, windows = bag.encode(LONG).frame.size, cut(bag.encode(LONG), "windows")
    assert len(windows) > 1
    assert found.cost.full_tokens == sum(len(window.ids) + frame for window in windows)
    assert found.cost.passes == found.cost.tokens / found.cost.full_tokens


def test_every_class_in_windows():
    def function(texts):
        return [[t.count("good"), t.count("bad"), 0.5] for t in texts]

    inner = piste.from_function(function, ["up", "down", "flat"])
    bag = Averaged(40)
    bag.inner, bag.labels = inner, ("up", "down", "flat")
    found = piste.explain(LONG, bag, "slalom", long="windows", target="all")
    values = [scores for name, scores in found.scores.items() if name.startswith("value")]
    assert len(values) == 3
    assert np.sum(values, axis=0) == pytest.approx(np.zeros(len(found.players)), abs=1e-6)
    assert found.target.label == "up"  # "good" comes as often as "bad", and both above 0.5
    assert found.settings["classes"] == "shared"
    assert found.settings["long"] == "windows"


def test_the_predicted_label_has_the_highest_score():
    def function(texts):
        return [[6.0, 0, 0] if "aa" in text else [0, 3.9, 3.9] for text in texts]

    bag = Averaged(4)
    bag.inner, bag.labels = piste.from_function(function, ["A", "B", "C"]), ("A", "B", "C")
    text = "aa aa aa aa bb bb bb bb bb bb bb bb"
    found = {
        label: piste.explain(text, bag, "occlusion", long="windows", target=label).target
        for label in ("predicted", "A", "B", "C")
    }
    best = max("ABC", key=lambda label: found[label].score)
    assert found["predicted"].label == best
    assert sum(found[label].probability for label in "ABC") == pytest.approx(1)


def test_value_importance_and_lin_belong_together(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")
    found = piste.explain(LONG, classifier, long="windows")
    expected = found.scores["value"] * np.exp(found.scores["importance"])
    assert found.scores["lin"] == pytest.approx(expected)


def test_attention_of_all_windows_sums_to_one(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")
    found = piste.explain(LONG, classifier, "attention", long="windows", repeats="separate")
    assert found.scores["alpha-avg"].sum() + found.frame_share == pytest.approx(1)


def test_too_small_a_budget_names_the_windows():
    with pytest.raises(SettingError, match="windows"):
        piste.explain(LONG, Averaged(40), long="windows", budget=30)


def test_many_classes_in_windows_are_refused():
    bag = Averaged(40)
    names = tuple(f"c{i}" for i in range(20))
    bag.inner = piste.from_function(lambda texts: [[len(t)] * 20 for t in texts], names)
    bag.labels = names
    with pytest.raises(SettingError, match="Name the label"):
        piste.explain(LONG, bag, long="windows", target="all")


def test_a_frame_that_fills_the_model(wordpiece):
    from copy import deepcopy

    tiny = deepcopy(wordpiece)
    tiny.model_max_length = 2
    classifier = piste.load(tiny_bert(len(wordpiece)), tiny, backend="torch")
    for long in ("windows", "truncate"):
        with pytest.raises(piste.PisteError, match="fill them"):
            piste.explain("good film", classifier, long=long)


def test_five_thousand_words_with_the_embedded_model(demo):
    words = np.array(LONG.replace(".", "").split()[:17])
    rng = np.random.default_rng(0)
    text = " ".join(rng.choice(words, 5000))
    found = piste.explain(text, demo, "gradients", long="windows")
    assert len(found.players) >= 5000
    assert np.isfinite(found.scores["grad-input"]).all()


def test_a_wrong_way_to_treat_long_texts(demo):
    with pytest.raises(SettingError, match="truncate, windows"):
        piste.explain("good", demo, long="chunks")


def with_r2(explanation, r2):
    check = explanation.fidelity.checks["parts"]
    fidelity = dataclasses.replace(
        explanation.fidelity, checks={"parts": dataclasses.replace(check, r2=r2)}
    )
    return dataclasses.replace(explanation, fidelity=fidelity)


def test_one_bad_window_of_many_does_not_condemn_all(demo):
    one = piste.explain("A superb film, but the plot is thin and the jokes are tired.", demo)
    r2s = [0.9, 0.8, -7.52, 0.95, 0.85, 0.92, 0.88, 0.91, 0.86]
    found = merged([with_r2(one, r2) for r2 in r2s], [1 / 9] * 9)
    assert found.fidelity.r2 == 0.85  # two are below: a quarter
    assert "1 window has an R² below 0.5, the lowest R² is −7.52, in window 3." in found.notes[0]
    few = merged([with_r2(one, r2) for r2 in r2s[:4]], [0.25] * 4)
    assert few.fidelity.r2 == -7.52
    assert "(25 %, 25 %, 25 %, 25 %)" in few.notes[0]
    assert "fidelity is that of the worst window" in few.notes[0]


def test_windows_that_disagree_can_be_verified(demo):
    text = "A superb and wonderful film with great acting. " * 20
    text = (text + "The plot was somewhat dull. " * 140)[:4200]
    found = piste.explain(text, demo, long="windows", effort="quick")
    verified = piste.verify(found, demo)
    assert verified.holds, str(verified)
