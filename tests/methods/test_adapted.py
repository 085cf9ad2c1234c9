"""Results of other libraries on our players: the same scores, measured like our own."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lime.lime_text import LimeTextExplainer

import piste
from piste.methods.adapted import adapt
from piste.methods.occlusion import Occlusion
from piste.runs.statistics import costs
from piste.text.token_alignment import complete

shap = pytest.importorskip("shap")
TEXT = "The plot is thin, but the acting is superb."
WORDS = ["The", "plot", "is", "thin", ",", "but", "the", "acting", "is", "superb", "."]


def probabilities(demo):
    """The embedded model as shap and lime want it: texts in, probabilities out."""
    return lambda texts: piste.predict([str(text) for text in texts], demo)


def log_odds(demo):
    return lambda texts: piste.predict([str(text) for text in texts], demo, "log-odds")[:, 1]


def explained(method, demo, text=TEXT, **options):
    return piste.explain(text, demo, method, **options)


def scores(explanation):
    return dict(
        zip([p.text for p in explanation.players], explanation.scores["given"], strict=True)
    )


def test_words_land_on_every_occurrence(demo):
    found = explained(adapt([("superb", 2.5), ("is", -1.0)]), demo)
    assert scores(found)["superb"] == 2.5
    assert [found.scores["given"][i] for i in (2, 8)] == [-1.0, -1.0]
    assert scores(found)["acting"] == 0


@pytest.mark.parametrize("pairs", [[("good", 0.5), ("not", -0.3)], [("not", -0.3), ("good", 0.5)]])
def test_the_order_of_words_makes_no_difference(pairs, demo):
    found = explained(adapt(pairs), demo, "not good, not bad")
    assert found.scores["given"].tolist() == [-0.3, 0.5, 0, -0.3, 0]


@pytest.mark.parametrize(
    "tokens",
    [
        ["[CLS]", "the", "act", "##ing", "is", "sup", "##erb", "[SEP]"],
        ["<s>", "The", "Ġact", "ing", "Ġis", "Ġsup", "erb", "</s>"],
        ["▁The", "▁", "▁act", "ing", "▁is", "▁sup", "erb", "</s>"],
        ["The ", "acting ", "is ", "sup", "erb"],
    ],
)
def test_pieces_of_words_are_added_up(tokens, demo):
    pairs = [(token, 0.5 if token.strip("Ġ▁#") in ("sup", "erb") else 0.0) for token in tokens]
    assert scores(explained(adapt(pairs), demo, "The acting is superb"))["superb"] == 1.0


def test_letters_and_accents_may_differ(demo):
    found = explained(adapt([("naive", 1.0), ("cafe", 2.0)]), demo, "Naïve, the Café!")
    assert scores(found) == {"Naïve": 1.0, ",": 0, "the": 0, "Café": 2.0, "!": 0}


def test_letters_that_tell_words_apart_are_kept(demo):
    assert scores(explained(adapt({"사랑": 2.0}), demo, "소리 사랑 좋다"))["소리"] == 0
    voiced = scores(explained(adapt({"か": 1.0, "が": -1.0}), demo, "か が"))
    assert voiced == {"か": 1.0, "が": -1.0}
    cased = scores(explained(adapt({"US": 2.0, "us": -1.0}), demo, "US and us", repeats="separate"))
    assert cased == {"US": 2.0, "and": 0, "us": -1.0}


@pytest.mark.parametrize(
    ("text", "word", "wrong"),
    [
        ("Nothing is not good", "not", "Nothing"),
        ("Their film, the end", "the", "Their"),
        ("this film is bad", "is", "this"),
        ("goodness, a good film", "good", "goodness"),
    ],
)
def test_a_word_is_not_found_inside_another(text, word, wrong, demo):
    found = scores(explained(adapt([(word, 1.0)]), demo, text))
    assert found[word] == 1.0
    assert found[wrong] == 0


def test_unknown_tokens_have_what_lies_between(demo):
    found = explained(adapt([("a", 0.0), ("[UNK]", 0.5), ("film", 1.0)]), demo, "a ☃ film")
    assert scores(found) == {"a": 0, "☃": 0.5, "film": 1.0}


def test_unknown_tokens_in_a_row_share_the_gap(demo):
    found = explained(adapt([("a", 0.0), ("[UNK]", 0.5), ("[UNK]", 1.5)]), demo, "a ☃ ☂")
    assert scores(found) == {"a": 0, "☃": 1.0, "☂": 1.0}


def test_special_tokens_that_a_person_typed_are_words(demo):
    pairs = [("[CLS]", 9.0), ("[CLS]", 1.0), ("good", 2.0), ("[SEP]", 3.0), ("[SEP]", 9.0)]
    found = explained(adapt(pairs), demo, "[CLS] good [SEP]", unit="token")
    assert found.scores["given"].tolist() == [1.0, 2.0, 3.0]


def test_a_stretch_over_two_words_is_shared_by_length(demo):
    found = explained(adapt([("it ", 0.0), ("is superb", 8.0)]), demo, "it is superb")
    assert scores(found) == {"it": 0, "is": 2.0, "superb": 6.0}


def test_a_dict_scores_every_occurrence_and_tells_what_is_not_there(demo):
    found = explained(adapt({"IS": 1.5, "elsewhere": 3.0}), demo)
    assert [found.scores["given"][i] for i in (2, 8)] == [1.5, 1.5]
    assert "elsewhere" in str(found.notes)
    apart = explained(adapt({"don": 1.0, "t": 0.5, "do": 2.0}), demo, "don't do")
    assert scores(apart) == {"don't": 1.5, "do": 2.0}  # as lime cuts it


def test_nothing_but_zeros_is_an_explanation(demo):
    assert not explained(adapt([("superb", 0.0)]), demo).scores["given"].any()


@pytest.mark.parametrize("kind", ["wordpiece", "byte_level", "sentencepiece"])
@settings(max_examples=40, deadline=None)
@given(text=st.text(st.sampled_from("aé Zz.,!ñ日か사☃\n'-[]SEP0"), min_size=1, max_size=30))
def test_tokens_by_name_are_tokens_by_number(kind, request, text):
    """However the tokenizer spells its tokens, the scores lie where they lie by their number."""
    tokenizer = request.getfixturevalue(kind)
    model = piste.from_function(lambda ids: 1.0 * ids.sum(axis=1), tokenizer=tokenizer)
    assume(text.strip())
    ids = model.encode(text).ids
    numbers = np.arange(1.0, len(ids) + 1)
    names = tokenizer.convert_ids_to_tokens(list(ids))
    placed = complete(names, text, len(text))
    if placed is None:  # then it says so, and nothing lands elsewhere
        return
    by_name = explained(adapt(list(zip(names, numbers, strict=True))), model, text)
    by_number = explained(adapt(numbers), model, text)
    unplaced = [name for name, span in zip(names, placed, strict=True) if span is None]
    vague = any(one == other == "[UNK]" for one, other in pairwise(names))  # they share a gap
    if not unplaced and not vague:
        assert by_name.scores["given"] == pytest.approx(by_number.scores["given"])


def test_one_number_a_token_as_captum_has_them(demo):
    encoding = demo.encode(TEXT)
    whole = len(encoding.frame.prefix) + len(encoding.ids) + len(encoding.frame.suffix)
    numbers = torch.zeros(1, whole)
    numbers[0, len(encoding.frame.prefix) + 1] = 4.0  # the second token of the text
    framed = explained(adapt(numbers), demo)
    plain = explained(adapt(numbers[0, len(encoding.frame.prefix) :][: len(encoding.ids)]), demo)
    assert framed.scores["given"].tolist() == plain.scores["given"].tolist()
    (owner,) = np.flatnonzero(framed.scores["given"])
    start = encoding.spans[1][0]
    assert framed.players[owner].start <= start < framed.players[owner].end


def test_what_shap_finds_in_log_odds_is_tried_as_prediction(demo):
    explainer = shap.Explainer(log_odds(demo), shap.maskers.Text(r"\W+"))
    row = explainer([TEXT], max_evals=200, silent=True)[0]
    with pytest.raises(piste.PisteError, match="they speak for 'positive'"):
        explained(adapt(row), demo, target="negative")
    turned = explained(adapt(row, label="positive"), demo, target="negative")
    assert turned.scores["weight"].sum() == pytest.approx(-row.values.sum())
    found = explained(adapt(row), demo, target="positive")
    assert found.method == "shap"
    assert found.fidelity is not None
    assert found.scores["weight"].sum() == pytest.approx(row.values.sum())
    words = [player.text for player in found.players]
    assert found.change([words.index("superb")]) == pytest.approx(row.values[-1], rel=0.2)
    measured = piste.compare(TEXT, demo, ["slalom", adapt(row)], target="positive", measure=True)
    assert measured.measured["shap"].removal_error is not None


def test_what_shap_finds_in_probabilities_only_orders(demo):
    explainer = shap.Explainer(
        probabilities(demo), shap.maskers.Text(r"\W+"), output_names=["negative", "positive"]
    )
    row = explainer([TEXT], max_evals=200, silent=True)[0]
    found = explained(adapt(row), demo, target="positive")
    column = row.values[:, 1]
    assert found.scores["given"].sum() == pytest.approx(column.sum())
    assert "add up to" in str(found.notes)
    with pytest.raises(piste.PisteError, match="predict no change"):
        found.change([0])
    negative = explained(adapt(row), demo, target="negative")
    assert negative.scores["given"].sum() == pytest.approx(row.values[:, 0].sum())
    told = explained(adapt(row, same_scale=True), demo, target="positive")
    assert told.scores["weight"].tolist() == pytest.approx(found.scores["given"].tolist())


def test_one_column_of_shap_for_another_label_is_refused(demo):
    explainer = shap.Explainer(
        probabilities(demo), shap.maskers.Text(r"\W+"), output_names=["negative", "positive"]
    )
    row = explainer([TEXT], max_evals=50, silent=True)[0, :, "negative"]
    with pytest.raises(piste.PisteError, match="target='negative'"):
        explained(adapt(row), demo, target="positive")


def test_what_lime_finds_lands_on_every_occurrence(demo):
    explainer = LimeTextExplainer(class_names=["negative", "positive"], random_state=0)
    found = explainer.explain_instance(TEXT, probabilities(demo), num_samples=200, num_features=20)
    weights = dict(found.as_list(label=1))
    ours = explained(adapt(found), demo, target="positive")
    for player, score in zip(ours.players, ours.scores["given"], strict=True):
        assert score == pytest.approx(weights.get(player.text, 0.0))
    other = explained(adapt(found), demo, target="negative")  # lime explained only "positive"
    assert other.scores["given"].tolist() == pytest.approx((-ours.scores["given"]).tolist())


def test_lime_goes_by_the_names_of_its_classes(demo):
    explainer = LimeTextExplainer(class_names=["positive", "negative"], random_state=0)
    turned = lambda texts: piste.predict(texts, demo)[:, ::-1]  # noqa: E731
    found = explainer.explain_instance(TEXT, turned, labels=(0,), num_samples=200)
    ours = scores(explained(adapt(found), demo, target="positive"))
    assert ours["superb"] == pytest.approx(dict(found.as_list(label=0))["superb"])


def test_lime_of_another_text_is_refused(demo):
    explainer = LimeTextExplainer(class_names=["negative", "positive"], random_state=0)
    found = explainer.explain_instance("A dull film.", probabilities(demo), num_samples=50)
    with pytest.raises(piste.PisteError, match="another text"):
        explained(adapt(found), demo)


def test_a_sentence_has_a_repeated_word_of_lime_once(demo):
    text = "good good good film. A bad end."
    explainer = LimeTextExplainer(class_names=["negative", "positive"], random_state=0)
    found = explainer.explain_instance(text, probabilities(demo), num_samples=100, num_features=9)
    weights = dict(found.as_list(label=1))
    ours = explained(adapt(found), demo, text, unit="sentence", target="positive")
    assert ours.scores["given"][0] == pytest.approx(weights["good"] + weights["film"])


def test_lime_shares_a_word_among_its_occurrences_when_on_scale(demo):
    explainer = LimeTextExplainer(class_names=["negative", "positive"], random_state=0)
    found = explainer.explain_instance(TEXT, probabilities(demo), num_samples=100, num_features=20)
    ours = explained(adapt(found, same_scale=True), demo, target="positive")
    words = [player.text for player in ours.players]
    assert words.count("is") == 2
    at = words.index("is")
    assert ours.scores["removal"][at] == pytest.approx(ours.scores["weight"][at] / 2)


def test_our_own_scores_handed_back_are_measured_the_same(demo):
    own = piste.explain(TEXT, demo, "occlusion")
    pairs = [(p.text, s) for p, s in zip(own.players, own.scores["removal"], strict=True)]
    again = adapt(pairs, "again", same_scale=True)
    both = piste.compare(TEXT, demo, [Occlusion(), again], measure=True)
    ours, theirs = both.measured["occlusion"], both.measured["again"]
    assert theirs.deletion == pytest.approx(ours.deletion)
    assert theirs.removal_error == pytest.approx(ours.removal_error)


def by_length(text):
    return [(word, float(len(word))) for word in {*text.replace(",", "").rstrip(".").split()}]


DATA = [piste.Example(id=str(i), text=text) for i, text in enumerate([TEXT, "A dull film."])]


def test_a_function_serves_a_whole_data_set_and_says_for_which_label(demo):
    theirs = adapt(by_length, "length", label="positive")
    judged = piste.evaluate(DATA, demo, ["occlusion", theirs], ["deletion", "removal-error"])
    assert np.isfinite(judged.values("length", "deletion")).all()
    assert np.isnan(judged.values("length", "removal-error")).all()  # on no scale that is known
    assert "length" not in costs(judged)  # what the other library asks is not counted
    positive, negative = (explained(theirs, demo, target=t) for t in ("positive", "negative"))
    assert positive.scores["given"].tolist() == (-negative.scores["given"]).tolist()


def test_a_function_without_a_label_is_refused_unless_it_takes_one(demo):
    with pytest.raises(piste.PisteError, match="which label"):
        explained(adapt(by_length), demo)
    told = []

    def towards(text, label):
        told.append(label)
        return by_length(text)

    explained(adapt(towards), demo, target="negative")
    assert told == ["negative"]


def test_a_label_that_the_model_does_not_have_is_refused(demo):
    with pytest.raises(piste.PisteError, match="no label 'pos'"):
        explained(adapt({"superb": 1.0}, label="pos"), demo)


def test_a_run_gives_what_one_by_one_gives(demo, tmp_path):
    """shap's explainer keeps its state in itself: two texts at once would mix."""
    explainer = shap.Explainer(log_odds(demo), shap.maskers.Text(r"\W+"))
    theirs = adapt(lambda text: explainer([text], max_evals=40, silent=True)[0], label="positive")
    texts = [TEXT, "A dull film.", "I loved every minute of it.", "Not bad, not good."]
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    report = piste.run(data, demo, tmp_path / "out", method=theirs)
    assert report.failed == 0
    players = pd.read_parquet(tmp_path / "out" / "players")
    for index, text in enumerate(texts):
        alone = explained(theirs, demo, text).scores["given"]
        assert players[players["index"] == index]["given"].tolist() == pytest.approx(alone.tolist())


