"""Why this label rather than that one: the difference of two logits, wherever a target is taken."""

import json
from itertools import combinations
from math import factorial

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.special import expit, softmax
from typer.testing import CliRunner

import piste
from piste.cli import app
from piste.decision import Decision, resolve_target
from piste.errors import FileError, SettingError
from piste.methods import METHODS
from piste.options import Options
from piste.result.scores import score
from piste.runs.manifest import MANIFEST
from tests.conftest import tiny_bert
from tests.contracts.methods import with_settings
from tests.methods.test_classes import LABELS, TEXT, planted
from tests.web.servers import client

SENTENCE = "the film was good, the plot not bad"
# A bag of words for three topics: the best label of the second text is none of the first two.
TOPICS = ("sport", "war", "art")
WEIGHTS = {
    "match": (3.0, 1.0, 0.0),
    "battle": (1.0, 3.0, 0.0),
    "won": (1.0, 0.5, 0.0),
    "army": (-1.0, 2.0, 0.0),
    "museum": (0.0, 0.5, 4.0),
}
NEWS = "match battle won army"


def topics(texts):
    known = [[WEIGHTS.get(word, (0.0, 0.0, 0.0)) for word in text.split()] for text in texts]
    return np.array([np.sum(rows, axis=0) if rows else np.zeros(3) for rows in known])


@pytest.fixture(scope="module")
def news():
    return piste.from_function(topics, TOPICS, name="news")


@pytest.fixture(scope="module")
def three(wordpiece):
    return piste.load(tiny_bert(len(wordpiece), num_labels=3), wordpiece, backend="torch")


def difference(words):
    first, second, _ = np.transpose([WEIGHTS[word] for word in words])
    return first - second


@pytest.mark.parametrize("method", ["context", "occlusion", "lime", "kernel-shap", "linear"])
def test_a_planted_bag_of_words_is_recovered(news, method):
    found = piste.explain(NEWS, news, method, target="sport", against="war")
    scores = found.scores[found.primary]
    assert scores == pytest.approx(difference(NEWS.split()), abs=0.05)
    assert found.target.score == pytest.approx(difference(NEWS.split()).sum())


def test_a_planted_slalom_is_recovered():
    classifier, values, importances = planted()
    found = piste.explain(TEXT, classifier, "slalom", target="chat", against="buy")
    assert found.scores["value"] == pytest.approx(values[:, 2] - values[:, 1], abs=0.02)
    assert found.scores["importance"] == pytest.approx(importances, abs=0.02)


def test_the_target_tells_both_labels_and_the_probability_of_the_two(three):
    found = piste.explain(SENTENCE, three, "occlusion", target=2, against=0).target
    logits = Decision.on(SENTENCE, three).query.whole
    shares = softmax(logits)
    assert (found.index, found.against_index) == (2, 0)
    assert (found.label, found.against) == (three.labels[2], three.labels[0])
    assert found.scale == f"log-odds against {three.labels[0]}"
    assert found.score == pytest.approx(logits[2] - logits[0])
    assert found.probability == pytest.approx(shares[2] / (shares[2] + shares[0]))


def shapley(worth, count):
    """By the definition: the mean over all coalitions of what a player adds."""
    values = np.zeros(count)
    for player in range(count):
        others = [other for other in range(count) if other != player]
        for size in range(count):
            weight = factorial(size) * factorial(count - size - 1) / factorial(count)
            for chosen in combinations(others, size):
                values[player] += weight * (worth({*chosen, player}) - worth(set(chosen)))
    return values


def test_effects_are_the_shapley_values_of_the_difference(three):
    text = "the film was not bad"
    decision = Decision.on(text, three, Options(target=1, against=2))
    words = range(len(decision.players))

    def worth(kept):
        logits = three.logits(framed(three, decision, sorted(kept)))[0]
        return logits[1] - logits[2]

    found = piste.explain(text, three, target=1, against=2, effort="thorough")
    exact = shapley(worth, len(words))
    assert found.stopped.reason == "exhausted"  # 32 parts: all were asked
    assert found.scores["effect"] == pytest.approx(exact, abs=0.02 * np.abs(exact).max())
    assert found.base == pytest.approx(worth(set()), abs=1e-5)


def framed(classifier, decision, kept):
    frame = classifier.encode(decision.players.text).frame
    ids = [token for index in kept for token in decision.players.items[index].ids]
    return np.array([[*frame.prefix, *ids, *frame.suffix]])


