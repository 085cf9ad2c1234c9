"""Results of other libraries on our players: the same scores, measured like our own."""

import numpy as np
import pytest
import torch
from lime.lime_text import LimeTextExplainer

import piste
from piste.methods.adapted import adapt
from piste.methods.occlusion import Occlusion

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


def test_pairs_of_words_land_on_their_words(demo):
    found = explained(adapt([("plot", -1.0), ("superb", 2.5)]), demo)
    assert scores(found)["superb"] == 2.5
    assert scores(found)["plot"] == -1.0
    assert scores(found)["acting"] == 0


@pytest.mark.parametrize(
    "tokens",
    [
        ["[CLS]", "the", "act", "##ing", "is", "sup", "##erb", "[SEP]"],
        ["<s>", "the", "Ġact", "ing", "Ġis", "Ġsup", "erb", "</s>"],
        ["▁The", "▁act", "ing", "▁is", "▁sup", "erb", "</s>"],
    ],
)
def test_pieces_of_words_are_added_up(tokens, demo):
    pairs = [(token, 0.5 if token.strip("Ġ▁#") in ("sup", "erb") else 0.0) for token in tokens]
    assert scores(explained(adapt(pairs), demo, "The acting is superb"))["superb"] == 1.0


def test_letters_and_accents_may_differ(demo):
    found = explained(adapt([("naive", 1.0), ("cafe", 2.0)]), demo, "Naïve, the Café!")
    assert scores(found) == {"Naïve": 1.0, ",": 0, "the": 0, "Café": 2.0, "!": 0}


def test_unknown_tokens_leave_a_gap(demo):
    found = explained(adapt([("a", 0.0), ("[UNK]", 0.3), ("film", 1.0)]), demo, "a ☃☃ film")
    assert scores(found)["film"] == 1.0


def test_a_stretch_over_two_words_is_shared_by_length(demo):
    found = explained(adapt([("is superb", 8.0)]), demo, "it is superb")
    assert scores(found) == {"it": 0, "is": 2.0, "superb": 6.0}


def test_words_by_strength_as_lime_lists_them(demo):
    found = scores(explained(adapt([("superb", 3.0), ("plot", -2.0)]), demo))
    assert (found["superb"], found["plot"]) == (3.0, -2.0)


def test_a_word_left_out_is_not_found_inside_another(demo):
    found = explained(adapt([("is", 1.0)]), demo, "this film is bad")
    assert scores(found) == {"this": 0, "film": 0, "is": 1.0, "bad": 0}


def test_a_dict_scores_every_occurrence(demo):
    found = explained(adapt({"IS": 1.5, "elsewhere": 3.0}), demo)
    assert [found.scores["given"][i] for i in (2, 8)] == [1.5, 1.5]


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


def test_a_function_serves_a_whole_data_set(demo):
    def by_length(text):
        return [(word, float(len(word))) for word in text.replace(",", "").rstrip(".").split()]

    data = [piste.Example(id=str(i), text=text) for i, text in enumerate([TEXT, "A dull film."])]
    judged = piste.evaluate(data, demo, ["occlusion", adapt(by_length, "length")], ["deletion"])
    assert np.isfinite(judged.values("length", "deletion")).all()


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ([("nowhere", 1.0)], "does not come next"),
        ([("superb", 1.0), ("plot", 1.0), ("plot", 1.0)], "does not come next"),
        ({"nowhere": 1.0}, "None of the given words"),
        ([1.0, 2.0], "There are 2 scores"),
        (np.zeros((3, 4)), "shape"),
        (["superb"], "no scores"),
        ([("superb", float("nan"))], "nan"),
        ([("superb", "much")], "no score"),
        ([(1, 2)], "pairs"),
        (object(), "holds no scores"),
        ([("superb", 0.0)], "No score lies"),
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
    assert "compare --measure" in str(found)
