"""Other people's objects, as they are: scikit-learn pipelines and transformers pipelines."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from transformers import TextClassificationPipeline

import piste

TEXTS = ["good warm film", "bad cold film", "good end", "bad end", "odd plot", "odd end"]


def fitted(estimator, labels):
    return make_pipeline(CountVectorizer(), estimator).fit(TEXTS[: len(labels)], labels)


def test_a_linear_pipeline_is_explained_by_its_own_weights():
    pipeline = fitted(LogisticRegression(), ["pos", "neg", "pos", "neg"])
    found = piste.explain("good cold film", pipeline, "occlusion", target="pos")
    words = pipeline[0].vocabulary_
    weights = pipeline[1].coef_[0]
    assert pipeline.classes_.tolist() == ["neg", "pos"]
    expected = [weights[words[word]] for word in ("good", "cold", "film")]
    assert found.scores["removal"] == pytest.approx(expected)
    assert found.target.labels == ("neg", "pos")


def test_probabilities_where_there_is_no_decision_function():
    pipeline = fitted(MultinomialNB(), ["pos", "neg", "pos", "neg", "odd", "odd"])
    found = piste.explain("good warm film", pipeline, "occlusion")
    assert found.target.label == "pos"
    probability = pipeline.predict_proba(["good warm film"])[0][2]
    assert found.target.probability == pytest.approx(probability)


def test_a_transformers_pipeline(demo):
    pipe = TextClassificationPipeline(model=demo.model, tokenizer=demo.tokenizer)
    one = piste.explain("A superb film.", pipe, "occlusion")
    other = piste.explain("A superb film.", demo, "occlusion")
    assert np.allclose(one.scores["removal"], other.scores["removal"], atol=1e-4)


def test_something_else_is_told_what_would_do():
    with pytest.raises(piste.PisteError, match="scikit-learn pipeline"):
        piste.explain("A film.", object())