@pytest.mark.parametrize("method", METHODS)
def test_swapped_labels_turn_every_sign(three, method):
    same = with_settings(METHODS[method], adaptive=False)  # questions that no answer changes
    one = piste.explain(SENTENCE, three, same, target=0, against=2)
    other = piste.explain(SENTENCE, three, same, target=2, against=0)
    assert other.target.score == pytest.approx(-one.target.score)
    assert other.scores.keys() == one.scores.keys()
    for name, scores in one.scores.items():
        sign = -1 if score(name).signed else 1
        within = 1e-3 * np.abs(scores).max()
        assert other.scores[name] == pytest.approx(sign * scores, rel=1e-3, abs=within), name


@pytest.mark.parametrize("method", METHODS)
def test_of_two_labels_it_is_the_ordinary_target(demo, method):
    plain = piste.explain(SENTENCE, demo, method, target="positive")
    found = piste.explain(SENTENCE, demo, method, target="positive", against="negative")
    assert found.target.score == pytest.approx(plain.target.score)
    assert found.target.probability == pytest.approx(plain.target.probability)
    for name, scores in plain.scores.items():
        within = 1e-4 * np.abs(scores).max()
        assert found.scores[name] == pytest.approx(scores, rel=1e-4, abs=within), name


def test_integrated_gradients_add_up_to_the_difference(three):
    found = piste.explain(SENTENCE, three, "integrated-gradients", target=0, against=1)
    mask = three.embed(np.array([[three.token_id("pad")]]))[0, 0]
    encoding = three.encode(SENTENCE)
    ids = np.array([[*encoding.frame.prefix, *encoding.ids, *encoding.frame.suffix]])
    start = three.embed(ids)
    start[0, len(encoding.frame.prefix) : len(encoding.frame.prefix) + len(encoding.ids)] = mask
    below = three.gradients(start, 0, against=1)[0][0]
    assert found.scores["ig"].sum() == pytest.approx(found.target.score - below, abs=1e-3)


def test_the_decision_is_the_one_between_the_two(news):
    """The model says art; between the other two the sign of their difference decides."""
    decision = Decision.on("museum match", news, Options(target="sport", against="war"))
    answers = np.array([[1.0, 0.0, 9.0], [0.0, 1.0, 9.0], [0.0, 0.0, 9.0]])
    assert decision.decides(answers).tolist() == [True, False, False]
    assert [decision.choice(answer) for answer in answers] == [0, 1, 1]
    assert decision.without([1]) == (pytest.approx(-0.5), "war")
    assert decision.probabilities(np.array([0.5])) == pytest.approx(expit([0.5]))
    assert Decision.on("museum match", news).choice(answers[0]) == 2


def test_what_turns_it_turns_it_to_the_other_label(news):
    found = piste.explain(f"museum {NEWS}", news, target="war", against="sport")
    assert found.target.score == pytest.approx(3.0)
    assert found.flip is not None
    removed = {found.players[index].text for index in found.flip.players}
    kept = [word for word in found.text.split() if word not in removed]
    assert difference(kept).sum() > 0
    assert found.flip.label == "sport"
    assert found.core.label == "war"


def test_anchors_keep_the_order_of_the_two(news):
    found = piste.explain(f"museum {NEWS}", news, "anchors", target="war", against="sport")
    assert found.scores["anchor"][found.text.split().index("army")] == 1.0


def test_the_runner_up_is_the_likeliest_other_and_predicted_the_likeliest():
    classifier, _, _ = planted()
    ranked = [LABELS[index] for index in np.argsort(-classifier.function([TEXT])[0])]

    def labels(**settings):
        target = piste.explain(TEXT, classifier, "occlusion", **settings).target
        return target.label, target.against

    assert labels(against="runner-up") == (ranked[0], ranked[1])
    assert labels(target=ranked[3], against="runner-up") == (ranked[3], ranked[0])
    assert labels(target="runner-up", against="predicted") == (ranked[1], ranked[0])
    assert labels(target=ranked[2].upper(), against="predicted") == (ranked[2], ranked[0])
    assert labels(against=LABELS.index(ranked[2])) == (ranked[0], ranked[2])


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"target": "war", "against": "war"}, "'war' is what is explained.*against='"),
        ({"target": "war", "against": 1}, "'war' is what is explained"),
        ({"against": "predicted"}, "is what is explained.*runner-up"),
        ({"against": "peace"}, "sport, war, art, predicted, runner-up"),
        ({"against": "all"}, "sport, war, art"),
        ({"against": 3}, "0 to 2"),
        ({"target": "all", "against": "war"}, "one target.*leave against out"),
    ],
)
def test_what_cannot_be_contrasted(news, settings, match):
    for call in (piste.explain, piste.compare):
        with pytest.raises(SettingError, match=match):
            call(NEWS, news, **settings)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"num_labels": 1}, "numbers"),
        ({"num_labels": 3, "problem_type": "regression"}, "numbers"),
        ({"num_labels": 3, "problem_type": "multi_label_classification"}, "do not exclude"),
    ],
)
def test_models_without_a_choice(wordpiece, settings, match):
    classifier = piste.load(tiny_bert(len(wordpiece), **settings), wordpiece, backend="torch")
    with pytest.raises(SettingError, match=f"{match}.*Leave against out"):
        piste.explain(SENTENCE, classifier, target=0, against=1)


