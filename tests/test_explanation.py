import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piste
from piste.errors import FileError, SettingError
from piste.result.facts import Agreement, Fidelity
from tests.planted import PlantedSlalom


@pytest.fixture(scope="module")
def explanation():
    planted = PlantedSlalom(6)
    text = planted.text + " w1 w1"
    return piste.explain(text, piste.from_function(planted), target="positive")


def test_json_round_trip(explanation, tmp_path):
    path = tmp_path / "explanation.json"
    assert explanation.to_json(path) is None  # a notebook would show it
    assert path.read_text() == explanation.to_json() + "\n"
    back = piste.Explanation.from_json(path)
    assert back == explanation
    assert back.players == explanation.players
    assert back.target == explanation.target
    assert all((back.scores[k] == v).all() for k, v in explanation.scores.items())
    assert all((back.errors[k] == v).all() for k, v in explanation.errors.items())
    assert back.fidelity == explanation.fidelity


def test_a_planted_slalom_is_matched_on_every_kind_of_sequence():
    """Words that occur several times included."""
    planted = PlantedSlalom(6)
    classifier = piste.from_function(planted)
    explanation = piste.explain(planted.text + " w1 w1", classifier, "slalom", target="positive")
    assert set(explanation.fidelity.checks) == {"short", "deletions"}
    assert all(check.r2 > 0.999 for check in explanation.fidelity.checks.values())


def test_errors_have_the_form_of_the_scores(explanation):
    assert explanation.errors.keys() == explanation.scores.keys() - {"relevance"}
    for name, error in explanation.errors.items():
        assert error.shape == explanation.scores[name].shape
        assert (error >= 0).all()
    row = explanation.top(1)[0]
    assert row.errors["value"] >= 0


def test_errors_of_other_scores_are_refused(explanation):
    data = explanation.to_dict()
    del data["scores"]["value"]
    with pytest.raises(FileError, match="do not go with scores of"):
        piste.Explanation.from_dict(data)


def test_top_lists_distinct_players_strongest_first(explanation):
    rows = explanation.top(3, by="value")
    strengths = [abs(row.scores["value"]) for row in rows]
    assert strengths == sorted(strengths, reverse=True)
    assert len({row.player.group for row in rows}) == 3
    everything = explanation.top(100)
    assert len(everything) == 6
    assert {row.player.text: row.occurrences for row in everything}["w1"] == 3
    with pytest.raises(SettingError, match="effect, value, importance"):
        explanation.top(by="vlaue")


@pytest.mark.parametrize("count", [-1, "3", 2.0, True])
def test_top_takes_a_whole_number(explanation, count):
    with pytest.raises(SettingError, match="whole number"):
        explanation.top(count)
    assert explanation.top(0) == []


def test_equality_and_a_short_repr(explanation):
    changed = piste.Explanation.from_dict({**explanation.to_dict(), "seed": 9})
    assert explanation != changed
    assert explanation != "an explanation"
    assert len(repr(explanation)) < 120
    assert "positive" in repr(explanation)


def test_the_worst_check_speaks_for_all():
    good, bad, none = Agreement(0.9, 1.0, 9), Agreement(-0.5, 2.0, 9), Agreement(None, 0.1, 9)
    assert Fidelity({"short": good, "deletions": bad}).r2 == -0.5
    assert Fidelity({"short": good, "deletions": bad}).rmse == 2.0
    assert Fidelity({"short": none, "deletions": good}).r2 == 0.9
    assert Fidelity({"short": none}).r2 is None


def test_scores_are_aligned_with_players(explanation):
    assert len(explanation.players) == 8
    assert all(score.shape == (8,) for score in explanation.scores.values())
    assert explanation.scores["value"][1] == explanation.scores["value"][6]
    assert explanation.scores["importance"][[0, 1, 2, 3, 4, 5]].sum() == pytest.approx(0)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "3", '{"schema": 1}', "[" * 100_000])
