"""The JSON API: what it answers, and that every mistake is told in words."""

import json
import threading
import time
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

import piste
from piste.web.job_queue import JobQueue
from tests.web.servers import TEXT, client, events, soon, toy


@pytest.fixture(scope="module")
def api():
    with client() as found:
        yield found


@pytest.fixture(scope="module")
def demo_api(demo):
    with client({"demo": demo, "toy": toy()}) as found:
        yield found


def test_models_tell_labels_and_the_methods_that_apply(demo_api):
    told = demo_api.get("/api/models").json()
    assert [model["name"] for model in told["models"]] == ["demo", "toy"]
    demo, function = told["models"]
    assert demo["labels"] == ["negative", "positive"]
    assert "gradients" in demo["methods"]
    assert "attention" in demo["methods"]
    assert "slalom" in function["methods"]
    assert not {"gradients", "integrated-gradients", "attention", "rollout"} & set(
        function["methods"]
    )


def test_explain_is_what_the_library_gives(demo_api, demo):
    told = demo_api.post("/api/explain", json={"text": TEXT, "model": "demo"})
    assert told.status_code == 200
    ours = piste.explain(TEXT, demo).to_dict()
    theirs = piste.Explanation.from_dict(told.json()).to_dict()
    for same in (ours, theirs):
        same["cost"] = same["backend"] = same["record"]["made"] = None
    # Linear algebra in another thread rounds otherwise.
    assert numbers(theirs) == pytest.approx(numbers(ours), rel=1e-6, abs=1e-9)
    assert plain(theirs) == plain(ours)


def numbers(data):
    """All floats of nested data, in order."""
    if isinstance(data, dict | list):
        inner = data.values() if isinstance(data, dict) else data
        return [number for one in inner for number in numbers(one)]
    return [data] if isinstance(data, float) else []


def plain(data):
    """Nested data without its floats."""
    if isinstance(data, dict):
        return {name: plain(one) for name, one in data.items()}
    if isinstance(data, list):
        return [plain(one) for one in data]
    return None if isinstance(data, float) else data


def test_the_stream_tells_progress_rounds_and_the_result(demo_api):
    asked = {"text": TEXT, "model": "demo", "seed": 3, "tolerance": 0.001}
    found = events(demo_api.post("/api/explain/stream", json=asked).text)
    names = [name for name, _ in found]
    assert names[0] == "progress"
    assert names[-1] == "result"
    assert names.count("round") >= 2
    first = json.loads(next(data for name, data in found if name == "round"))
    assert set(first["scores"]) == {"effect"}
    assert first["primary"] == "effect"
    assert len(first["charts"][0]["marks"]) == len(set(first["groups"]))
    result = json.loads(found[-1][1])
    assert "".join(text for text, _ in result["view"]["parts"]) == TEXT
    assert result["explanation"]["scores"].keys() >= {"value", "importance", "removal"}
    assert result["view"]["charts"][0]["marks"][0]["error"] is not None


def test_watching_the_rounds_changes_nothing(demo):
    seen: list[Any] = []
    watched = piste.explain(TEXT, demo, rounds=seen.append)
    plain = piste.explain(TEXT, demo)
    assert watched.stopped is not None
    assert len(seen) == watched.stopped.rounds
    for name, scores in plain.scores.items():
        np.testing.assert_allclose(watched.scores[name], scores, rtol=1e-4, atol=1e-4)
    for effects in seen:
        whole = watched.target.score - watched.base
        assert effects["effect"].sum() == pytest.approx(whole, abs=1e-6)


def test_the_true_answer_and_the_predicted_one(demo_api, demo):
    explanation = piste.explain(TEXT, demo)
    superb = [player.text for player in explanation.players].index("superb")
    told = demo_api.post(
        "/api/answer", json={"text": TEXT, "model": "demo", "removed": [superb]}
    ).json()
    without = piste.explain(TEXT.replace(" superb", ""), demo, "occlusion", target="positive")
    assert told["true"]["score"] == pytest.approx(without.target.score, abs=1e-5)
    expected = explanation.target.score - explanation.change([superb])
    assert told["predicted"]["score"] == pytest.approx(expected)
    assert (told["before"], told["decision"]) == ("positive", "negative")