def test_another_function_does_not_go_on_with_the_results_of_the_first(demo, tmp_path):
    def by_place(text):
        return {word: float(place) for place, word in enumerate(text.split())}

    first = adapt(by_length, "mine", label="positive")
    piste.evaluate(DATA, demo, [first], ["deletion"], out=tmp_path)
    other = adapt(by_place, "mine", label="positive")
    with pytest.raises(piste.PisteError, match="were made with"):
        piste.evaluate(DATA, demo, [other], ["deletion"], out=tmp_path)


def test_windows_are_refused(demo):
    with pytest.raises(piste.PisteError, match="at once"):
        explained(adapt({"film": 1.0}), demo, "a good film " * 400, long="windows")


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor, pd.Series])
def test_numbers_in_any_form(kind, demo):
    numbers = np.arange(11, dtype=np.float32)
    given = list(numbers) if kind is list else kind(numbers)
    assert explained(adapt(given), demo).scores["given"].tolist() == list(range(11))


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ([("nowhere", 1.0)], "None of the given words"),
        ([("superb", 1.0), ("plot", 1.0), ("plot", 1.0)], "nor distinct words"),
        ({"nowhere": 1.0}, "None of the given words"),
        ([1.0, 2.0], "There are 2 scores"),
        (np.zeros((3, 4)), "shape"),
        (["superb"], "cannot read scores"),
        ([("superb", float("nan"))], "nan"),
        ([("superb", "much")], "no score"),
        ([(1, 2)], "pairs"),
        (object(), "holds no scores"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(result, says, demo):
    with pytest.raises(piste.PisteError, match=says):
        explained(adapt(result), demo)


def test_a_shap_batch_is_refused(demo):
    batch = shap.Explanation(values=np.zeros((2, 3)), base_values=np.zeros(2), data=[["a"] * 3] * 2)
    with pytest.raises(piste.PisteError, match="one row"):
        explained(adapt(batch), demo)


def test_an_empty_name_is_refused():
    with pytest.raises(piste.PisteError, match="name"):
        adapt({"a": 1.0}, " ")


def test_it_survives_json_and_prints(demo, tmp_path):
    found = explained(adapt({"superb": 1.0}, "mine"), demo)
    found.to_json(tmp_path / "found.json")
    assert piste.Explanation.from_json(tmp_path / "found.json") == found
    assert "mine" in str(found)
    assert "compare --measure" in " ".join(str(found).split())
