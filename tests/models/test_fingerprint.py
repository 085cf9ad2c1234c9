"""One model is told from another of the same name; the same one is known again."""

import shutil
from copy import deepcopy

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import piste
from piste.errors import FunctionError, SettingError
from piste.models.fingerprint import (
    ANSWERS,
    check_lexicon,
    difference,
    file_digest,
    fingerprint,
    merged,
    weights_digest,
)
from tests.conftest import tiny_bert, tiny_gpt2
from tests.endpoint import running
from tests.pages.desk import PROMPT
from tests.planted import additive

TEXTS = [("good film", None), ("a bad plot", None), ("the acting was superb", None)]


@pytest.fixture
def model(wordpiece):
    return tiny_bert(len(wordpiece))


def load(model, tokenizer):
    return piste.load(model, tokenizer, backend="torch")


def test_the_same_model_is_known_again(model, wordpiece, tmp_path):
    before = fingerprint(load(model, wordpiece), [])
    model.save_pretrained(tmp_path / "a")
    wordpiece.save_pretrained(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for folder in ("a", "b"):
        for backend in ("torch", "openvino"):
            loaded = piste.load(str(tmp_path / folder), backend=backend)
            assert difference(before, fingerprint(loaded, [])) is None


def test_using_a_model_does_not_change_its_fingerprint(model, wordpiece):
    tokenizer = deepcopy(wordpiece)
    classifier = load(model, tokenizer)
    before = fingerprint(classifier, [])
    piste.explain("the film was good", classifier, "gradients")
    tokenizer(["good film"], padding="max_length", truncation=True, max_length=7)
    model.train()
    assert fingerprint(classifier, []) == before


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
def test_one_changed_weight_is_seen(model, wordpiece, kind):
    classifier = load(model.to(kind), wordpiece)
    before, digest = fingerprint(classifier, []), weights_digest(model)
    assert weights_digest(deepcopy(model)) == digest
    model.classifier.bias.data[0] += 0.5
    assert weights_digest(model) != digest
    assert difference(before, fingerprint(classifier, [])).startswith("weights")


def test_tied_scalar_and_scattered_weights(byte_level):
    config = GPT2Config(vocab_size=len(byte_level), n_embd=32, n_layer=1, n_head=2, n_positions=64)
    tied = GPT2LMHeadModel(config)
    assert tied.lm_head.weight.data_ptr() == tied.transformer.wte.weight.data_ptr()
    tied.register_buffer("scalar", torch.tensor(1.5))
    tied.register_buffer("scattered", torch.arange(12.0).reshape(3, 4).T)
    tied.register_buffer("none", torch.empty(0))
    digest = weights_digest(tied)
    assert weights_digest(deepcopy(tied)) == digest
    untied = deepcopy(tied)
    untied.lm_head.weight = torch.nn.Parameter(tied.lm_head.weight.detach().clone())
    assert weights_digest(untied) == digest  # the same numbers
    with torch.no_grad():
        tied.lm_head.weight[0, 0] += 1
    assert weights_digest(tied) != digest


def test_other_settings_and_other_tokenizers_are_seen(model, wordpiece):
    before = fingerprint(load(model, wordpiece), [])
    other = deepcopy(wordpiece)
    other.model_max_length = 32
    assert "tokenizer" in difference(before, fingerprint(load(model, other), []))
    cased = deepcopy(wordpiece)
    cased.backend_tokenizer.normalizer.lowercase = False
    assert "tokenizer" in difference(before, fingerprint(load(model, cased), []))
    model.config.layer_norm_eps = 0.1
    assert "configuration" in difference(before, fingerprint(load(model, wordpiece), []))


def test_a_prompt_and_its_labels_belong_to_a_language_model(byte_level):
    tokenizer = deepcopy(byte_level)
    tokenizer.model_max_length = 10**6
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=1, n_head=2, n_positions=64,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config).eval()

    def made(labels=("good", "bad"), prompt="film: {text}\nis it"):
        return fingerprint(piste.from_llm(model, list(labels), prompt, tokenizer), [])

    assert ANSWERS not in made()
    assert difference(made(), made()) is None
    assert "prompt" in difference(made(), made(prompt="film: {text}\nwas it"))
    assert "labels" in difference(made(), made(labels=("good", "dull")))


def test_an_exported_model_is_known_by_its_files(tmp_path):
    graph = tmp_path / "model.onnx"
    graph.write_bytes(b"graph, weights in: model.onnx_data.")
    (tmp_path / "model.onnx_data").write_bytes(b"weights")
    (tmp_path / "README.md").write_bytes(b"words")
    before = file_digest(graph)
    (tmp_path / "README.md").write_bytes(b"other words")
    assert file_digest(graph) == before
    (tmp_path / "model.onnx_data").write_bytes(b"WEIGHTS")
    assert file_digest(graph) != before


def test_a_function_is_known_by_its_answers():
    def function(weights, **options):
        return fingerprint(piste.from_function(additive(weights), **options), TEXTS)

    before = function({"good": 1.0, "superb": 2.0})
    assert len(before[ANSWERS]) == 3
    assert difference(before, function({"good": 1.0, "superb": 2.0})) is None
    assert difference(before, function({"good": 1.0 + 1e-5, "superb": 2.0})) is None
    assert "a text was answered" in difference(before, function({"good": 1.0, "superb": 1.99}))
    assert "labels" in difference(before, function({"good": 1.0, "superb": 2.0}, labels=["a", "b"]))