def test_the_prediction_has_an_error_unless_it_was_asked(demo_api):
    text = "The plot is thin and slow and the jokes are old, but the acting is superb."
    asked = {"text": text, "model": "demo"}
    explanation = piste.Explanation.from_dict(demo_api.post("/api/explain", json=asked).json())
    removed = [0, 3, 5, 11]
    said = demo_api.post("/api/answer", json={**asked, "removed": removed}).json()
    kept = [index for index in range(len(explanation.players)) if index not in removed]
    prediction = explanation.predict(kept)
    assert said["predicted"]["score"] == pytest.approx(prediction.score)
    assert said["predicted"]["error"] == pytest.approx(prediction.error)
    assert said["whole"]["error"] is None
    known = next(part for part in explanation.parts.parts if 1 < part.sum() < len(part) - 1)
    gone = np.flatnonzero(~known).tolist()
    exact = demo_api.post("/api/answer", json={**asked, "removed": gone}).json()
    assert exact["predicted"]["error"] == 0
    assert exact["predicted"]["score"] == pytest.approx(exact["true"]["score"], abs=1e-4)


def test_interactions_and_what_would_turn_it_are_told(demo_api):
    asked = {"text": TEXT, "model": "demo", "pairs": 3}
    told = demo_api.post("/api/explain", json=asked).json()
    ours = piste.Explanation.from_dict(told)
    assert told["base"] == ours.base
    assert told["flip"]["label"] == ours.flip.label == "negative"
    assert told["core"]["players"] == list(ours.core.players)
    assert [set(pair) for pair in told["pairs"]] == 3 * [{"first", "second", "effect", "error"}]
    assert told["pairs"][0]["effect"] == pytest.approx(ours.pairs(1)[0].effect)
    none = demo_api.post("/api/explain", json={**asked, "method": "occlusion"}).json()
    assert none["pairs"] is None
    found = events(demo_api.post("/api/explain/stream", json=asked).text)
    result = json.loads(found[-1][1])
    turned = result["view"]["turning"][0]
    assert turned["text"].startswith("Without “superb” it would say negative")
    assert turned["removed"] == told["flip"]["players"]
    assert result["view"]["base"].startswith("The empty text scores")
    steps = result["view"]["waterfall"]["steps"]
    assert steps[0]["start"] == ours.base
    assert steps[-1]["end"] == pytest.approx(ours.target.score)
    assert len(result["explanation"]["pairs"]) == 3


def test_effort_is_a_setting_like_any_other(demo_api):
    asked = {"text": TEXT, "model": "demo"}
    quick = demo_api.post("/api/explain", json={**asked, "effort": "quick"}).json()
    usual = demo_api.post("/api/explain", json=asked).json()
    assert quick["settings"]["effort"] == "quick"
    assert quick["cost"]["forwards"] < usual["cost"]["forwards"]
    assert demo_api.post("/api/explain", json={**asked, "effort": "huge"}).status_code == 422
    settings = demo_api.get("/api/models").json()["settings"]
    effort = next(setting for setting in settings if setting["name"] == "effort")
    assert "thorough" in effort["names"]


def test_all_classes_are_tried_on_the_scale_they_are_explained_on(demo_api, demo):
    asked = {"text": TEXT, "model": "demo", "target": "all"}
    explanation = piste.Explanation.from_dict(demo_api.post("/api/explain", json=asked).json())
    told = demo_api.post("/api/answer", json={**asked, "removed": [1]}).json()
    without = demo.logits(_ids(demo, TEXT.replace(" plot", "")))[0]
    assert told["scale"] == explanation.target.scale
    assert told["whole"]["score"] == pytest.approx(explanation.target.score)
    assert told["true"]["score"] == pytest.approx(without[1] - without.mean(), abs=1e-5)
    assert told["true"]["probability"] == pytest.approx(softmax(without)[1], abs=1e-5)
    assert told["predicted"]["score"] == pytest.approx(
        explanation.predict(_but(explanation, 1)).score
    )
    assert told["predicted"]["probability"] is None  # one class of several tells none


