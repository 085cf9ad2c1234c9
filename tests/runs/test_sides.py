"""Towards what a summary tells its words: labels that exclude each other, others, and contrasts."""

import numpy as np
import pytest

import piste
from piste.errors import SettingError
from piste.render.corpus import draw
from piste.render.corpus_html import drawings, packed, page
from piste.render.corpus_tables import page_tables

TEXTS = ["apple tea here", "bread tea here", "apple bread here", "milk tea here"] * 2


def two(texts):
    """ "apple" speaks for A alone, "bread" for B alone."""
    return [[-3 + 6 * ("apple" in t.split()), -3 + 4 * ("bread" in t.split())] for t in texts]


@pytest.fixture(params=["label-logits", "raw"])
def independent(request):
    """A model whose two outputs do not exclude each other."""
    return piste.from_function(two, ["A", "B"], outputs=request.param, name="two")


def effects(summary):
    return {(word.word, word.label): pytest.approx(word.effect, abs=1e-6) for word in summary.words}


def test_of_labels_that_do_not_exclude_each_other_none_is_the_others_opposite(
    independent, tmp_path
):
    piste.run([{"text": text} for text in TEXTS], independent, tmp_path / "run")
    of_texts = piste.explain(TEXTS, independent)
    of_texts.to_parquet(tmp_path / "kept")
    kept = [piste.summarise(tmp_path / name) for name in ("run", "kept")]
    for summary in (of_texts.summary(), *kept):
        assert effects(summary)["apple", "A"] == 6.0
        assert effects(summary)["bread", "B"] == 4.0
        assert effects(summary)["bread", "A"] == 0.0
        assert "speak for" not in str(summary)
        assert "towards" in str(summary)
        assert "below 0 for" not in page(summary)
        assert [drawing.label for drawing in drawings(summary)] == ["A", "B"]


def test_of_a_chosen_label_all_is_told_for_it(independent):
    summary = piste.explain(TEXTS, independent, target="A").summary()
    assert effects(summary)["apple", "A"] == 6.0
    assert effects(summary)["bread", "A"] == 0.0
    assert "scores above 0 speak for “A”" in str(summary)
    assert "towards" not in str(summary)
    assert "below 0 against" in page(summary)
    assert "for A" in draw(summary).axes[0].get_xlabel()


def test_two_classes_are_told_for_the_last():
    classes = piste.from_function(two, ["A", "B"], outputs="logits", name="two")
    summary = piste.explain(TEXTS, classes).summary()
    assert effects(summary)["apple", "B"] == -6.0
    assert effects(summary)["bread", "B"] == 4.0
    assert "scores above 0 speak for “B”" in str(summary)
    assert "Scores above 0 speak for “B”, below 0 for “A”." in page(summary)


def test_a_lexicon_of_several_labels_says_for_which_its_words_are(independent, tmp_path):
    lexicon = piste.build_lexicon(TEXTS, independent)
    summary = piste.summarise(lexicon.save(tmp_path / "words.json"))
    assert {word.label for word in summary.words} == {"A", "B"}
    assert "towards" in str(summary)
    assert "speak for" not in str(summary)


def test_a_label_is_predicted_where_its_own_score_is_above_0():
    model = piste.from_function(two, ["A", "B"], outputs="label-logits", name="two")
    rows = [{"text": text, "label": "A"} for text in ("apple tea", "milk tea", "bread tea")]
    first = piste.explain(rows, model).summary()
    assert {counts.label: counts.predicted for counts in first.classes} == {"A": 1, "B": 1}
    assert {(one.label, one.predicted) for one in first.mistakes} == {("A", "B"), ("A", "not A")}
    chosen = piste.explain(rows, model, target="B").summary()
    assert chosen.right is None  # what it says of B says nothing of A
    assert piste.explain(rows, model, target="A").summary().right == pytest.approx(1 / 3)


def test_numbers_are_neither_right_nor_wrong():
    model = piste.from_function(two, ["A", "B"], outputs="raw", name="two")
    rows = [{"text": text, "label": "A"} for text in TEXTS]
    summary = piste.explain(rows, model).summary()
    assert summary.right is None
    assert summary.classes == []


def fruit(for_a, for_b):
    """A model that scores "apple" so for A and for B."""

    def scores(texts):
        return [[for_a * ("apple" in t) - 1, for_b * ("apple" in t) - 1] for t in texts]

    return piste.from_function(scores, ["A", "B"], outputs="label-logits", name="fruit")


