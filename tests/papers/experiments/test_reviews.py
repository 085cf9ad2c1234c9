"""The review classifiers and what is made of them, on tiny data and planted models."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

import piste
from papers.experiments import (
    Context,
    fig10,
    multi_removal,
    review_tables,
    reviews,
    run,
    table12,
)
from papers.experiments.architectures import (
    MambaForSequenceClassification,
    Size,
    build,
    word_tokenizer,
)
from papers.experiments.training import Recipe, accuracy, train
from piste.metrics import auroc
from piste.runs import Evaluation
from tests.planted import PlantedSlalom, additive

PLANTED = PlantedSlalom(12)
FACTS = {"accuracy": 0.9, "held": 10, "start": "nothing"}


@pytest.fixture
def context(tmp_path):
    """Data of the right form: one line a review, Yelp-HAT with words and maps."""
    rows = [
        {"id": f"50-{n}", "label": n % 2, "text": " ".join(PLANTED.words),
         "words": PLANTED.words, "maps": [[int(w in ("w1", "w2")) for w in PLANTED.words]] * 2}
        for n in range(3)
    ]  # fmt: skip
    for name, part in (("yelp_hat", "all"), ("imdb", "train"), ("imdb", "test")):
        (tmp_path / name).mkdir(exist_ok=True)
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name / f"{part}.jsonl").write_text(lines)
    return Context(tmp_path / "cache", data=tmp_path)


FEW = replace(reviews.REVIEW_SETTINGS["tiny"], texts=2, samples=60, subset="12")
REMOVAL = multi_removal.RemovalSettings(FEW, most=4, draws=5, shown=(1, 4))
MODELS = {"BERT": (piste.from_function(PLANTED), FACTS)}  # a known SLALOM in its place


def test_a_planted_slalom_is_predicted_without_error_by_slalom_alone(context):
    (example, _) = reviews.hat_reviews(context, FEW)
    errors = multi_removal.measure(example, piste.from_function(PLANTED), REMOVAL, seed=0)
    assert errors["SLALOM-fidel"].max() < 1e-3 * errors["no change"].max()
    assert errors["piste, slalom"].max() < 0.01 * errors["no change"].max()
    assert errors["LIME"].max() > 0.01 * errors["no change"].max()  # additive scores cannot


def test_a_linear_model_is_predicted_by_the_additive_ones():
    classifier = piste.from_function(additive(dict(PLANTED.values)))
    example = piste.Example("x", PLANTED.text)
    settings = replace(REMOVAL, reviews=replace(FEW, samples=400), most=3, draws=4)
    errors = multi_removal.measure(example, classifier, settings, seed=0)
    assert errors["SHAP"].max() < 1e-6 * errors["no change"].max()


def test_predicted_removals_are_ranked_by_their_error(context):
    examples = reviews.hat_reviews(context, FEW)
    outcome = multi_removal.mean_errors(context, REMOVAL, examples, MODELS)
    best = min(outcome.tables[0].rows, key=lambda row: float(row[-1]))[0]
    assert best in ("SLALOM-fidel", "piste, context", "piste, slalom")
    assert outcome.findings[0].startswith("From best to worst: ")
    assert outcome.tables[0].columns[1:3] == ("1 removed", "4 removed")


def test_deletion_by_samples_has_a_row_each(context):
    settings = table12.Table12Settings(FEW, (60, 120))
    examples = reviews.hat_reviews(context, FEW)
    outcome = table12.by_samples(context, settings, examples, MODELS)
    assert [row[0] for row in outcome.tables[0].rows] == ["SHAP", "60", "120", "piste"]
    assert outcome.settings["samples"] == (60, 120)


def test_highlights_show_people_first(context):
    (example, _) = reviews.hat_reviews(context, FEW)
    outcome = fig10.highlighted(context, FEW, example, MODELS)
    (row,) = outcome.tables[0].rows
    marked = np.isin(PLANTED.words, ("w1", "w2"))
    values = np.array([PLANTED.values[word] for word in PLANTED.words])
    assert row[1] == f"{auroc(values, marked):.2f}"
    explanation = piste.explain(example.text, MODELS["BERT"][0])
    assert next(iter(fig10.beside(explanation, marked).explanations)) == "people"


def test_a_table_puts_ours_beside_the_papers():
    views = [view.name for view in reviews.views(10)]
    values = {view: {"deletion": 0.5 if view == "SHAP" else 0.9} for view in views}
    rows = [{"index": n, "id": str(n), "values": values} for n in range(9)]
    evaluations = {"BERT": Evaluation(tuple(views), ("deletion",), rows)}
    paper = {"BERT": (0.9, 0.2, 0.9, 0.95, 0.8)}
    outcome = review_tables.beside_the_paper(evaluations, {}, "deletion", "t", paper)
    ours, theirs = outcome.tables[0].rows
    assert ours[2] == "0.900 [0.900, 0.900]"
    assert theirs[:4] == ("BERT", "paper", "0.9", "0.2")
    said = " ".join(outcome.findings)
    undecided = "lin against LIME: no difference beyond chance between lin and LIME"
    assert f"{undecided}; in the paper lin is worse" in said
    assert "lin against SHAP: lin better than SHAP by 0.400" in said


def test_layers_of_a_bert_become_a_distilbert():
    config = BertConfig(vocab_size=20, hidden_size=16, num_hidden_layers=4, num_attention_heads=2,
                        intermediate_size=64, max_position_embeddings=32)  # fmt: skip
    bert = BertForSequenceClassification(config)
    fresh = build("distilbert", Size(layers=2, width=16, heads=2, longest=32), 20)
    reviews._copy_layers(bert.bert, fresh.distilbert)
    ours, theirs = fresh.distilbert.transformer.layer[1], bert.bert.encoder.layer[2]
    assert torch.equal(ours.attention.q_lin.weight, theirs.attention.self.query.weight)
    assert torch.equal(ours.ffn.lin2.bias, theirs.output.dense.bias)
    ids = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        one = fresh.distilbert.embeddings.eval()(ids)
        other = bert.bert.embeddings.eval()(ids)
    assert torch.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "gpt2"])
def test_small_models_learn_a_planted_word(architecture):
    """One word decides the label: a real architecture finds it, and so does the explanation."""
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in range(8)]
    texts = [" ".join(rng.choice(words, size=6)) for _ in range(320)]
    labels = [int("w0" in text.split()) for text in texts]
    torch.manual_seed(0)
    tokenizer = word_tokenizer(words, frame=architecture != "gpt2")
    model = build(architecture, Size(layers=1, width=32, heads=2, longest=32), len(tokenizer))
    train(model, tokenizer, texts, labels, Recipe(epochs=6, rate=3e-3, batch=16))
    assert accuracy(model, tokenizer, texts, labels) > 0.95
    found = piste.explain("w3 w0 w5 w6", piste.load(model, tokenizer, backend="torch"), target=1)
    # The strongest for the label: where the model gets this text wrong, another speaks against it.
    assert max(found.top(), key=lambda row: row.scores[found.primary]).player.text == "w0"


def test_mamba_reads_the_last_token_whatever_the_padding():
    from transformers import MambaConfig

    torch.manual_seed(0)
    config = MambaConfig(vocab_size=20, hidden_size=16, num_hidden_layers=1, num_labels=2)
    model = MambaForSequenceClassification(config).eval()
    ids = torch.tensor([[5, 6, 7, 0, 0], [5, 6, 7, 8, 9]])
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    with torch.no_grad():
        batch = model(ids, mask).logits
        alone = model(torch.tensor([[5, 6, 7]])).logits
    assert torch.allclose(batch[0], alone[0], atol=1e-5)
    assert not torch.allclose(batch[0], batch[1], atol=1e-5)


def test_an_unknown_name_and_a_missing_folder(tmp_path):
    with pytest.raises(piste.PisteError, match="Did you mean 'table6'"):
        run("tabel6", Context(tmp_path))
    with pytest.raises(piste.PisteError, match="Give --data"):
        Context(tmp_path).examples("yelp")
    with pytest.raises(piste.PisteError, match="no data in"):
        Context(tmp_path, data=tmp_path).examples("yelp")
    with pytest.raises(piste.PisteError, match="no scale"):
        Context(tmp_path, scale="huge")