def _ids(model: Any, text: str) -> np.ndarray:
    encoding = model.encode(text)
    return np.array([[*encoding.frame.prefix, *encoding.ids, *encoding.frame.suffix]])


def _but(explanation: piste.Explanation, removed: int) -> list[int]:
    return [index for index in range(len(explanation.players)) if index != removed]


def test_parts_are_predicted_as_the_library_does(demo_api):
    asked = {"text": TEXT, "model": "demo"}
    explanation = piste.Explanation.from_dict(demo_api.post("/api/explain", json=asked).json())
    parts = [[0, 1, 9], [], list(range(10))]
    told = demo_api.post("/api/predict", json={**asked, "kept": parts}).json()
    for said, part in zip(told["predicted"], parts, strict=True):
        prediction = explanation.predict(part)
        assert said["score"] == pytest.approx(prediction.score)
        assert said["error"] == pytest.approx(prediction.error)


def test_an_edited_text_is_answered_as_that_text_is(demo_api, demo):
    asked = {"text": TEXT, "model": "demo"}
    edits = [{"player": 9, "text": "not superb"}, {"player": 0, "text": ""}]
    told = demo_api.post("/api/edit", json={**asked, "edits": edits}).json()
    assert told["text"] == TEXT.replace("superb", "not superb").removeprefix("The ")
    true = piste.explain(told["text"], demo, "occlusion", target="positive").target
    assert told["true"]["score"] == pytest.approx(true.score, abs=1e-5)
    assert told["true"]["probability"] == pytest.approx(true.probability, abs=1e-5)
    assert told["decision"] == ("positive" if true.score > 0 else "negative")


def test_both_texts_of_a_pair_are_edited_in_their_places(api):
    asked = {"text": "a good film", "pair": "a bad end", "target": "positive"}
    edits = [{"player": 1, "text": "superb"}, {"player": 4, "text": "good"}]
    told = api.post("/api/edit", json={**asked, "edits": edits}).json()
    assert (told["text"], told["pair"]) == ("a superb film", "a good end")
    assert told["whole"]["score"] == pytest.approx(0.0)
    assert told["true"]["score"] == pytest.approx(3.5)


def test_an_edit_that_would_be_too_long_is_refused():
    with client(max_chars=20) as api:
        body = {"text": "a good film", "edits": [{"player": 1, "text": "very " * 5}]}
        assert api.post("/api/edit", json=body).status_code == 413


def test_a_text_in_windows_is_streamed_and_not_tried(demo_api):
    text = " ".join(f"The plot of film {number} is thin." for number in range(90))
    asked = {"text": text, "model": "demo", "long": "windows", "budget": 200, "method": "slalom"}
    found = events(demo_api.post("/api/explain/stream", json=asked).text)
    assert found[-1][0] == "result"
    assert json.loads(found[-1][1])["view"]["in_windows"]
    told = demo_api.post("/api/answer", json={**asked, "removed": [0]})
    assert told.status_code == 422
    assert "windows" in told.json()["error"]


def test_a_method_that_predicts_nothing_says_why(demo_api):
    asked = {"text": TEXT, "model": "demo", "method": "attention", "removed": [0]}
    told = demo_api.post("/api/answer", json=asked).json()
    assert told["predicted"] is None
    assert "predict no change" in told["why"]


def test_removing_words_does_not_explain_again(api):
    service = api.served.service
    asked = {"text": "a good film with a bad end", "budget": 150}
    api.post("/api/explain", json=asked)
    made = len(service.explanations)
    for index in range(5):
        assert api.post("/api/answer", json={**asked, "removed": [index]}).status_code == 200
    assert len(service.explanations) == made


def test_a_pair_and_a_unit(api):
    asked = {"text": "a good film", "pair": "a bad end. A superb cast.", "unit": "word"}
    told = api.post("/api/explain", json=asked)
    assert told.status_code == 200
    assert told.json()["second"] == len("a good film") + 1
    sentences = api.post("/api/explain", json={"text": "Good. Bad. Superb.", "unit": "sentence"})
    assert len(sentences.json()["players"]) == 3


