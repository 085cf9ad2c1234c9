"""The similarity of two texts, and one number for two texts: what a reranker gives."""

import json

import numpy as np
import pytest
import torch
from transformers import BertModel

import piste
from piste.errors import ModelError, OutputError, SettingError
from tests.conftest import tiny_bert, wordpiece_tokenizer

FIRST, SECOND = "the film was good", "the plot was not bad"


def letters(texts):
    return np.array(
        [[text.count(letter) for letter in "abdefghilmnopstw"] for text in texts], float
    )


def cosine(one, other):
    a, b = letters([one, other])
    size = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / size) if size else 0.0


def test_the_number_explained_is_the_cosine_of_two_texts():
    similarity = piste.from_embedding(letters)
    found = piste.explain(FIRST, similarity, "occlusion", pair=SECOND)
    assert found.target.score == pytest.approx(cosine(FIRST, SECOND))
    assert (found.target.scale, found.target.label) == ("raw score", "similarity")
    assert found.target.probability is None
    removed = dict(zip([p.text for p in found.players], found.scores["removal"], strict=True))
    without = cosine("the film was", SECOND)
    assert removed["good"] == pytest.approx(cosine(FIRST, SECOND) - without)


def test_effects_and_base_add_up_to_it():
    found = piste.explain(FIRST, piste.from_embedding(letters), pair=SECOND)
    total = found.base + found.scores["effect"].sum()
    assert total == pytest.approx(cosine(FIRST, SECOND), abs=1e-6)
    assert {player.segment for player in found.players} == {0, 1}


def test_a_fixed_text_leaves_the_words_of_the_other():
    found = piste.explain([FIRST, "the end"], piste.from_embedding(letters, to=SECOND), "occlusion")
    assert found[0].target.score == pytest.approx(cosine(FIRST, SECOND))
    assert [player.text for player in found[0].players] == FIRST.split()


def test_each_distinct_text_is_embedded_once_a_batch():
    asked = []

    def counting(texts):
        asked.append(list(texts))
        return letters(texts)

    piste.explain(FIRST, piste.from_embedding(counting), "occlusion", pair=SECOND)
    assert all(len(set(texts)) == len(texts) for texts in asked)


@pytest.mark.parametrize(
    ("make", "ask", "error", "says"),
    [
        (lambda: piste.from_embedding(letters), {}, SettingError, "Give the other"),
        (lambda: piste.from_embedding(letters, to="x"), {"pair": "y"}, SettingError, "Leave pair"),
        (lambda: piste.from_embedding(lambda t: [1.0] * len(t), to="x"), {}, OutputError, "shape"),
        (lambda: piste.from_embedding(lambda t: ["a"] * len(t), to="x"), {}, OutputError, "numbe"),
        (lambda: piste.from_embedding(3), {}, SettingError, "no embeddings"),
    ],
)  # fmt: skip
def test_mistakes_are_told(make, ask, error, says):
    with pytest.raises(error, match=says):
        piste.explain(FIRST, make(), **ask)


@pytest.fixture(scope="module")
def encoder():
    tokenizer = wordpiece_tokenizer()
    tokenizer.model_max_length = 16
    return tiny_bert(len(tokenizer)).bert, tokenizer


def means(model, tokenizer, text):
    with torch.inference_mode():
        states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state
    return states[0].mean(dim=0).double().numpy()


def test_an_encoder_is_averaged_over_its_tokens(encoder, tmp_path):
    one, other = (means(*encoder, text) for text in (FIRST, SECOND))
    expected = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    model, tokenizer = encoder
    BertModel(model.config).load_state_dict(model.state_dict(), strict=False)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for similarity in (piste.from_embedding(model, tokenizer), piste.from_embedding(tmp_path)):
        found = piste.explain(FIRST, similarity, "occlusion", pair=SECOND)
        assert found.target.score == pytest.approx(expected, abs=1e-5)