def test_methods_that_know_no_contrast_say_so(news):
    for method in (piste.Slalom(classes="shared"), METHODS["context"].for_every_class()):
        with pytest.raises(SettingError, match="one-vs-rest"):
            piste.explain(NEWS, news, method, target="sport", against="war")
    given = piste.adapt(lambda text, label: [(word, 1.0) for word in text.split()], "mine")
    with pytest.raises(SettingError, match="sport rather than war"):
        piste.explain(NEWS, news, given, target="sport", against="war")


def test_a_lexicon_knows_the_difference_too():
    classifier, values, importances = planted()
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.permutation(TEXT.split())[:6]) for _ in range(60)]
    lexicon = piste.build_lexicon(texts, classifier)
    settings = {"lexicon": lexicon, "target": "chat", "against": "buy"}
    for refine in (0, 40):
        found = piste.explain(TEXT, classifier, "slalom", refine=refine, **settings)
        assert found.target.scale == "log-odds against buy"
        logits = classifier.function([TEXT])[0]
        assert found.target.score == pytest.approx(logits[2] - logits[1])
        assert found.scores["value"] == pytest.approx(values[:, 2] - values[:, 1], abs=0.06)
        assert found.surrogate_score == pytest.approx(found.target.score, abs=0.06)
    assert found.scores["importance"] == pytest.approx(importances, abs=0.06)


def test_windows_share_the_contrast(three):
    text = " ".join([SENTENCE + "."] * 12)
    found = piste.explain(text, three, "occlusion", long="windows", against="runner-up")
    assert "windows" in found.settings["long"]
    target = found.target
    again = piste.explain(
        text, three, "occlusion", long="windows", target=target.label, against=target.against
    )
    assert again.target == target
    turned = piste.explain(
        text, three, "occlusion", long="windows", target=target.against, against=target.label
    )
    assert turned.target.score == pytest.approx(-target.score)
    assert turned.scores["removal"] == pytest.approx(-found.scores["removal"], abs=1e-6)


def test_json_round_trip_and_what_is_refused(news):
    found = piste.explain(NEWS, news, target="sport", against="war")
    data = json.loads(found.to_json())
    assert data["target"]["against"] == "war"
    assert piste.Explanation.from_dict(data) == found
    for spoilt in (
        {"against": "peace"},
        {"against_index": None},
        {"against": None},
        {"against_index": 0, "against": "sport"},
        {"against_index": 7},
    ):
        with pytest.raises(FileError, match="no other of its labels"):
            piste.Explanation.from_dict(data | {"target": data["target"] | spoilt})
    plain = {k: v for k, v in data["target"].items() if not k.startswith("against")}
    assert piste.Explanation.from_dict(data | {"target": plain}).target.against is None


def test_every_rendering_names_both(news):
    found = piste.explain(NEWS, news, target="sport", against="war")
    first = str(found).splitlines()[0]
    assert first.startswith("sport rather than war (log-odds −2.50): ")
    assert "other label: art" in str(found)
    page = " ".join(found.to_html().split())
    assert "sport rather than war" in page
    assert "speaks for “sport”, below 0 for “war”" in page
    assert "sport rather than war" in repr(found)
    assert "sport rather than war" in str(
        piste.compare(NEWS, news, ["occlusion", "lime"], target="sport", against="war")
    )