def test_the_runner_up_is_explained(api):
    told = api.post("/api/explain", json={"text": TEXT, "target": "runner-up"}).json()
    assert told["target"]["label"] == "negative"


def test_compare_in_rows_and_with_what_failed(api):
    asked = {"text": TEXT, "methods": ["slalom", "occlusion", "gradients"], "measure": True}
    told = api.post("/api/compare", json=asked).json()
    assert list(told["explanations"]) == ["slalom", "occlusion"]
    assert "gradients" in told["failed"]
    assert told["measured"]["slalom"]["deletion"] is not None
    found = events(api.post("/api/compare/stream", json=asked).text)
    view = json.loads(found[-1][1])["view"]
    assert [row["name"] for row in view["rows"]] == ["slalom", "occlusion"]
    assert "".join(part[0] for part in view["rows"][0]["parts"]) == TEXT


def test_the_deletion_curve_falls(api):
    told = api.post("/api/deletion", json={"text": TEXT}).json()
    assert told["removed"][0] == 0.0
    assert len(told["removed"]) == len(told["by_score"]) == len(told["at_random"])
    assert told["by_score"][1] < told["by_score"][0]  # "superb" is gone
    assert told["by_score"][0] == pytest.approx(told["at_random"][0])


def test_downloads(api):
    kinds = {"html": b"<!doctype html>", "json": b"{", "png": b"\x89PNG"}
    for kind, start in kinds.items():
        told = api.post(f"/api/download/{kind}", json={"text": TEXT})
        assert told.content.lstrip().startswith(start)
        assert f"explanation.{kind}" in told.headers["content-disposition"]


def test_pictures_drawn_at_once_do_not_disturb_each_other(api):
    def draw() -> None:
        drawn.append(api.post("/api/download/png", json={"text": TEXT}).content)

    drawn: list[bytes] = []
    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 4
    assert len(set(drawn)) == 1


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("explain", {"text": ""}, 422, "The text is empty. Give at least one word"),
        ("explain", {"text": "   "}, 422, "empty"),
        ("explain", {}, 422, "text is missing. Give text."),
        ("explain", {"text": "good", "method": "slolom"}, 422, "slalom"),
        ("explain", {"text": "good", "model": "other"}, 422, "toy"),
        ("explain", {"text": "good", "target": "neutral"}, 422, "negative"),
        ("edit", {"text": TEXT, "edits": [{"player": 99, "text": "x"}]}, 422, "player 99"),
        ("edit", {"text": "good", "edits": [{"player": 0, "text": ""}]}, 422, "empty"),
        ("predict", {"text": TEXT, "kept": [[99]]}, 422, "player 99"),
        ("predict", {"text": TEXT, "kept": []}, 422, "kept is []. Give at least 1 of them."),
        ("predict", {"text": TEXT, "kept": [[0]], "method": "occlusion"}, 422, "context"),
        ("explain", {"text": "good", "lexicon": "/etc/passwd"}, 422, "lexicon"),
        ("explain", {"text": "good", "unit": "page"}, 422, "unit"),
        ("explain", {"text": "good bad", "method": "gradients"}, 422, "gradients"),
        ("explain", {"text": "x" * 20_001}, 413, "characters"),
        ("explain", {"text": "good", "colour": "red"}, 422, "colour"),
        ("explain", {"text": "good", "efort": "light"}, 422, "Did you mean 'effort'?"),
        ("explain", {"text": "good", "budget": 0}, 422, "budget is 0. Give a whole number from 1."),
        ("explain", {"text": "good", "budget": "abc"}, 422, "Give a whole number from 1."),
        ("explain", {"text": "good", "budget": 1e5}, 422, "budget is 100000.0."),
        ("explain", {"text": "good", "budget": 99999}, 422, "Give a number up to 20000."),
        ("explain", {"text": "good", "tolerance": "x"}, 422, "tolerance is 'x'. Give a number"),
        ("explain", {"text": "good", "unit": "wrd"}, 422, "Did you mean 'word'?"),
        ("explain", {"text": "good", "spans": [[1, 2, 3]]}, 422, '"0-12, 20-31"'),
        ("explain", {"text": "good", "marks": "yes"}, 422, "marks is 'yes'."),
        ("explain", {"text": 3}, 422, "text is 3. Give a text."),
        ("explain", {"text": "good", "method": "x" * 999}, 422, "at most 200 characters"),
        ("explain", [], 422, "The request is no JSON object. Send one:"),
        ("answer", {"text": TEXT, "removed": 1}, 422, "removed is 1. Give a list."),
        ("answer", {"text": TEXT, "removed": ["a"]}, 422, "removed.0 is 'a'. Give a whole number."),
        ("edit", {"text": TEXT, "edits": [{"plyer": 0}]}, 422, "Did you mean 'player'?"),
        ("explain", {"text": "a b c d e f", "budget": 1}, 422, "budget"),
        ("answer", {"text": TEXT, "removed": [99]}, 422, "player 99"),
        ("answer", {"text": TEXT, "removed": [-1]}, 422, "removed"),
        ("answer", {"text": "good", "removed": [0]}, 422, "Leave at least one"),
        ("compare", {"text": TEXT, "methods": []}, 422, "methods"),
        ("compare", {"text": TEXT, "methods": ["gradients"]}, 422, "None of the methods"),
        ("download/pdf", {"text": TEXT}, 422, "kind is 'pdf'. Give one of 'html'"),
    ],
)
def test_mistakes_are_told_in_words(api, path, body, status, word):
    told = api.post(f"/api/{path}", json=body)
    assert told.status_code == status
    said = told.json()
    assert set(said) == {"error", "remedy"}
    assert word in f"{said['error']} {said['remedy']}"
    assert "nput should be" not in told.text
    assert "String should" not in told.text


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b'{"text": "\\ud800"}', b"\xff", b""])
def test_bodies_that_are_no_question(api, body):
    told = api.post("/api/explain", content=body, headers={"content-type": "application/json"})
    assert told.status_code in (400, 422)
    assert told.json()["error"]


