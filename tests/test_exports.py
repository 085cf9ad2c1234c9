"""An explanation in the forms of pandas and shap."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import piste

shap = pytest.importorskip("shap")
PYPROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
TEXT = "  The plot is thin, but the acting is superb.\n"


@pytest.fixture(scope="module")
def explanation(demo):
    return piste.explain(TEXT, demo)


def test_a_data_frame_has_a_row_for_every_player(explanation):
    frame = explanation.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["word"]) == [player.text for player in explanation.players]
    assert [TEXT[a:b] for a, b in zip(frame["start"], frame["end"], strict=True)] == list(
        frame["word"]
    )
    for name, values in explanation.scores.items():
        assert frame[name].tolist() == values.tolist()
    for name in explanation.scores:  # not every score has an error
        assert frame[f"{name}_error"].isna().all() == (name not in explanation.errors)
    assert frame["effect_error"].tolist() == explanation.errors["effect"].tolist()
    frame["value"] = 0.0
    assert explanation.scores["value"].any()  # a copy


CORE = ["word", "start", "end", "group", "segment", "score", "score_error"]


@pytest.mark.parametrize(
    "method", ["context", "slalom", "occlusion", "lime", "attention", "anchors"]
)
@pytest.mark.parametrize("unit", ["word", "token"])
def test_any_method_has_the_same_columns_first(demo, method, unit):
    found = piste.explain(TEXT, demo, method, unit=unit)
    frame = found.to_pandas()
    assert list(frame.columns[: len(CORE)]) == CORE
    assert frame["score"].tolist() == found.scores[found.primary].tolist()
    known = found.primary in found.errors
    assert frame["score_error"].isna().all() == (not known)
    own = list(frame.columns[len(CORE) :])
    assert own[1::2] == [f"{name}_error" for name in own[::2]]
    assert set(own[::2]) == set(found.scores)
    assert set(frame["segment"]) == {0}


def test_many_texts_have_the_columns_of_one(demo):
    found = piste.explain([TEXT, "", "a film"], demo, "occlusion")
    mixed = piste.Explanations([found[0], found[1], piste.explain("a film", demo)])
    for results in (found, mixed):
        frame = results.to_pandas()
        before = ["index", "id", "position", "target"]
        assert list(frame.columns[: len(before) + len(CORE)]) == [*before, *CORE]
        first = frame[frame["index"] == 0].reset_index(drop=True)
        alone = found[0].to_pandas()
        pd.testing.assert_frame_equal(first[alone.columns], alone, check_dtype=False)
        assert set(frame["index"]) == {0, 2}
    assert mixed.to_pandas().query("index == 0")["effect"].isna().all()


def test_the_second_text_of_a_pair_is_marked(demo):
    frame = piste.explain("A film.", demo, "occlusion", pair="A play.").to_pandas()
    assert set(frame["segment"]) == {0, 1}


def test_shap_gets_pieces_that_make_up_the_text_and_scores_that_add_up(explanation):
    found = explanation.to_shap()
    assert "".join(found.data) == TEXT
    assert found.values.tolist() == explanation.scores["effect"].tolist()
    assert found.base_values == explanation.base
    assert found.base_values + found.values.sum() == pytest.approx(explanation.target.score)
    assert found.base_values == pytest.approx(explanation.base, abs=1e-6)
    assert found.output_names == "positive"


def test_the_scores_of_other_methods_start_from_what_they_leave(demo):
    slalom = piste.explain(TEXT, demo, "slalom").to_shap()
    assert slalom.base_values + slalom.values.sum() == pytest.approx(
        piste.explain(TEXT, demo, "slalom").target.score
    )


def test_shap_plots_it(explanation):
    html = shap.plots.text(explanation.to_shap(), display=False)
    assert "superb" in html
    named = shap.plots.text(explanation.to_shap("lin"), display=False)
    assert "superb" in named


def test_the_way_there_and_back(explanation, demo):
    again = piste.explain(TEXT, demo, piste.adapt(explanation.to_shap()))
    assert np.allclose(again.scores["weight"], explanation.scores["effect"])


def test_scores_without_a_side_are_refused(demo, explanation):
    with pytest.raises(piste.PisteError, match="no side"):
        piste.explain(TEXT, demo, "attention").to_shap()
    with pytest.raises(piste.PisteError, match="no score"):
        explanation.to_shap("nonsense")


def test_the_scores_of_another_class_are_refused(demo):
    every = piste.explain(TEXT, demo, target="all")
    (other,) = [name for name in every.scores if name.startswith("effect: ")]
    with pytest.raises(piste.PisteError, match="no score"):
        every.to_shap(other)


@pytest.mark.parametrize(("library", "call"), [("pandas", "to_pandas"), ("shap", "to_shap")])
def test_a_missing_library_is_named(library, call, explanation, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(piste.PisteError) as caught:
        getattr(explanation, call)()
    assert f"{call}() needs {library}" in caught.value.cause
    assert f"pip install 'piste[{library}]'" in caught.value.remedy
    assert library in EXTRAS


def test_comparisons_and_summaries_name_the_extra_too(demo, tmp_path, monkeypatch):
    comparison = piste.compare("A good film", demo, ["occlusion"])
    piste.build_lexicon(["A good film"], demo, out=tmp_path / "words.json")
    summary = piste.summarise(tmp_path / "words.json")
    monkeypatch.setitem(sys.modules, "pandas", None)
    for result in (comparison, summary):
        with pytest.raises(piste.PisteError, match=re.escape("pip install 'piste[pandas]'")):
            result.to_pandas()


def test_a_comparison_as_a_data_frame_and_its_verdict(demo):
    found = piste.compare(TEXT, demo, ["occlusion", "gradients"], measure=True)
    frame = found.to_pandas()
    assert list(frame.columns) == ["word", "start", "end", "occlusion", "gradients"]
    own = found.explanations["gradients"]
    assert frame["gradients"].tolist() == own.scores[own.primary].tolist()
    assert " ".join(found.verdict.split()) in " ".join(str(found).split())


def test_a_summary_as_a_data_frame(demo, tmp_path):
    lexicon = piste.build_lexicon(["A good film", "a bad plot"], demo, out=tmp_path / "words.json")
    summary = piste.summarise(tmp_path / "words.json")
    frame = summary.to_pandas()
    assert len(frame) == len(lexicon)
    assert frame["word"].tolist() == [word.word for word in summary.strongest(least=1)]
    assert frame["lin"].abs().is_monotonic_decreasing


def test_every_method_is_public_by_its_class():
    for method in piste.METHODS.values():
        assert getattr(piste, type(method).__name__) is type(method)
