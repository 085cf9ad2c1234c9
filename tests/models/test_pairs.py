"""Two texts at once: both keep their frame, their types and their players."""

import numpy as np
import pytest
import torch
from tokenizers import processors
from transformers import PreTrainedTokenizerFast

import piste
from piste.errors import InputError, SettingError
from piste.models.query import Query
from piste.render.trust import statements, warnings
from piste.text.encoding import TYPE, cut, truncated
from piste.text.players import split
from tests.conftest import tiny_bert

FIRST, SECOND = "the film was good", "the plot was not good, at all"


@pytest.fixture(scope="module")
def tokenizer(wordpiece):
    """A tokenizer with BERT's template for pairs."""
    from copy import deepcopy

    backend = deepcopy(wordpiece.backend_tokenizer)
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=40,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    return tiny_bert(len(tokenizer), num_labels=3)


@pytest.fixture(scope="module", params=["torch", "openvino"])
def classifier(request, model, tokenizer):
    return piste.load(model, tokenizer, backend=request.param)


def plain(model, tokenizer, first, second):
    with torch.no_grad():
        return model(**tokenizer(first, second, return_tensors="pt")).logits.double().numpy()[0]


def test_the_whole_pair_is_asked_as_the_model_would_be(classifier, model, tokenizer):
    encoding = classifier.encode(FIRST, SECOND)
    players = split(encoding)
    answer = Query(classifier, encoding.frame).logits(players.tokens(players.whole))[0]
    assert answer == pytest.approx(plain(model, tokenizer, FIRST, SECOND), abs=1e-4)
    assert encoding.frame.types == (0, 1)
    assert [len(encoding.frame.prefix), len(encoding.frame.between)] == [1, 1]


def test_a_part_of_a_pair_is_that_part_of_both_texts(classifier, model, tokenizer):
    encoding = classifier.encode(FIRST, SECOND)
    players = split(encoding)
    kept = np.ones(len(players), dtype=bool)
    kept[[1, 6]] = False  # "film" of the first text, "not"'s neighbour of the second
    words = [player for player, keep in zip(players.items, kept, strict=True) if keep]
    texts = [" ".join(p.text for p in words if p.segment == segment) for segment in (0, 1)]
    rows = players.tokens(players.whole.masked(kept[None]))
    answer = Query(classifier, encoding.frame).logits(rows)[0]
    assert answer == pytest.approx(plain(model, tokenizer, *texts), abs=1e-4)


def test_in_whatever_order_the_first_text_comes_first(classifier):
    players = split(classifier.encode(FIRST, SECOND))
    forwards = players.tokens(players.whole.of([[0, 1, 5, 7]]))
    mixed = players.tokens(players.whole.of([[5, 0, 7, 1]]))
    assert forwards.values.tolist() == mixed.values.tolist()


def test_players_know_their_text_and_offsets_point_at_it(classifier):
    found = piste.explain(FIRST, classifier, pair=SECOND)
    assert found.text == f"{FIRST}\n{SECOND}"
    assert found.second == len(FIRST) + 1
    for player in found.players:
        assert found.text[player.start : player.end] == player.text
        assert player.segment == int(player.start >= found.second)
        assert all(token < TYPE for token in player.ids)
    the = [p for p in found.players if p.text == "the"]
    assert [p.segment for p in the] == [0, 1]
    assert the[0].group != the[1].group  # to the model they are different words
    assert piste.Explanation.from_dict(found.to_dict()) == found