def test_half_a_character_is_told(api):
    headers = {"content-type": "application/json"}
    told = api.post("/api/explain", content=b'{"text": "good \\ud83d"}', headers=headers)
    assert told.status_code == 422
    assert "lone surrogate" in told.json()["remedy"]


def test_errors_in_a_stream_are_events(api):
    found = events(api.post("/api/explain/stream", json={"text": "good", "target": "x"}).text)
    assert found[-1][0] == "error"
    assert "positive" in json.loads(found[-1][1])["remedy"]


def failing(texts: list[str]) -> list[float]:
    raise KeyError("a secret of the machine")


def test_a_model_that_breaks_is_a_500_without_its_secrets(caplog):
    with client({"broken": piste.from_function(failing)}) as api:
        told = api.post("/api/explain", json={"text": TEXT})
        assert told.status_code == 500
        assert "secret" not in told.text
        assert told.json()["remedy"]
        assert "secret" in caplog.text  # the one who runs the server learns it
        assert api.get("/api/models").status_code == 200


class Slow:
    """A model that waits to be let go."""

    def __init__(self) -> None:
        self.gate, self.calls = threading.Event(), 0

    def __call__(self, texts: list[str]) -> list[float]:
        self.calls += 1
        self.gate.wait(20)
        return [float(text.count("good")) for text in texts]


def in_thread(api: Any, text: str, answers: list[int]) -> threading.Thread:
    def ask() -> None:
        answers.append(api.post("/api/explain", json={"text": text}).status_code)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_a_full_line_turns_away_and_recovers():
    slow, answers = Slow(), []
    with client({"slow": piste.from_function(slow)}, queue=1, workers=1) as api:
        queue: JobQueue = api.served.queue
        threads = [in_thread(api, "good one", answers)]
        assert soon(lambda: slow.calls == 1)
        threads.append(in_thread(api, "good two", answers))
        assert soon(lambda: len(queue.waiting) == 1)
        told = api.post("/api/explain", json={"text": "good three"})
        assert told.status_code == 503
        assert "busy" in told.json()["error"]
        assert told.headers["retry-after"]
        assert api.post("/api/explain/stream", json={"text": "good three"}).status_code == 503
        slow.gate.set()
        for thread in threads:
            thread.join()
        assert answers == [200, 200]
        assert api.post("/api/explain", json={"text": "good three"}).status_code == 200