def test_texts_that_are_cut_are_told(encoder):
    long = " ".join(["good", "bad"] * 12)

    def told(text, similarity, **more):
        notes = piste.explain(text, similarity, "occlusion", **more).notes
        return sum("cut before they were embedded" in note for note in notes)

    similarity = piste.from_embedding(*encoder, to=SECOND)
    assert told(long, similarity) == 1
    assert told(FIRST, similarity) == 0  # of this one nothing was cut
    assert told(FIRST, piste.from_embedding(*encoder, to=long)) == 1
    both = piste.from_embedding(*encoder)
    assert told(FIRST, both, pair=long) == told(long, both, pair=long) == 1
    assert told(FIRST, both, pair=SECOND) == 0


def test_another_pooling_is_refused(tmp_path):
    parts = [{"path": "", "type": "st.Transformer"}, {"path": "1_Pooling", "type": "st.Pooling"}]
    (tmp_path / "modules.json").write_text(json.dumps(parts))
    (tmp_path / "1_Pooling").mkdir()
    config = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="does not average its tokens"):
        piste.from_embedding(tmp_path)
    (tmp_path / "1_Pooling" / "config.json").write_text("{")
    with pytest.raises(ModelError, match="Cannot tell how"):
        piste.from_embedding(tmp_path)


class SentenceTransformer:
    """What sentence-transformers' class offers."""

    similarity = None

    def encode(self, texts, show_progress_bar, convert_to_numpy):
        assert (show_progress_bar, convert_to_numpy) == (False, True)
        return letters(texts)


def test_a_sentence_transformer_makes_its_own_vectors():
    found = piste.explain(
        FIRST, piste.from_embedding(SentenceTransformer()), "occlusion", pair=SECOND
    )
    assert found.target.score == pytest.approx(cosine(FIRST, SECOND))


class Holder:
    """A pipeline or a cross-encoder: a model, its tokenizer, maybe a task."""

    def __init__(self, model, tokenizer, task=None):
        self.model, self.tokenizer = model, tokenizer
        if task is not None:
            self.task = task


@pytest.fixture(scope="module")
def reranker():
    tokenizer = wordpiece_tokenizer()
    tokenizer.model_max_length = 64
    return tiny_bert(len(tokenizer), num_labels=1), tokenizer


def test_a_cross_encoder_is_one_number_of_two_texts(reranker):
    model, tokenizer = reranker
    with torch.inference_mode():
        inputs = tokenizer(FIRST, SECOND, return_tensors="pt")
        expected = model(**inputs).logits.item()
    for given in (Holder(model, tokenizer), piste.load(Holder(model, tokenizer), backend="torch")):
        found = piste.explain(FIRST, given, "occlusion", pair=SECOND)
        assert found.target.score == pytest.approx(expected, abs=1e-3)
        assert found.target.scale == "raw score"
        assert {player.segment for player in found.players} == {0, 1}


def test_every_form_of_a_transformers_model_is_taken_or_says_what_is_missing(reranker, tmp_path):
    model, tokenizer = tiny_bert(len(reranker[1])), reranker[1]
    with pytest.raises(ModelError, match=r"needs its tokenizer. Pass it too: piste.load"):
        piste.explain(FIRST, model)
    model.save_pretrained(tmp_path / "alone")
    alone = type(model).from_pretrained(tmp_path / "alone")
    with pytest.raises(ModelError, match=r"load\(model, tokenizer\)"):
        piste.explain(FIRST, alone)
    model.save_pretrained(tmp_path / "both")
    tokenizer.save_pretrained(tmp_path / "both")
    both = type(model).from_pretrained(tmp_path / "both")
    score = piste.explain(FIRST, piste.load(model, tokenizer), "occlusion").target.score
    for given in (both, tmp_path / "both", Holder(model, tokenizer, "text-classification")):
        found = piste.explain(FIRST, given, "occlusion")
        assert found.target.score == pytest.approx(score, abs=1e-3)
        assert piste.load(given).labels == ("LABEL_0", "LABEL_1")
    with pytest.raises(ModelError, match="zero-shot-classification, not for text"):
        piste.load(Holder(model, tokenizer, "zero-shot-classification"))
    with pytest.raises(ModelError, match="has no tokenizer"):
        piste.explain(FIRST, Holder(model, None))
