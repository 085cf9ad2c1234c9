"""The shared model: trained once, kept, found again; and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest

from papers.experiments import single_layer_imdb as imdb
from papers.theory.single_layer import CLS, UNK
from piste.data import Example
from piste.errors import PisteError
from tests.papers.experiments.toy_imdb import TINY, toy_context, write_reviews


@pytest.fixture(scope="module")
def model(toy):
    return imdb.trained(toy, TINY)


def test_the_paper_scale_is_the_papers():
    paper, shape = imdb.PAPER, imdb.PAPER.shape
    assert (paper.train, paper.validation, paper.test) == (20_000, 5_000, 25_000)
    assert (paper.epochs, paper.rate, paper.batch) == (10, 1e-4, 16)
    assert (shape.width, shape.key_width, shape.value_width) == (128, 64, 64)
    assert (shape.heads, shape.window) == (6, 256)
    assert imdb.SETTINGS["small"].shape == shape


def test_it_learns_and_is_measured_on_reviews_it_has_not_seen(model, toy):
    assert model.facts["tested"] == 60
    assert model.facts["validated"] == 50
    tested = imdb.reviews(toy, "test", 60)
    assert model.facts["test accuracy"] == imdb.accuracy(model.classifier, tested) > 0.6
    wrong = [replace(example, label=1 - example.label) for example in tested]
    assert imdb.accuracy(model.classifier, wrong) == pytest.approx(1 - model.facts["test accuracy"])


def test_it_is_trained_once(model, toy, monkeypatch):
    def refuse(*_):
        raise AssertionError("trained again")

    monkeypatch.setattr(imdb, "fit", refuse)
    again = imdb.trained(toy, TINY)
    assert np.array_equal(
        again.classifier.module.last.detach(), model.classifier.module.last.detach()
    )
    assert again.facts == model.facts
    for other, settings in ((toy, replace(TINY, rate=2e-2)), (replace(toy, seed=1), TINY)):
        with pytest.raises(AssertionError, match="trained again"):
            imdb.trained(other, settings)


def test_other_reviews_make_another_model(model, toy, tmp_path, monkeypatch):
    changed = imdb.reviews(toy, "train")
    changed[0] = replace(changed[0], text="superb")
    write_reviews(tmp_path, "train", [(row.text, row.label) for row in changed])
    monkeypatch.setattr(imdb, "fit", lambda *_: pytest.fail("trained again"))
    with pytest.raises(pytest.fail.Exception, match="trained again"):
        imdb.trained(replace(toy, data=tmp_path / "data"), TINY)


def test_what_cannot_be_done_is_refused(toy):
    with pytest.raises(PisteError, match="400 training reviews, and this scale takes 5,050"):
        imdb.trained(toy, replace(TINY, train=5_000))
    with pytest.raises(PisteError, match="Leave out --pretrained"):
        imdb.trained(replace(toy, pretrained="somewhere"), TINY)


def test_reviews_lose_their_tags_and_need_a_label(tmp_path):
    context = toy_context(tmp_path)
    write_reviews(tmp_path, "train", [("fine<br /><br />film", 1)])
    assert imdb.reviews(context, "train")[0].text == "fine  film"
    write_reviews(tmp_path, "train", [("fine film", None)])
    with pytest.raises(PisteError, match="train/0"):
        imdb.reviews(context, "train")


def test_the_sentence_is_the_first_of_its_length(model):
    long, short = " ".join(["movie"] * 26), " ".join(["movie"] * 11)
    right = "The movie was superb, the plot weak and the music a zzz!"
    found = imdb.pick_sentence(
        model, [Example(str(i), text) for i, text in enumerate((long, short, right, right))]
    )
    assert (found.id, found.text) == ("2", right)
    assert found.tokens[:5] == ("The", "movie", "was", "superb", ",")
    assert found.ids[0] == CLS
    assert len(found.ids) == 1 + len(found.tokens) == 15
    assert found.ids[5] == found.ids[13] == UNK
    (said,) = imdb.unknown_words(found)
    assert "zzz" in said
    assert "superb" not in said
    with pytest.raises(PisteError, match="No test review"):
        imdb.pick_sentence(model, [Example("0", long)])


@pytest.mark.parametrize(
    ("accuracy", "said"),
    [(0.9, "9.8 points more than"), (0.7, "10.2 points less than"), (0.8, "as many as")],
)
def test_the_accuracy_is_judged(model, accuracy, said):
    facts = {**model.facts, "test accuracy": accuracy, "tested": 4_000}
    assert said in imdb.model_finding(replace(model, facts=facts))


def test_the_table_names_both(model):
    rows = {row[0]: row[1:] for row in imdb.model_table(model).rows}
    assert rows["test accuracy"][1] == "80.19%"
    assert rows["test accuracy"][0] == f"{model.facts['test accuracy']:.2%}"
    assert rows["heads, d_e, d_att, d_out, T_max"] == ("3, 16, 8, 8, 32", "6, 128, 64, 64, 256")