def test_compare_and_measure(news):
    found = piste.compare(
        NEWS, news, ["context", "occlusion"], target="sport", against="war", measure=True
    )
    targets = {(one.target.label, one.target.against) for one in found.explanations.values()}
    assert targets == {("sport", "war")}
    # A bag of words: what occlusion predicts of a removal is what happens.
    assert found.measured["occlusion"].removal_error == pytest.approx(0, abs=1e-6)


def test_a_text_is_measured_towards_the_contrast(news, tmp_path):
    examples = [piste.Example("a", NEWS), piste.Example("b", "museum army")]
    settings = {"target": "sport", "against": "war"}
    found = piste.evaluate(
        examples, news, ["occlusion"], ["removal-error"], out=tmp_path / "out", **settings
    )
    assert [(row["target"], row["against"]) for row in found.rows] == [("sport", "war")] * 2
    assert found.rows[0]["score"] == pytest.approx(-2.5)
    with pytest.raises(SettingError, match="one target"):
        piste.evaluate(examples, news, ["occlusion"], target="all", against="war")


@pytest.fixture
def data(tmp_path):
    texts = ["army battle", NEWS, "match won", "museum"]
    path = tmp_path / "news.jsonl"
    path.write_text("".join(json.dumps({"id": t, "text": t}) + "\n" for t in texts))
    return path


def test_a_run_of_a_contrast(data, news, tmp_path):
    """The first text is predicted as the label it would be contrasted with: it fails alone."""
    report = piste.run(data, news, tmp_path / "out", method="occlusion", against="war")
    assert (report.texts, report.failed) == (4, 2)
    table = pq.read_table(tmp_path / "out" / "texts").to_pydict()
    told = zip(table["target"], table["against"], table["scale"], strict=True)
    assert list(told) == [
        (None, None, None),
        (None, None, None),
        ("sport", "war", "log-odds against war"),
        ("art", "war", "log-odds against war"),
    ]
    assert "what is explained" in table["error"][0]
    manifest = json.loads((tmp_path / "out" / MANIFEST).read_text())
    assert manifest["against"] == "war"
    with pytest.raises(piste.PisteError, match="against"):
        piste.run(data, news, tmp_path / "out", method="occlusion", against="art")


@pytest.mark.parametrize(
    "settings",
    [{"against": "peace"}, {"target": "war", "against": "war"}, {"against": "predicted"}],
)
def test_a_run_that_could_explain_no_text_writes_nothing(data, news, tmp_path, settings):
    with pytest.raises(SettingError):
        piste.run(data, news, tmp_path / "out", method="occlusion", **settings)
    assert not (tmp_path / "out").exists()


def test_on_the_command_line(tmp_path):
    settings = ["--method", "occlusion", "--target", "negative", "--against", "positive"]
    told = CliRunner().invoke(app, ["explain", "A superb film.", *settings, "--json", "-"])
    assert told.exit_code == 0, told.output
    target = json.loads(told.stdout)["target"]
    assert (target["label"], target["against"]) == ("negative", "positive")
    wrong = CliRunner().invoke(app, ["explain", "A superb film.", "--against", "neutral"])
    assert wrong.exit_code != 0


def test_over_the_api(news):
    with client({"news": news}) as api:
        asked = {"text": NEWS, "method": "occlusion", "target": "sport", "against": "war"}
        told = api.post("/api/explain", json=asked).json()
        assert (told["target"]["label"], told["target"]["against"]) == ("sport", "war")
        answer = api.post("/api/answer", json=asked | {"removed": [1, 3]}).json()
        assert answer["label"] == "sport rather than war"
        assert (answer["before"], answer["decision"]) == ("war", "sport")
        assert answer["true"]["score"] == pytest.approx(2.5)
        other = api.post("/api/answer", json=asked | {"against": "art", "removed": [1]}).json()
        assert other["label"] == "sport rather than art"
        curve = api.post("/api/deletion", json=asked).json()
        assert curve["scale"] == "probability"
        assert curve["by_score"][0] == pytest.approx(expit(-2.5))
        wrong = api.post("/api/explain", json=asked | {"against": "sport"})
        assert wrong.status_code == 422
        assert "is explained" in wrong.json()["error"]


def test_a_label_of_that_name_goes_first():
    names = ("runner-up", "predicted", "x")
    classifier = piste.from_function(topics, names)
    logits = topics([NEWS])[0]
    assert resolve_target(classifier, logits, "x", "runner-up").against_index == 0
    assert resolve_target(classifier, logits, "x", "predicted").against_index == 1
