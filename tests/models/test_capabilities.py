"""Embeddings, gradients and attention: right, counted, and without a trace in the user's model."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
import transformers

import piste
from piste.arrays import Ragged
from piste.decision import margins
from piste.errors import ModelError, OutputError, SettingError
from piste.models.protocol import WithAttention, WithGradients, WithTokens
from piste.models.query import GRADIENT_SHARE, Query
from piste.text.encoding import Frame
from tests.conftest import tiny_bert, tiny_gpt2
from tests.models.test_query import Recorder

TEXT = "the film was good and the plot not bad at all"
SIZES = {
    "vocab_size": 400, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 32, "max_position_embeddings": 40, "pad_token_id": 1, "eos_token_id": 2,
    "bos_token_id": 0, "num_labels": 3,
}  # fmt: skip


def framed(classifier, text=TEXT):
    encoded = classifier.encode(text)
    return np.array([[*encoded.frame.prefix, *encoded.ids, *encoded.frame.suffix]])


def exact(model, tokenizer):
    """In float64, where differences quotients are good to eight digits."""
    return piste.load(model.double(), tokenizer, backend="torch")


@pytest.fixture(scope="module")
def three(wordpiece):
    return exact(tiny_bert(len(wordpiece), num_labels=3), wordpiece)


def built(kind, tokenizer, **settings):
    """A tiny untrained classifier of the given architecture."""
    given = {name: value for name, value in {**SIZES, **settings}.items() if value is not None}
    config = getattr(transformers, f"{kind}Config")(**given)
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    return piste.load(model, tokenizer, backend="torch")


@pytest.mark.parametrize("name", ["demo", "compiled_demo", "gpt2"])
def test_who_can(name, request):
    classifier = request.getfixturevalue(name)
    for capability in (WithTokens, WithGradients, WithAttention):
        assert isinstance(classifier, capability)
        assert not isinstance(piste.from_function(len), capability)


def test_embeddings_are_the_rows_of_the_table(bert):
    table = bert.model.get_input_embeddings().weight.detach().double().numpy()
    ids = np.array([[2, 9, 3], [7, 7, 0]])
    assert (bert.embed(ids) == table[ids]).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"num_labels": 2},
        {"num_labels": 3},
        {"num_labels": 1},
        {"num_labels": 3, "problem_type": "multi_label_classification"},
        {"num_labels": 2, "problem_type": "regression"},
    ],
    ids=str,
)
def test_margins_are_those_of_the_one_scale(wordpiece, settings):
    classifier = exact(tiny_bert(len(wordpiece), **settings), wordpiece)
    ids = np.random.default_rng(0).integers(5, len(wordpiece), size=(4, 6))
    embeddings = classifier.embed(ids)
    for index in range(settings["num_labels"]):
        expected = margins(classifier.logits(ids), classifier, index)
        found, _ = classifier.gradients(embeddings, index)
        assert found == pytest.approx(expected, abs=1e-5)  # logits are told in float32


@pytest.mark.parametrize(
    ("index", "against"), [(0, None), (1, None), (2, None), (0, 1), (1, 2), (2, 0)]
)
def test_gradients_are_difference_quotients(three, index, against):
    ids, rng = framed(three), np.random.default_rng(index)
    embeddings = three.embed(ids)
    _, gradients = three.gradients(embeddings, index, against=against)
    for _ in range(5):
        way = rng.normal(size=embeddings.shape)
        ends = np.concatenate([embeddings - 1e-5 * way, embeddings + 1e-5 * way])
        low, high = three.gradients(ends, index, against=against)[0]
        assert (gradients * way).sum() == pytest.approx((high - low) / 2e-5, rel=1e-5)


def test_margins_against_one_label_are_differences_of_logits(three):
    ids = framed(three)
    logits = three.logits(ids)[0]
    for index, against in ((0, 1), (2, 0)):
        found, _ = three.gradients(three.embed(ids), index, against=against)
        assert found[0] == pytest.approx(logits[index] - logits[against], abs=1e-5)


def test_the_gradients_of_a_decoder_are_difference_quotients(byte_level):
    classifier = exact(tiny_gpt2(len(byte_level)), byte_level)
    embeddings = classifier.embed(framed(classifier))
    _, gradients = classifier.gradients(embeddings, 1)
    way = np.random.default_rng(0).normal(size=embeddings.shape)
    ends = np.concatenate([embeddings - 1e-5 * way, embeddings + 1e-5 * way])
    low, high = classifier.gradients(ends, 1)[0]
    assert (gradients * way).sum() == pytest.approx((high - low) / 2e-5, rel=1e-5)


@pytest.mark.parametrize("name", ["bert", "gpt2", "demo"])
def test_rows_of_a_batch_do_not_see_each_other(name, request):
    classifier = request.getfixturevalue(name)
    ids = np.random.default_rng(1).integers(5, 100, size=(5, 7))
    together = classifier.gradients(classifier.embed(ids), 1)[1]
    weights, position = classifier.attentions(ids)
    for row in range(5):
        alone = classifier.gradients(classifier.embed(ids[[row]]), 1)[1]
        assert together[row] == pytest.approx(alone[0], rel=1e-3, abs=1e-5)
        own, same = classifier.attentions(ids[[row]])
        assert weights[:, row] == pytest.approx(own[:, 0], abs=1e-5)
        assert position == same


@pytest.mark.parametrize("name", ["bert", "gpt2", "demo"])
def test_attention_is_that_of_a_model_loaded_for_it(name, request):
    classifier = request.getfixturevalue(name)
    ids = framed(classifier)
    weights, position = classifier.attentions(ids)
    plain = type(classifier.model)(classifier.model.config).eval()
    plain.load_state_dict(classifier.model.state_dict())
    plain.set_attn_implementation("eager")
    with torch.no_grad():
        expected = plain(input_ids=torch.tensor(ids), output_attentions=True).attentions
    assert weights == pytest.approx(torch.stack(expected).double().numpy(), abs=1e-5)
    assert weights.sum(axis=-1) == pytest.approx(1, abs=1e-5)  # special tokens included
    assert position == (ids.shape[1] - 1 if name == "gpt2" else 0)
    classifier.model.set_attn_implementation("sdpa")  # a configuration may be shared


ARCHITECTURES = {
    "Roberta": (0, {}),
    "Electra": (0, {"embedding_size": 8}),
    "Albert": (0, {"embedding_size": 8}),
    "DistilBert": (0, {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}),
    "DebertaV2": (0, {}),
    "ModernBert": (0, {"classifier_pooling": "cls", "cls_token_id": 0, "sep_token_id": 2}),
    "Llama": (-1, {"num_key_value_heads": 1}),
    "Qwen2": (-1, {"num_key_value_heads": 1}),
    "GPTNeoX": (-1, {}),
    "OPT": (-1, {"ffn_dim": 32, "word_embed_proj_dim": 16}),
}


@pytest.mark.parametrize("kind", sorted(ARCHITECTURES))
def test_where_the_classification_is_read_is_found_out(kind, byte_level):
    expected, settings = ARCHITECTURES[kind]
    classifier = built(kind, byte_level, **settings)
    ids = np.random.default_rng(2).integers(5, 300, size=(2, 6))
    weights, position = classifier.attentions(ids)
    assert position == expected % 6
    assert weights.shape == (2, 2, 2, 6, 6)
    assert weights.sum(axis=-1) == pytest.approx(1, abs=1e-5)
    found = classifier.gradients(classifier.embed(ids), 2)[0]
    assert found == pytest.approx(margins(classifier.logits(ids), classifier, 2), abs=1e-5)


@pytest.mark.parametrize(
    ("kind", "settings", "why"),
    [
        ("ModernBert", {"classifier_pooling": "mean", "cls_token_id": 0, "sep_token_id": 2},
         "from 4 positions"),
        ("XLNet", {"d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 8,
                   "max_position_embeddings": None}, "unknown position"),
        ("SqueezeBert", {"embedding_size": 16}, "does not tell"),  # scores before the softmax
        ("Funnel", {"d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 8, "block_sizes": [1, 1],
                    "num_hidden_layers": None}, "does not tell"),  # pools its tokens
        ("FNet", {}, "does not t"),  # has no attention: does not tell it, or does not take a mask
    ],
)  # fmt: skip
def test_models_whose_attention_explains_nothing_say_so(kind, settings, why, byte_level):
    classifier = built(kind, byte_level, **settings)
    with pytest.raises(ModelError, match=why):
        classifier.attentions(np.array([[5, 6, 7, 8]]))


def test_a_model_that_takes_no_embeddings_says_so(byte_level):
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8,
             "decoder_ffn_dim": 8, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
             "decoder_start_token_id": 2, "forced_eos_token_id": 2}  # fmt: skip
    classifier = built("Bart", byte_level, **sizes)
    ids = np.array([[5, 6, 7, 2]])
    with pytest.raises(ModelError, match=r"does not take embeddings.*slalom"):
        classifier.gradients(classifier.embed(ids), 0)


def traces(model):
    parts = list(model.modules())
    return (
        [part.training for part in parts],
        [weight.requires_grad for weight in model.parameters()],
        [weight.grad for weight in model.parameters()],
        [weight._version for weight in model.parameters()],
        [len(part._forward_hooks) for part in parts],
        model.config._attn_implementation,
        model.config.pad_token_id,
        torch.random.get_rng_state().tolist(),
        transformers.utils.logging.get_verbosity(),
    )


@pytest.mark.parametrize("make", [tiny_bert, tiny_gpt2])
def test_the_users_model_comes_back_as_it_was(make, wordpiece):
    model = make(len(wordpiece)).train()
    base = model.base_model
    base.eval()
    base.get_input_embeddings().requires_grad_(False)  # partly frozen, as people do
    classifier = piste.load(model, wordpiece, backend="torch")
    ids = np.array([[2, 9, 8, 3]])
    # transformers puts hooks of its own on a model that is asked for its states, once and for all
    model(input_ids=torch.tensor(ids), output_attentions=True, output_hidden_states=True)
    embeddings, before = classifier.embed(ids), traces(model)
    first = classifier.gradients(embeddings, 1)[1], classifier.attentions(ids)[0]
    second = classifier.gradients(embeddings, 1)[1], classifier.attentions(ids)[0]
    assert traces(model) == before
    assert all((one == two).all() for one, two in zip(first, second, strict=True))  # no dropout
    with pytest.raises(RuntimeError):  # fails inside the model: embeddings that are too narrow
        classifier.gradients(embeddings[:, :, :5], 1)
    with pytest.raises((RuntimeError, IndexError)):  # more positions than it has
        classifier.attentions(np.full((1, 65), 9))
    assert traces(model) == before


@pytest.mark.parametrize("around", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_wherever_it_is_called_from(bert, around):
    ids = framed(bert)
    expected = bert.gradients(bert.embed(ids), 1)
    with around():
        found = bert.gradients(bert.embed(ids), 1)
        weights, _ = bert.attentions(ids)
    assert (found[1] == expected[1]).all()
    assert (weights == bert.attentions(ids)[0]).all()


def test_half_precision_has_gradients_too(wordpiece):
    model = tiny_bert(len(wordpiece)).bfloat16()
    classifier = piste.load(model, wordpiece, backend="torch")
    ids = framed(classifier)
    _, rough = classifier.gradients(classifier.embed(ids), 1)
    assert rough.dtype == np.float64
    full = exact(tiny_bert(len(wordpiece)), wordpiece)
    _, right = full.gradients(full.embed(ids), 1)
    assert np.corrcoef(rough.ravel(), right.ravel())[0, 1] > 0.98


def test_tokens_that_may_stand_in_a_words_place(bert, gpt2, demo, compiled_demo, wordpiece):
    assert [bert.token_id(name) for name in ("pad", "unk", "mask")] == [0, 1, 4]
    assert [gpt2.token_id(name) for name in ("pad", "unk", "mask")] == [None, None, None]
    assert compiled_demo.token_id("mask") == demo.token_id("mask") == 4
    with pytest.raises(SettingError, match="unk, mask, pad"):
        bert.token_id("sep")
    small = piste.load(tiny_bert(3), wordpiece, backend="torch")  # knows [PAD], [UNK] and [CLS]
    assert [small.token_id(name) for name in ("pad", "unk", "mask")] == [0, 1, None]


def test_the_compiled_twin_asks_its_origin(demo, compiled_demo):
    ids = framed(demo)
    assert (demo.embed(ids) == compiled_demo.embed(ids)).all()
    embeddings = demo.embed(ids)
    for one, two in zip(
        demo.gradients(embeddings, 0), compiled_demo.gradients(embeddings, 0), strict=True
    ):
        assert (one == two).all()
    assert (demo.attentions(ids)[0] == compiled_demo.attentions(ids)[0]).all()


@dataclass
class Open(Recorder):
    """Margins are sums of embeddings, gradients ones; remembers the sizes of its batches."""

    sizes: list[int] = field(default_factory=list)

    def token_id(self, name):
        return None

    def embed(self, ids):
        return np.repeat(ids[:, :, None].astype(float), 2, axis=2)

    def gradients(self, embeddings, index):
        if len(embeddings) > self.most:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
        self.sizes.append(len(embeddings))
        found = np.ones_like(embeddings)
        found[(embeddings == self.poison).any(axis=(1, 2))] = np.nan
        return (index + 1) * embeddings.sum(axis=(1, 2)), (index + 1) * found

    def attentions(self, ids):
        self.sizes.append(len(ids))
        return np.tile(ids[None, :, None, None, :], (3, 1, 2, ids.shape[1], 1)) * 1.0, 1


def test_the_query_frames_one_sequence():
    query = Query(Open(), Frame((100,), (200, 300)))
    assert query.sequence(Ragged.of([[1, 2]])).tolist() == [[100, 1, 2, 200, 300]]
    assert query.token_id("unk") is None
    assert Query(Recorder(), Frame()).token_id("unk") is None


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_gradients_come_in_order_for_any_batch_size(at_once):
    steps = []
    query = Query(
        Open(), Frame(), batch_tokens=GRADIENT_SHARE * 4 * at_once,
        progress=lambda *step: steps.append(step),
    )  # fmt: skip
    ids = np.arange(40).reshape(10, 4)
    found, gradients = query.gradients(query.embed(ids), 1)
    assert found.tolist() == (4 * ids.sum(axis=1)).tolist()
    assert gradients.shape == (10, 4, 2)
    assert max(query.classifier.sizes) == min(at_once, 10)
    assert (query.forwards, query.tokens) == (10, 40)
    assert query.seconds > 0
    assert steps[-1] == (10, 10)


def test_attention_comes_in_order_for_any_batch_size():
    ids = np.arange(12).reshape(4, 3)
    few = Query(Open(), Frame(), batch_tokens=1).attentions(ids)
    many = Query(Open(), Frame()).attentions(ids)
    assert (few[0] == many[0]).all()
    assert few[1] == many[1] == 1
    assert many[0].shape == (3, 4, 2, 3, 3)


def test_gradients_that_do_not_fit_into_memory_come_in_smaller_batches():
    query = Query(Open(most=3), Frame(), batch_tokens=GRADIENT_SHARE * 20)
    found, _ = query.gradients(query.embed(np.arange(20).reshape(10, 2)), 0)
    assert found.tolist() == [2 * (4 * row + 1) for row in range(10)]
    assert query.classifier.sizes == [2, 2, 2, 2, 2]  # 10 -> 5 -> 2
    with pytest.raises(OutputError, match="single sequence of 2 tokens"):
        Query(Open(most=0), Frame()).gradients(np.ones((1, 2, 2)), 0)


def test_gradients_and_attention_respect_the_budget():
    query = Query(Open(), Frame(), budget=3)
    query.gradients(np.ones((2, 4, 2)), 0)
    assert query.left == 1
    with pytest.raises(SettingError, match="next step needs 4"):
        query.gradients(np.ones((2, 4, 2)), 0)
    query.attentions(np.ones((1, 4), dtype=np.int64))
    with pytest.raises(SettingError, match="next step needs 4"):
        query.attentions(np.ones((1, 4), dtype=np.int64))
    assert query.forwards == 3


def test_gradients_that_are_no_numbers_are_refused():
    with pytest.raises(OutputError, match="gradients for this text are not finite"):
        Query(Open(poison=7), Frame()).gradients(np.full((2, 3, 2), 7.0), 0)


def test_a_classifier_that_only_answers_names_the_way_out():
    query = Query(piste.from_function(lambda texts: [0.0 for _ in texts], name="mine"), Frame())
    for call in (
        lambda: query.embed(np.ones((1, 2), dtype=np.int64)),
        lambda: query.gradients(np.ones((1, 2, 2)), 0),
    ):
        with pytest.raises(SettingError, match=r"needs the model's gradients.*'mine'.*piste.load"):
            call()
    with pytest.raises(SettingError, match="needs the model's attention"):
        query.attentions(np.ones((1, 2), dtype=np.int64))