def test_a_request_that_takes_too_long_is_ended():
    slow = Slow()
    with client({"slow": piste.from_function(slow)}, timeout=0.3) as api:
        told = api.post("/api/explain", json={"text": "good film"})
        assert told.status_code == 504
        assert "0.3 seconds" in told.json()["error"]
        slow.gate.set()
        calls = slow.calls
        assert soon(lambda: not api.served.queue.running)
        time.sleep(0.1)
        assert slow.calls <= calls + 1  # the work itself has stopped, too


def test_stopping_tells_those_who_wait_at_once():
    slow, answers = Slow(), []
    with client({"slow": piste.from_function(slow)}, queue=4, workers=1) as api:
        threads = [in_thread(api, f"good {word}", answers) for word in ("one", "two")]
        assert soon(lambda: slow.calls == 1 and len(api.served.queue.waiting) == 1)
        api.served.queue.stop()
        for thread in threads:
            thread.join(5)
        assert answers == [503, 503]
        assert api.post("/api/explain", json={"text": "good"}).status_code == 503
        slow.gate.set()


def test_a_word_removed_does_not_wait_behind_explanations():
    slow, answers, removed = Slow(), [], threading.Event()
    slow.gate.set()

    def model(texts: list[str]) -> list[float]:
        if any("two" in text for text in texts):
            removed.wait(20)  # nobody is asked to be quick: the answer must come before this one
        return slow(texts)

    with client({"slow": piste.from_function(model)}, queue=1, workers=1) as api:
        assert api.post("/api/explain", json={"text": "good film"}).status_code == 200
        slow.gate.clear()
        slow.calls = 0
        threads = [in_thread(api, "good one", answers)]
        assert soon(lambda: slow.calls == 1)
        threads.append(in_thread(api, "good two", answers))
        assert soon(lambda: len(api.served.queue.waiting) == 1)
        first = []

        def remove() -> None:
            body = {"text": "good film", "removed": [0]}
            first.append((api.post("/api/answer", json=body).status_code, list(answers)))
            removed.set()

        threads.append(threading.Thread(target=remove))
        threads[-1].start()
        assert soon(lambda: len(api.served.queue.waiting) == 2)
        slow.gate.set()
        for thread in threads:
            thread.join()
        assert first[0][0] == 200
        assert len(first[0][1]) <= 1  # the one that ran; not the one that waited


def test_units_of_ones_own_are_given_by_characters_or_by_marks(api):
    plain = {"text": "a good film", "method": "occlusion"}
    answers = [
        api.post("/api/explain", json={**plain, "spans": [[2, 11]]}),
        api.post("/api/explain", json={**plain, "spans": "2-11"}),
        api.post("/api/explain", json={**plain, "text": "a [[good film]]", "marks": True}),
    ]
    for answer in answers:
        assert answer.status_code == 200, answer.text
        told = answer.json()
        assert told["text"] == "a good film"
        assert [player["text"] for player in told["players"]] == ["a", "good film"]
    wrong = api.post("/api/explain", json={**plain, "spans": [[2, 99]]})
    assert (wrong.status_code, "ends at 11" in wrong.text) == (422, True)
    assert api.post("/api/explain", json={**plain, "marks": "yes"}).status_code == 422


def test_words_of_a_marked_text_are_removed_and_replaced(api):
    marked = {"text": "a [[good film]]", "marks": True, "method": "occlusion"}
    gone = api.post("/api/answer", json={**marked, "removed": [1]})
    edited = api.post("/api/edit", json={**marked, "edits": [{"player": 1, "text": "bad book"}]})
    assert gone.status_code == edited.status_code == 200, gone.text + edited.text
    assert edited.json()["text"] == "a bad book"