@pytest.mark.parametrize(
    ("after", "turned"),
    [
        ((2.5, 4.0), []),  # B comes first, and A is still above 0
        ((0.5, 2.0), [("A", "not A")] * 3),
    ],
)
def test_a_decision_on_a_label_turns_where_its_own_score_does(after, turned, tmp_path):
    texts = ["apple tea here", "one apple now", "the apple"]
    piste.run(texts, fruit(3.0, 2.0), tmp_path / "before")
    flips = piste.check(texts, fruit(*after), tmp_path / "before").flips
    assert [(flip.before, flip.after) for flip in flips] == turned


def three(texts):
    words = [text.split() for text in texts]
    return np.array([[3.0 * ("a" in w), 2.0 * ("b" in w), 1.0 * ("c" in w)] for w in words])


def test_a_contrast_is_named():
    model = piste.from_function(three, ["A", "B", "C"], outputs="logits", name="three")
    summary = piste.explain(["a b here", "a c here"], model, target="A", against="B").summary()
    assert "scores above 0 speak for “A rather than B”" in str(summary)
    assert "“A rather than B”" in page(summary)


def test_different_contrasts_are_told_apart():
    model = piste.from_function(three, ["A", "B", "C"], outputs="logits", name="three")
    summary = piste.explain(["a b here", "a c here"] * 3, model, against="runner-up").summary()
    told = effects(summary)
    assert told["b", "A rather than B"] == -2.0
    assert told["c", "A rather than C"] == -1.0
    assert ("c", "A rather than B") not in told
    assert "A rather than C" in str(summary)
    assert {drawing.number for drawing in drawings(summary)} == {0}
    assert examples_of(summary) == {("predicted A", 0)}  # the share is that between two labels


def test_models_that_only_share_a_name_have_no_summary_together():
    def of(labels, outputs="logits"):
        return piste.from_function(lambda texts: two(texts), labels, outputs=outputs)

    one = piste.explain("apple tea", of(["A", "B"]))
    for other in (of(["C", "D"]), of(["A", "B"], "label-logits")):
        both = piste.Explanations([one, piste.explain("apple tea", other)])
        with pytest.raises(SettingError, match="more than one model called <lambda>"):
            both.summary()
        assert len(both.to_pandas("texts")) == 2


def test_of_no_text_there_is_nothing_to_sum_up(tmp_path):
    model = piste.from_function(two, ["A", "B"], outputs="logits")
    found = piste.explain(TEXTS, model)
    with pytest.raises(SettingError, match="There is no text to sum up") as told:
        found[9:9].summary()
    assert told.value.remedy
    with pytest.raises(SettingError, match="There is no text to write"):
        found[9:9].to_parquet(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_explanations_of_one_model_have_a_summary_together():
    model = piste.from_function(two, ["A", "B"], outputs="logits")
    both = piste.Explanations([piste.explain(text, model) for text in TEXTS[:2]])
    assert both.summary().texts == 2


def examples_of(summary):
    """The decisions that the page tells beside its example texts, and whether they are wrong."""
    packed_rows, _ = packed(page_tables(summary, 9, 1.0), 1.0)
    return {(decision, wrong) for row in packed_rows["words"] for _, decision, wrong, _ in row}


def test_examples_tell_the_decision_with_its_own_probability():
    """Of a label that is not the explained one it is what the explained one leaves."""
    model = piste.from_function(two, ["A", "B"], outputs="label-logits", name="two")
    told = examples_of(piste.explain([{"text": "tea", "label": "B"}], model, target="A").summary())
    assert told == {("predicted not A (95 %), labelled B", 0)}
    classes = piste.from_function(two, ["A", "B"], outputs="logits", name="two")
    rows = [{"text": "bread", "label": "A"}]
    told = examples_of(piste.explain(rows, classes, target="A").summary())
    assert told == {("predicted B (98 %), labelled A", 1)}


def test_examples_say_no_prediction_that_is_not_known():
    model = piste.from_function(three, ["A", "B", "C"], outputs="logits", name="three")
    rows = [{"text": "b", "label": "B"}]
    ((decision, wrong),) = examples_of(piste.explain(rows, model, target="A").summary())
    assert decision.startswith("explained for A (")
    assert not wrong
