"""What changed from one decision to another: planted changes are recovered and add up."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piste
from piste.errors import SettingError
from piste.explain import target_of
from piste.models.protocol import Classifier
from piste.result.alignment import matched
from piste.result.comparable import decided, opposite
from tests.conftest import tiny_bert
from tests.planted import additive
from tests.render.samples import feel, sample

WEIGHTS = {"good": 2.0, "bad": -3.0, "fine": 1.0, "film": 0.25}
WORDS_OF_BERT = ("good", "bad", "superb", "terrible", "fun", "family", "know", "they")
NEAR = 1e-6


def linear(weights=None, labels=("no", "yes"), name="linear"):
    return piste.from_function(additive(weights or WEIGHTS), list(labels), name=name)


def kinds(diff):
    return [(word.kind, *diff.text_of(word)) for word in diff.words]


def test_a_changed_word_carries_what_it_is_worth():
    diff = piste.diff("a good film", "a bad film", linear())
    assert kinds(diff) == [("kept", "a", "a"), ("changed", "good", "bad"), ("kept", "film", "film")]
    assert [word.change for word in diff.words] == pytest.approx([0.0, 5.0, 0.0], abs=NEAR)
    assert diff.after.target.label == diff.before.target.label == "no"  # as predicted after it
    assert diff.decisions == ("yes", "no")
    assert diff.turned
    assert diff.headline == "The decision turns from yes to no, mainly because “good” became “bad”."


def test_marks_are_no_part_of_what_is_predicted():
    diff = piste.diff("a [[good]] film", "a [[bad]] film", linear(), marks=True)
    assert diff.after.target.label == "no"  # with its marks the word would be unknown, and say yes
    assert diff.turned
    assert ("changed", "good", "bad") in kinds(diff)


def test_added_and_removed_words():
    diff = piste.diff("a good film", "a film fine", linear(), target="yes")
    changes = {text: word.change for word, text in zip(diff.words, kinds(diff), strict=True)}
    assert changes[("removed", "good", "")] == pytest.approx(-2.0, abs=NEAR)
    assert changes[("added", "", "fine")] == pytest.approx(1.0, abs=NEAR)
    assert not diff.turned
    assert diff.headline.startswith(
        "With “good” removed and “fine” added, the decision stays yes; the log-odds of yes fall"
        " from +2.25 to +1.25"
    )
    assert "“good” was removed" in diff.headline


def test_a_phrase_that_became_another_is_one_change():
    diff = piste.diff("how many good films", "where good films", linear(), target="yes")
    assert kinds(diff)[0] == ("changed", "how many", "where")
    assert diff.words[0].before == (0, 1)
    assert diff.words[0].after == (0,)


def test_one_text_under_two_models():
    other = linear({**WEIGHTS, "good": -1.0}, name="other")
    diff = piste.diff("a good film", classifier=linear(), other=other)
    assert diff.of_models
    assert diff.decisions == ("yes", "no")
    assert diff.words[1].change == pytest.approx(3.0, abs=NEAR)
    assert diff.headline.startswith("other says no where linear says yes, mainly because “good”")


def test_the_base_of_two_models():
    shifted = piste.from_function(lambda texts: additive(WEIGHTS)(texts) + 4.0, ["no", "yes"])
    diff = piste.diff("a good film", classifier=linear(), other=shifted, target="yes")
    assert diff.base == pytest.approx(4.0, abs=NEAR)
    assert sum(word.change for word in diff.words) == pytest.approx(0.0, abs=NEAR)
    assert ", mainly because the empty text scores +4.0" in diff.headline


def test_pairs_that_appear_and_vanish():
    model = piste.from_function(feel, ["no", "yes"], name="feel")
    diff = piste.diff("the meal was good", "the meal was not good", model, target="yes")
    (pair,) = diff.pairs
    assert pair.kind == "appeared"
    assert [diff.after.players[i].text for i in pair.after] == ["not", "good"]
    assert pair.change == pytest.approx(-5.0, abs=0.1)
    back = piste.diff(diff.after, diff.before)
    assert [pair.kind for pair in back.pairs] == ["vanished"]
    assert back.pairs[0].change == pytest.approx(5.0, abs=0.1)
    assert back.change == -diff.change


def test_a_pair_of_kept_words_that_changes_between_models():
    def milder(texts):
        forgiven = [{"not", "good"} <= set(text.split()) for text in texts]
        return np.where(forgiven, 0.0, feel(texts))

    models = [
        piste.from_function(f, ["no", "yes"], name=n) for f, n in ((feel, "a"), (milder, "b"))
    ]
    diff = piste.diff("was not good", classifier=models[0], other=models[1], target="yes")
    assert [pair.kind for pair in diff.pairs] == ["changed"]
    assert diff.pairs[0].change == pytest.approx(3.5, abs=0.1)  # -1.5 instead of -5


WORDS = st.lists(
    st.sampled_from(["good", "bad", "not", "film", "a", "A", "."]), min_size=1, max_size=8
)


@settings(max_examples=40, deadline=None)
@given(WORDS, WORDS)
def test_the_changes_add_up_whatever_the_texts(before, after):
    model = piste.from_function(feel, ["no", "yes"])
    diff = piste.diff(" ".join(before), " ".join(after), model)
    assert diff.adds_up
    changes = sum(word.change for word in diff.words)
    assert changes + diff.base == pytest.approx(diff.change, abs=1e-6)
    assert abs(diff.left) < 1e-6
    assert all(word.error is not None and word.error >= 0 for word in diff.words)


@settings(max_examples=100, deadline=None)
@given(WORDS, WORDS)
def test_every_word_has_one_place(before, after):
    one, other = sample(" ".join(before) + " x"), sample(" ".join(after) + " x")
    places = matched(one.players, other.players)
    assert [i for _, old, _ in places for i in old] == list(range(len(one.players)))
    assert [i for _, _, new in places for i in new] == list(range(len(other.players)))
    assert all(old and new for kind, old, new in places if kind in ("kept", "changed"))


def test_errors_of_two_explanations_add_in_quadrature(demo):
    """Those of players of one explanation are summed: how they go together is not known."""
    text = "The plot is thin, but the acting is superb and the end is too."
    diff = piste.diff(text, text.replace("thin", "dull"), demo)
    name = diff.before.primary
    for word in diff.words:
        old = diff.before.errors[name][list(word.before)]
        new = diff.after.errors[name][list(word.after)]
        assert word.error == pytest.approx(np.hypot(old.sum(), new.sum()))
    assert max(word.error for word in diff.words) > 0


def test_equal_changes_of_equal_words_are_one_reason():
    diff = piste.diff("a good film and good music", "a bad film and bad music", linear())
    assert diff.headline.endswith("mainly because “good” became “bad” (2 times).")


def test_small_changes_of_many_words_are_not_the_main_reason():
    words = [f"w{letter}" for letter in "abcdefgh"]
    model = linear(dict.fromkeys(words, 0.4) | {"good": 0.6})
    diff = piste.diff("x", " ".join([*words, "good"]), model, target="yes")
    assert "mainly because" not in diff.headline
    assert "many small changes add up, the largest: “" in diff.headline


def test_a_single_edit_is_told_first_where_no_reason_names_it():
    """*not* is worth little here: it turns what *good* is worth."""

    def turning(texts):
        known = [{"not", "good"} & set(text.split()) for text in texts]
        return np.array(
            [3.0 * ("not" in k) + 2.0 * ("good" in k) - 8.0 * (len(k) == 2) for k in known]
        )

    model = piste.from_function(turning, ["no", "yes"])
    diff = piste.diff("a good film", "a not good film", model)
    assert diff.headline.startswith("With “not” added, the decision turns from yes to no")
    back = piste.diff("a not good film", "a good film", model)
    assert back.headline.startswith("With “not” removed, the decision turns from no to yes")
    other = piste.diff("a good film", "one good film", model)
    assert other.headline.startswith("With “one” in place of “a”, the decision stays yes")
    many = piste.diff("a good film is it", "one good movie is that", model)
    assert many.headline.startswith("The decision stays yes")


def test_neighbouring_edits_are_one():
    diff = piste.diff("a good film", "a film and then a cake", linear(), target="yes")
    assert "With “good” removed and “and then a cake” added, the decision" in diff.headline


def test_the_error_of_words_together_is_a_bound(demo):
    text = "The plot is thin, but the acting is superb and the end is too."
    diff = piste.diff(text, text.replace("thin", "dull"), demo)
    some, name = diff.words[3:9], diff.before.primary
    sums = [
        sum(ex.errors[name][list(getattr(word, side))].sum() for word in some)
        for ex, side in ((diff.before, "before"), (diff.after, "after"))
    ]
    assert diff.error_of(some) == pytest.approx(np.hypot(*sums))
    without = replace(diff, before=replace(diff.before, errors={}))
    assert without.error_of(some) is None


def texts_that_turn(model: Classifier) -> Iterator[str]:
    """Those of which all windows together say something else than the beginning by itself."""
    for one, two in product(WORDS_OF_BERT, WORDS_OF_BERT):
        text = " ".join([one] * 12 + [two] * 60)
        of_all, of_start = (
            target_of(text, model, options)
            for options in (piste.Options(long="windows"), piste.Options())
        )
        if of_all.label != of_start.label:
            yield text


def test_the_target_of_windows_is_that_of_explain(wordpiece):
    models = (
        piste.load(tiny_bert(len(wordpiece), seed), wordpiece, backend="torch")
        for seed in range(20)
    )
    cases = ((model, text) for model in models for text in texts_that_turn(model))
    tried = list(islice(cases, 2))
    assert tried
    for model, text in tried:
        diff = piste.diff("good.", text, model, method="occlusion", long="windows", unit="sentence")
        alone = piste.explain(text, model, "occlusion", long="windows", unit="sentence")
        assert diff.after.target.label == alone.target.label


def test_windows_are_not_compared_with_a_beginning(bert):
    text = " ".join(["the film was good, the acting superb."] * 20)
    windows, cut = (
        piste.explain(text, bert, "occlusion", unit="sentence", long=how, target=0)
        for how in ("windows", "truncate")
    )
    with pytest.raises(SettingError, match=r"in windows.*the beginning only"):
        piste.diff(windows, cut)
    short = piste.explain("the film was good.", bert, "occlusion", unit="sentence", target=0)
    assert piste.diff(short, windows).words


def test_scores_without_errors_or_sums(demo):
    diff = piste.diff("a good film", "a bad film", demo, method="occlusion")
    assert not diff.adds_up
    assert diff.words[1].error is None
    total = diff.left + sum(word.change for word in diff.words)
    assert total == pytest.approx(diff.change)
    assert "do not add up" in str(diff)
    weights = piste.diff("a good film", "a bad film", demo, method="attention")
    assert "no single word stands out" in weights.headline


def test_a_number_has_no_decision():
    model = piste.from_function(additive(WEIGHTS), outputs="raw")
    diff = piste.diff("a good film", "a bad film", model)
    assert diff.decisions == (None, None)
    assert not diff.turned
    assert diff.headline.startswith("The raw score of")
    assert "falls from +2.25 to −2.75" in diff.headline


def test_a_pair_of_texts():
    model = piste.from_function(feel, ["no", "yes"])
    diff = piste.diff(("good", "meal"), ("good", "not meal"), model, target="yes")
    assert ("added", "", "not") in kinds(diff)
    assert diff.adds_up


def test_labels_of_two_are_turned_round():
    model = linear()
    yes, no = piste.explain("a good film", model), piste.explain("a bad film", model)
    assert (yes.target.label, no.target.label) == ("yes", "no")
    diff = piste.diff(yes, no)
    assert diff.before.target.label == "no"
    assert diff.words[1].change == pytest.approx(5.0, abs=NEAR)
    again = opposite(diff.before)
    assert again.target == yes.target
    assert all(np.array_equal(again.scores[name], scores) for name, scores in yes.scores.items())
    assert opposite(yes).predict([1]).score == pytest.approx(-yes.predict([1]).score)


def three(texts):
    return np.array([[0.0, text.count("x"), 2 * text.count("y")] for text in texts])


def test_what_was_decided_of_three():
    model = piste.from_function(three, ["a", "b", "c"])
    explanation = piste.explain("x y z", model, target="a")
    assert decided(explanation) == "c"
    assert decided(replace(explanation, record=None)) == "not a"
    several = piste.from_function(three, ["a", "b", "c"], outputs="label-logits")
    assert decided(piste.explain("x y z", several, target="b")) == "b"
    assert decided(piste.explain("y z", several, target="a")) == "not a"
    rather = piste.explain("x y z", model, target="b", against="c")
    assert decided(rather) == "c"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unit": "token"}, "unit"),
        ({"method": "lime"}, "method"),
        ({"against": "b"}, "target"),
        ({"target": "b"}, "Explain both with target='a'"),
    ],
)
def test_what_cannot_be_compared(change, words):
    model = piste.from_function(three, ["a", "b", "c"])
    one = piste.explain("x y z", model, **{"target": "a", **change})
    with pytest.raises(SettingError, match=words):
        piste.diff(one, piste.explain("x y", model, target="a"))


@pytest.mark.parametrize(
    ("given", "more", "words"),
    [
        (("a good film",), {}, "nothing to compare"),
        (("a", "b", linear(), linear()), {}, "two texts and two models"),
        (("a", sample()), {}, "not with a text"),
        ((sample(), sample(), linear()), {}, "change nothing"),
        ((sample(), sample()), {"seed": 1}, "change nothing"),
        (("a", 3), {}, "an int"),
        (("a", "b"), {"target": "all"}, "one label"),
        (("good",), {"other": linear(labels=("x", "z"))}, "no label"),
        (("a", "b"), {"method": "lmie"}, "lime"),
        (("a", "b"), {"sede": 1}, "seed"),
        (("a good film", "a bad film"), {"spans": [(2, 6)]}, "marks=True"),
        ((("a", "b"), ("a", "c")), {"pair_spans": [(0, 1)]}, "marks=True"),
    ],
)
def test_mistakes_are_told(given, more, words):
    with pytest.raises(SettingError, match=words):
        piste.diff(*given, **more)


def test_files_are_compared_as_explanations_are(tmp_path):
    model = linear()
    texts = ("a good film", "a bad film")
    for name, text in zip("ab", texts, strict=True):
        piste.explain(text, model, target="yes").to_json(tmp_path / f"{name}.json")
    saved = [piste.Explanation.from_json(tmp_path / f"{name}.json") for name in "ab"]
    diff, direct = piste.diff(*saved), piste.diff(*texts, model, target="yes")
    assert diff.headline == direct.headline
    data = json.loads(diff.to_json())
    assert data["decisions"] == ["yes", "no"]
    assert [word["text"] for word in data["words"]] == [["a"] * 2, ["good", "bad"], ["film"] * 2]
    assert piste.Explanation.from_dict(data["after"]) == diff.after
    frame = diff.to_pandas()
    assert frame["change"].sum() + diff.base == pytest.approx(diff.change, abs=1e-6)
    assert list(frame["kind"]) == ["kept", "changed", "kept"]
