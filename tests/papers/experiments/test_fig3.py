"""Growing runs: an additive classifier grows, a flat one does not, and the sentences say so."""

import pytest

from papers.experiments import fig3, run
from papers.experiments.fig3 import NET, TRUTH, findings, measure, table
from papers.experiments.languages import linear_language
from tests.papers.experiments.made_up import additive, flat

LANGUAGE = linear_language()


def found(**classifiers):
    return measure(classifiers, LANGUAGE, 28)


def test_the_truth_grows_by_its_weight():
    one = found()[TRUTH]
    assert one.at(1) == pytest.approx(1.5)
    assert one.at(20) == pytest.approx(30)
    assert one.slopes == pytest.approx((1.5, 1.5))
    assert not one.goes_flat
    assert one.at(29) is None


def test_who_goes_flat():
    measured = found(flat=flat(LANGUAGE, 4.0), additive=additive(LANGUAGE))
    assert measured["flat"].goes_flat
    assert not measured["additive"].goes_flat
    rows = {row[0]: row for row in table(measured).rows}
    assert rows["flat"][1:5] == ("4.00",) * 4
    assert rows["flat"][-2:] == ("first half flat", "goes flat")
    assert rows["additive"][-2] == "1.00"


def test_a_line_that_bends_has_a_ratio():
    bending = fig3.GrowingRun(fig3.np.array([1.0, 2, 3, 4, 4.1, 4.2, 4.3, 4.4]))
    assert bending.slopes == pytest.approx((1.0, 0.1))
    assert bending.goes_flat
    assert fig3._growth(bending)[-1] == "0.10"


def test_sentences_follow_the_numbers():
    agree = findings(found(model=flat(LANGUAGE, 4.0)))
    assert agree[0].startswith("1 of 1 transformers go flat")
    assert not any("Unlike" in sentence for sentence in agree)
    differ = findings(found(model=additive(LANGUAGE)))
    assert differ[0] == "Unlike in the paper, these still move in the last half: model."
    net = findings(measure({NET: additive(LANGUAGE)}, LANGUAGE, 28))
    assert "keeps growing: 1.50" in net[-1]
    net = findings(measure({NET: flat(LANGUAGE, 1.0)}, LANGUAGE, 28))
    assert "goes flat too" in net[-1]


def test_the_experiment_runs(made_up):
    outcome = run("fig3", made_up)
    (measured,) = outcome.tables
    assert [row[0] for row in measured.rows] == [
        TRUTH, "BERT, 1 layer", "DistilBERT, 1 layer", "GPT-2, 1 layer", NET,
    ]  # fmt: skip
    assert measured.rows[0][1:5] == ("1.50", "7.50", "", "")
    assert outcome.settings["longest"] == 8
    lines = outcome.figures["fig3"].axes[0].lines
    assert len(lines) == 5
    assert all(len(line.get_xdata()) == 8 for line in lines)
    assert any("of 3 transformers" in s or "Unlike" in s for s in outcome.findings)
