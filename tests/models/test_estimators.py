"""Other people's objects, as they are: scikit-learn pipelines and transformers pipelines."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
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


def test_a_regression_is_explained_on_its_own_scale():
    pipeline = fitted(Ridge(alpha=0.1), [5.0, 1.0, 4.0, 2.0])
    found = piste.explain("good cold film", pipeline, "occlusion")
    words, weights = pipeline[0].vocabulary_, pipeline[1].coef_
    assert found.target.scale == "raw score"
    assert found.target.score == pytest.approx(pipeline.predict(["good cold film"])[0])
    expected = [weights[words[word]] for word in ("good", "cold", "film")]
    assert found.scores["removal"] == pytest.approx(expected)


def test_labels_that_do_not_exclude_each_other():
    labels = [[1, 1], [0, 1], [1, 0], [0, 0]]
    pipeline = fitted(OneVsRestClassifier(LogisticRegression()), np.array(labels))
    found = piste.explain("good cold film", pipeline, "occlusion", target=1)
    score = pipeline.decision_function(["good cold film"])[0][1]
    assert found.target.score == pytest.approx(score)  # not against the other label
    assert found.target.scale == "log-odds"


def test_a_classifier_without_scores_is_told_what_it_lacks():
    class Hard:
        classes_ = ("a", "b")

        def predict(self, texts):
            return ["a"] * len(texts)

    with pytest.raises(piste.PisteError, match="predict_proba"):
        piste.explain("A film.", Hard())


@pytest.mark.parametrize(
    ("outputs", "answers", "scale", "score"),
    [
        ("raw", [2.5], "raw score", 2.5),
        ("label-logits", [[0.3, -1.0]], "log-odds", 0.3),
        ("label-probabilities", [[0.8, 0.8]], "log-odds", np.log(4)),
    ],
)
def test_functions_say_what_their_numbers_are(outputs, answers, scale, score):
    function = piste.from_function(lambda texts: answers * len(texts), outputs=outputs)
    found = piste.explain("A film.", function, "occlusion", target=0)
    assert found.target.scale == scale
    assert found.target.score == pytest.approx(score)