def test_files_that_are_no_explanation(content, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(FileError):
        piste.Explanation.from_json(path)


def test_files_that_cannot_be_read_or_written(explanation, tmp_path):
    with pytest.raises(FileError, match="Cannot read"):
        piste.Explanation.from_json(tmp_path / "nothing.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError):
        piste.Explanation.from_json(tmp_path / "bytes.json")
    with pytest.raises(FileError, match="Cannot write"):
        explanation.to_json(tmp_path / "no" / "such" / "folder.json")


def test_files_of_the_first_schema_are_still_read():
    """0.1 kept nothing of parts or of the text's length, and a calibration that is gone."""
    planted = PlantedSlalom(6)
    classifier = piste.from_function(planted)
    now = piste.explain(planted.text, classifier, "slalom", target="positive")
    data = {k: v for k, v in now.to_dict().items() if k not in ("parts", "base", "flip", "core")}
    data["cost"] = {k: v for k, v in data["cost"].items() if k != "full_tokens"}
    data["formula"] |= {"removal_scale": 1.0, "removal_effects": [0.0] * 6}
    old = piste.Explanation.from_dict({**data, "schema": 1})
    assert old.cost.full_tokens is None
    assert old.cost.passes is None
    assert replace(old, cost=now.cost) == now
    assert old.to_dict()["schema"] == 2
    for schema in (0, 3, "2", None):
        with pytest.raises(FileError, match="schema"):
            piste.Explanation.from_dict({**data, "schema": schema})


def paths(value, prefix=()):
    yield prefix
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(item, (*prefix, key))


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**40), st.floats(), st.text(max_size=3),
    st.just([]), st.just({}), st.just([[]]), st.just({"a": 1}),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_explanation_is_refused_or_still_sound(explanation, data):
    damaged = copy.deepcopy(explanation.to_dict())
    where = [p for p in paths(damaged) if p]
    *parents, last = data.draw(st.sampled_from(where))
    holder = damaged
    for key in parents:
        holder = holder[key]
    if data.draw(st.booleans()):
        del holder[last]
    else:
        holder[last] = data.draw(JUNK)
    try:
        back = piste.Explanation.from_dict(damaged)
    except FileError:
        return
    assert all(np.isfinite(score).all() for score in back.scores.values())
    assert all(len(score) == len(back.players) for score in back.scores.values())
    back.to_json()


def test_places_that_score_apart_are_rows_apart(demo):
    found = piste.explain("good film good cast not good", demo, "occlusion")
    rows = [row for row in found.top() if row.player.text == "good"]
    assert len(rows) == 3
    assert all(row.occurrences == 1 for row in rows)
    shared = piste.explain("good film good cast not good", demo, "lime")
    (row,) = [row for row in shared.top() if row.player.text == "good"]
    assert row.occurrences == 3


def test_words_that_the_model_cannot_tell_apart_are_all_in_the_name_of_their_row(demo):
    found = piste.explain("日本 film 本日 good 語 Good 漢字", demo, "lime")
    names = {row.name: row.occurrences for row in found.top()}
    assert names == {"日/本/語/…": sum(names.values()) - 3, "film": 1, "good": 2}


def test_the_headline_is_the_first_sentence_that_is_printed(demo):
    found = piste.explain("A superb film.", demo)
    assert str(found).startswith(found.headline)
    assert "superb" in found.headline


@pytest.mark.parametrize("removed", [3, None, "ab"])
def test_removed_players_are_a_list(demo, removed):
    found = piste.explain("good film", demo, "occlusion")
    with pytest.raises(SettingError, match="Give indices"):
        found.change(removed)


def test_errors_of_equal_words_are_summed(demo):
    """An upper bound, however their errors go together: draws with several correlations."""
    text = "superb plot, superb acting, superb film"
    explanation = piste.explain(text, demo)
    row = next(row for row in explanation.top() if row.player.text == "superb")
    own = [i for i, player in enumerate(explanation.players) if player.text == "superb"]
    errors = explanation.errors["effect"][own]
    assert row.occurrences == 3
    assert row.errors["effect"] == pytest.approx(errors.sum())
    rng = np.random.default_rng(0)
    for share in (-0.4, 0.0, 0.6, 1.0):  # of correlation between any two
        correlation = np.full((3, 3), share) + (1 - share) * np.eye(3)
        draws = rng.multivariate_normal(np.zeros(3), correlation * np.outer(errors, errors), 4000)
        assert draws.sum(axis=1).std() <= row.errors["effect"] * 1.05


def test_a_score_that_does_not_exist_is_told(explanation):
    with pytest.raises(SettingError, match=r"no score 'efect'. Did you mean 'effect'\? Valid: eff"):
        explanation.scores["efect"]
    with pytest.raises(KeyError, match=r"^There is no standard error of 'relevance'. Valid: "):
        explanation.errors["relevance"]  # whoever expects a KeyError gets one
    with pytest.raises(SettingError, match="Did you mean 'value'"):
        explanation.top(3, by="valeu")
    assert explanation.scores.get("efect") is None
    back = piste.Explanation.from_dict(explanation.to_dict())
    for same in (back, copy.deepcopy(explanation), replace(back, seed=1)):
        with pytest.raises(SettingError, match="Did you mean 'effect'"):
            same.scores["efect"]


def test_pairs_and_sets_of_players_name_their_words(explanation, demo):
    pair = explanation.pairs(1)[0]
    words = tuple(explanation.players[index].text for index in (pair.first, pair.second))
    assert pair.words == words
    assert repr(pair).startswith(f"<Pair {words[0]!r} ({pair.first}), {words[1]!r} ({pair.second})")
    every = explanation.pairs(100)
    assert all(pair.words for pair in every)
    found = piste.explain("The plot is thin, but the acting is superb.", demo)
    assert repr(found.flip).startswith("<PlayerSet 'superb' (9): 'negative', score -0.7")
    assert str(found.core).startswith("<PlayerSet 'superb' (9): 'positive', score +2.7")
    back = piste.Explanation.from_dict(found.to_dict())
    assert back.flip == found.flip
    assert back.flip.words == ("superb",)
    assert "words" not in found.to_dict()["flip"]  # files have the players
    assert repr(piste.Pair(1, 2, 0.5, 0.25)) == "<Pair 1, 2: effect +0.5 ±0.25>"


def test_rounding_is_no_interaction():
    """Words that only add up; summed in another order, doubles differ by the last digit."""
    weights = {"good": 2.0, "bad": -1.3, "film": 0.1, "the": 0.3, "tea": 0.7}
    adds = piste.from_function(
        lambda texts: [sum(weights[word] for word in text.split()) for text in texts], name="adds"
    )
    found = piste.explain(["the good film tea", "the bad film tea"], adds)
    for one in found:
        assert [pair.effect for pair in one.pairs(6)] == [0.0] * 6
        assert one.pairs(0) == []
    assert found.summary().together(1) == []
    assert "act together" not in str(found.summary())


def test_words_of_a_set_cannot_write_to_a_terminal():
    hostile = piste.PlayerSet((0,), 0.0, 0.0, -1.0, "\x1b[2J").told(["\x1b]0;x\x07\u202e"])
    assert repr(hostile).isprintable()