class Watching:
    """A function of pairs that remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, pairs):
        self.asked += pairs
        return [len(first) - 0.5 * len(second) for first, second in pairs]


def test_slalom_never_asks_for_an_empty_text():
    watching = Watching()
    piste.explain("good", piste.from_function(watching), "slalom", pair="not bad at all", seed=1)
    assert watching.asked
    assert all(first and second for first, second in watching.asked)


@pytest.mark.parametrize("method", list(piste.METHODS))
def test_every_method_explains_a_pair(method, model, tokenizer):
    classifier = piste.load(model, tokenizer, backend="torch")
    found = piste.explain(FIRST, classifier, method, pair=SECOND)
    assert len(found.scores[found.primary]) == len(found.players) == 12
    assert np.isfinite(found.scores[found.primary]).all()
    assert found.target.score == pytest.approx(
        piste.explain(FIRST, classifier, "occlusion", pair=SECOND).target.score
    )


def test_the_full_text_of_a_pair_is_both_with_the_frame(model, tokenizer):
    classifier = piste.load(model, tokenizer, backend="torch")
    found = piste.explain(FIRST, classifier, "occlusion", pair=SECOND)
    assert found.cost.full_tokens == len(tokenizer(FIRST, SECOND)["input_ids"])


@pytest.mark.parametrize("removal", ["mask", "unk"])
def test_replaced_tokens_keep_frame_and_types(removal, model, tokenizer):
    classifier = piste.load(model, tokenizer, backend="torch")
    found = piste.explain(FIRST, classifier, "occlusion", pair=SECOND, unit="token", target=0)
    encoding = classifier.encode(FIRST, SECOND)
    players = split(encoding, "token")
    keep = np.ones((1, len(players)), dtype=bool)
    keep[0, -1] = False
    token = classifier.token_id(removal)
    rows = players.replaced(keep, token)
    whole = players.tokens(players.whole)
    changed = np.flatnonzero(rows.values != whole.values)
    assert rows.values[changed].tolist() == [token + TYPE]  # of the second text
    assert changed.tolist() == [players.positions[-1] - len(encoding.frame.prefix)]
    assert len(found.players) == len(players)


def test_gradients_of_a_pair_are_those_at_its_own_types(model, tokenizer):
    classifier = piste.load(model, tokenizer, backend="torch")
    found = piste.explain(FIRST, classifier, "integrated-gradients", pair=SECOND)
    logits = plain(model, tokenizer, FIRST, SECOND)
    index = int(np.argmax(logits))
    margin = logits[index] - np.log(np.exp(np.delete(logits, index)).sum())
    assert found.target.score == pytest.approx(margin, abs=1e-4)
    # They add up: the way ended at the same answer.
    assert not [note for note in found.notes if "somewhat different" in note]
    assert found.fidelity.checks["convergence"].rmse < 1e-3


def test_a_planted_function_of_two_texts_is_recovered():
    importance = {"a": 0.0, "b": 1.0, "c": -1.0, "d": 0.5, "e": 0.0}
    value = {(0, "a"): 2.0, (0, "b"): -1.0, (1, "a"): -3.0, (1, "c"): 1.0, (1, "d"): 0.5}

    def margin(pair):
        words = [(s, word) for s in (0, 1) for word in pair[s].split()]
        weights = np.exp([importance[word] for _, word in words])
        return float(weights @ [value[word] for word in words] / weights.sum())

    function = piste.from_function(lambda pairs: [margin(pair) for pair in pairs])
    found = piste.explain("a b", function, "slalom", pair="a c d", target="positive")
    truth = [value[player.segment, player.text] for player in found.players]
    assert found.scores["value"] == pytest.approx(truth, abs=0.05)


def test_a_long_pair_is_cut_where_it_is_longest(classifier):
    encoding = classifier.encode("the " * 10, "bad " * 60)
    short = truncated(encoding)
    assert len(short.ids) == encoding.limit == 40 - 3
    assert sum(1 for s in short.segments if s == 0) == 10
    assert "beginnings of both" in short.notes[0]
    both = truncated(classifier.encode("the " * 50, "bad " * 60))
    assert 17 <= sum(both.segments) <= 20
    with pytest.raises(SettingError, match="windows"):
        cut(encoding, "windows")


def test_a_pair_with_an_empty_text_is_refused(classifier):
    with pytest.raises(InputError, match="empty"):
        piste.explain(FIRST, classifier, pair=" ")


def test_sentences_do_not_reach_from_one_text_into_the_other(classifier):
    found = piste.explain("the film", classifier, "occlusion", pair="was good", unit="sentence")
    assert [player.text for player in found.players] == ["the film", "was good"]


@pytest.mark.parametrize("first", ["the film was good\n", "good  ", "good"])
@pytest.mark.parametrize("second", ["the plot was bad", "  bad"])
def test_blanks_at_the_ends_stay_with_their_text(first, second):
    from transformers import RobertaConfig, RobertaForSequenceClassification

    from tests.models.test_families import SIZES, roberta_tokenizer

    tokenizer = roberta_tokenizer()
    torch.manual_seed(0)
    config = RobertaConfig(vocab_size=len(tokenizer), pad_token_id=1, type_vocab_size=1, **SIZES)
    model = RobertaForSequenceClassification(config).eval()
    encoding = piste.load(model, tokenizer, backend="torch").encode(first, second)
    players = split(encoding)
    asked = Query(piste.load(model, tokenizer, backend="torch"), encoding.frame)
    answer = asked.logits(players.tokens(players.whole))[0]
    assert answer == pytest.approx(plain(model, tokenizer, first, second), abs=1e-4)
    assert all(p.segment == int(p.start >= encoding.second) for p in players.items)


def test_xlnet_has_types_without_saying_how_many(sentencepiece):
    from transformers import XLNetConfig, XLNetForSequenceClassification

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=sentencepiece.backend_tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        model_max_length=64,
    )
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:0 </s>:0 <s>:2",
        pair="$A:0 </s>:0 $B:1 </s>:1 <s>:2",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    torch.manual_seed(0)
    config = XLNetConfig(vocab_size=len(tokenizer), d_model=32, n_layer=2, n_head=2, d_inner=64)
    config.initializer_range = 0.3
    model = XLNetForSequenceClassification(config).eval()
    for backend in ("torch", "auto"):
        classifier = piste.load(model, tokenizer, backend=backend)
        found = piste.explain(FIRST, classifier, "occlusion", pair=SECOND, target=1)
        logits = plain(model, tokenizer, FIRST, SECOND)
        assert found.target.score == pytest.approx(logits[1] - logits[0], abs=1e-3)


def test_a_pair_of_one_word_each_says_that_there_is_nothing_to_compare():
    found = piste.explain("good", piste.from_function(Watching()), "slalom", pair="bad")
    assert any("neither text empty" in note for note in found.notes)


def test_a_second_text_of_nothing(classifier):
    with pytest.raises(InputError, match="second text"):
        piste.explain("good", classifier, pair="\u200b")


def test_a_contrast_of_a_pair_reads_both_types(classifier, model, tokenizer):
    """Gradients of the difference, with the types of both texts: the model's own answer."""
    logits = plain(model, tokenizer, FIRST, SECOND)
    for method in ("gradients", "occlusion"):
        found = piste.explain(FIRST, classifier, method, pair=SECOND, target=2, against=0)
        assert found.target.score == pytest.approx(logits[2] - logits[0], abs=1e-4)
        assert not any("embeddings in place of tokens" in note for note in found.notes)
    query = Query(classifier, classifier.encode(FIRST, SECOND).frame)
    players = split(classifier.encode(FIRST, SECOND))
    ids = query.sequence(players.tokens(players.whole))
    margins, _ = query.gradients(query.embed(ids), 2, ids, 0)
    assert margins[0] == pytest.approx(logits[2] - logits[0], abs=1e-4)


NLI = ["entailment", "neutral", "contradiction"]


def three(texts):
    return [[0.1, 0.2, 1.7]] * len(texts)


@pytest.mark.parametrize("labels", [NLI, ["x", "y", "CONTRADICTION"], ["a", "b", "not_duplicate"]])
def test_one_text_in_front_of_a_model_of_pairs_is_a_warning_with_the_remedy(labels):
    found = piste.explain(FIRST, piste.from_function(three, labels), "occlusion")
    (warning,) = (one.text for one in statements(found) if "pairs of texts" in one.text)
    assert "--pair" in warning
    assert any(one.text == warning for one in warnings(found))


def test_no_warning_for_a_pair_or_for_labels_of_one_text():
    pair = piste.explain(FIRST, piste.from_function(three, NLI), "occlusion", pair=SECOND)
    bugs = piste.from_function(three, ["bug", "question", "duplicate"])
    for found in (pair, piste.explain(FIRST, bugs, "occlusion")):
        assert not any("pairs of texts" in note for note in found.notes)