def test_what_a_function_fails_on_is_left_out():
    def fragile(texts):
        if any("plot" in text for text in texts):
            raise ValueError("out of order")
        return additive({"good": 1.0})(texts)

    assert len(fingerprint(piste.from_function(fragile), TEXTS)[ANSWERS]) == 2
    with pytest.raises(FunctionError, match="out of order"):  # a function that is not there at all
        fingerprint(piste.from_function(fragile), TEXTS[1:])


def test_answers_do_not_drift():
    """Each step is within rounding of the last; only the first counts."""
    now = fingerprint(piste.from_function(additive({"good": 1.0})), TEXTS[:1])
    for step in range(1, 6):
        weights = {"good": 1.0 + 0.9e-3 * step}
        after = fingerprint(piste.from_function(additive(weights)), TEXTS)
        if difference(now, after) is not None:
            break
        now = merged(now, after)
    assert 1 < step < 5


def test_answers_to_other_texts_tell_nothing():
    classifier = piste.from_function(additive({"good": 1.0}))
    before = fingerprint(classifier, TEXTS[:1])
    assert "none of the texts" in difference(before, fingerprint(classifier, TEXTS[1:]))
    assert difference(None, before) is not None
    assert difference(before | {ANSWERS: []}, before) is not None


def test_a_class_of_somebody_else_is_known_by_weights_and_answers(model, wordpiece):
    class Warmer:
        """Does more than its model does."""

        def __init__(self, inner, factor):
            self.model, self.inner, self.factor = inner.model, inner, factor
            self.name, self.labels, self.outputs = "warmer", inner.labels, inner.outputs
            self.encode, self.show, self.classifier = inner.encode, inner.show, "a word"

        def logits(self, ids):
            return self.factor * self.inner.logits(ids)

    inner = load(model, wordpiece)
    before = fingerprint(Warmer(inner, 1.0), TEXTS)
    assert before["weights"] == fingerprint(inner, [])["weights"]
    assert difference(before, fingerprint(Warmer(inner, 1.0), TEXTS)) is None
    assert "a text was answered" in difference(before, fingerprint(Warmer(inner, 2.0), TEXTS))


def test_an_endpoint_may_round_more_than_a_function():
    with running() as server:
        asked = piste.from_endpoint(server.url, ["positive", "negative"], PROMPT)
        before = fingerprint(asked, TEXTS)
    key = next(iter(before[ANSWERS]))
    for apart, same in ((0.01, True), (0.3, False)):
        moved = {key: [value + apart for value in before[ANSWERS][key]]}
        now = before | {ANSWERS: before[ANSWERS] | moved}
        assert (difference(before, now) is None) is same
    assert difference(before, before | {"prompt": "another"}) is not None


def test_a_lexicon_refuses_another_model_of_the_same_name(wordpiece):
    texts = ["the film was good, the plot not bad", "a terrible story; great fun"]
    one, other = (load(tiny_bert(len(wordpiece), seed), wordpiece) for seed in (0, 1))
    assert one.name == other.name
    lexicon = piste.build_lexicon(texts, one)
    piste.explain(texts[0], one, "slalom", lexicon=lexicon, refine=0)
    with pytest.raises(SettingError, match=r"another model called 'BertFor.*build one"):
        piste.explain(texts[0], other, "slalom", lexicon=lexicon, refine=0)
    with pytest.raises(SettingError, match="another model"):
        check_lexicon(lexicon, other)


def test_a_lexicon_refuses_another_function_of_the_same_name(tmp_path):
    texts = ["good film with a bad plot", "a good cast and bad sound"]
    one = piste.from_function(additive({"good": 1.0, "bad": -1.0}), name="same")
    other = piste.from_function(additive({"good": 1.0, "bad": -1.1}), name="same")
    piste.build_lexicon(texts, one, out=tmp_path / "lexicon.json")
    again = piste.from_function(additive({"good": 1.0, "bad": -1.0}), name="same")
    piste.explain(texts[0], again, "slalom", lexicon=tmp_path / "lexicon.json", refine=0)
    with pytest.raises(SettingError, match="another model called 'same'"):
        piste.explain(texts[0], other, "slalom", lexicon=tmp_path / "lexicon.json", refine=0)


def test_a_model_is_compared_with_a_lexicon_once(monkeypatch, gpt2):
    lexicon = piste.build_lexicon(["the film was good", "a bad plot"], gpt2)
    counted = []
    monkeypatch.setattr("piste.models.fingerprint.difference", lambda *given: counted.append(given))
    for _ in range(3):
        piste.explain("a good film", gpt2, "slalom", lexicon=lexicon, refine=0)
    assert len(counted) == 1


def test_a_model_that_is_trained_on_is_compared_again(wordpiece):
    classifier = load(tiny_bert(len(wordpiece)), wordpiece)
    lexicon = piste.build_lexicon(["the film was good", "a bad plot"], classifier)
    piste.explain("a good film", classifier, "slalom", lexicon=lexicon, refine=0)
    for weight in classifier.model.classifier.parameters():
        weight.data.copy_(weight.data + 0.1)  # counted by nobody
    with pytest.raises(SettingError, match="another model"):
        piste.explain("a good film", classifier, "slalom", lexicon=lexicon, refine=0)


def test_a_decoder_has_a_digest(byte_level):
    digests = [weights_digest(tiny_gpt2(len(byte_level), seed)) for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]
