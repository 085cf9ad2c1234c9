"""Scores of words as scores of tokens: planted ones, on tokenizers of every family."""

import numpy as np
import pytest
from tokenizers import Tokenizer
from transformers import ByT5Tokenizer, CanineTokenizer, PerceiverTokenizer

import piste
from piste.errors import PisteError
from tests.render.samples import sample

TEXT = "The naïve plot wasn't thin — 東京 is superb 🎬 indeed."
FAST = ("wordpiece", "byte_level", "sentencepiece")


@pytest.fixture
def explanation(demo):
    """An explanation of TEXT with planted scores: powers of two, so every sum tells its terms."""
    made = piste.explain(TEXT, demo, "occlusion")
    planted = 2.0 ** np.arange(len(made.players))
    made.scores["removal"][:] = planted
    return made


def slow(_request):
    return CanineTokenizer()


def by_hand(explanation, tokenizer):
    """Each player's score over the tokens whose characters it shares, one character at a time."""
    coded = tokenizer(explanation.text, return_offsets_mapping=True)
    spans = [
        set(range(*span)) if owner is not None else set()
        for span, owner in zip(coded["offset_mapping"], coded.sequence_ids(0), strict=True)
    ]
    scores = [0.0] * len(spans)
    for player, score in zip(explanation.players, explanation.scores["removal"], strict=True):
        own = [i for i, span in enumerate(spans) if span & set(range(player.start, player.end))]
        for index in own:
            scores[index] += score / len(own)
    return scores


@pytest.mark.parametrize("family", FAST)
def test_every_family_keeps_the_sum_and_the_places(family, explanation, request):
    tokenizer = request.getfixturevalue(family)
    scores = explanation.token_scores(tokenizer)
    coded = tokenizer(TEXT)
    assert len(scores) == len(coded["input_ids"])
    assert scores.sum() == pytest.approx(explanation.scores["removal"].sum())
    special = [owner is None for owner in coded.sequence_ids(0)]
    assert not scores[special].any()
    assert scores == pytest.approx(by_hand(explanation, tokenizer))


@pytest.mark.parametrize("make", [lambda request: request.getfixturevalue("wordpiece"), slow])
def test_what_the_tokenizer_would_return_beside_changes_nothing(make, explanation, request):
    tokenizer = make(request)
    options = {"return_offsets_mapping": tokenizer.is_fast, "return_special_tokens_mask": True}
    scores = explanation.token_scores(tokenizer, return_tensors="pt", **options)
    assert scores.tolist() == explanation.token_scores(tokenizer).tolist()
    with pytest.raises(PisteError, match="Leave it out"):
        explanation.token_scores(tokenizer, return_overflowing_tokens=True, max_length=8)


def test_the_models_own_tokenizer_and_repeated_scores(explanation, demo):
    tokenizer = demo.tokenizer
    split = explanation.token_scores(tokenizer)
    assert split == pytest.approx(by_hand(explanation, tokenizer))
    whole = explanation.token_scores(tokenizer, spread="repeat")
    known = set(explanation.scores["removal"].tolist()) | {0.0}
    assert set(whole.tolist()) <= known
    assert whole.sum() > split.sum()  # some words have several pieces


def test_a_token_over_two_words_has_both_shares_or_the_larger():
    class Joined:
        is_fast = True

        def __call__(self, text, pair=None, **_):
            return _Coded([(0, 0), (0, 6), (6, 9), (0, 0)], [None, 0, 0, None])

    explanation = sample(
        "ab cde fg", scores={"weight": np.array([1.0, 2.0, 4.0])}, primary="weight"
    )
    assert [player.text for player in explanation.players] == ["ab", "cde", "fg"]
    assert explanation.token_scores(Joined()).tolist() == [0.0, 3.0, 4.0, 0.0]
    assert explanation.token_scores(Joined(), spread="repeat").tolist() == [0.0, 2.0, 4.0, 0.0]


def test_a_word_that_the_tokenizer_drops_goes_to_the_nearest_token():
    class Deaf:
        is_fast = True

        def __call__(self, text, pair=None, **_):
            return _Coded([(0, 2), (7, 9)], [0, 0])

    explanation = sample(
        "ab cde fg", scores={"weight": np.array([1.0, 2.0, 4.0])}, primary="weight"
    )
    assert explanation.token_scores(Deaf()).tolist() == [3.0, 4.0]


def test_truncation_and_padding(explanation, wordpiece):
    options = {"truncation": True, "max_length": 8}
    scores = explanation.token_scores(wordpiece, **options)
    whole = explanation.token_scores(wordpiece)
    assert len(scores) == 8
    read = wordpiece(TEXT, return_offsets_mapping=True, **options)["offset_mapping"]
    reached = [player.start < max(end for _, end in read) for player in explanation.players]
    assert 0 < sum(reached) < len(reached)
    assert scores.sum() == pytest.approx(explanation.scores["removal"][reached].sum())
    padded = explanation.token_scores(wordpiece, padding="max_length", max_length=200)
    assert len(padded) == 200
    assert padded.sum() == pytest.approx(whole.sum())
    assert not padded[len(whole) :].any()


def test_what_is_cut_off_gives_nothing_to_the_tokens_that_are_left(explanation, wordpiece):
    offsets = wordpiece(TEXT, return_offsets_mapping=True)["offset_mapping"]
    left = [player.end > offsets[-7][0] for player in explanation.players]
    kept = explanation.scores["removal"][left].sum()
    assert 0 < sum(left) < len(left)
    library = Tokenizer.from_str(wordpiece.backend_tokenizer.to_str())
    library.no_padding()
    library.enable_truncation(8, direction="left")
    before = library.to_str()
    for scores in (
        explanation.token_scores(library),
        explanation.token_scores(_Left(wordpiece), truncation=True, max_length=8),
    ):
        assert len(scores) == 8
        assert scores.sum() == pytest.approx(kept)
    assert library.to_str() == before


def test_a_cut_in_a_pair_leaves_both_texts_their_own_scores(demo, wordpiece):
    made = piste.explain("A film of no worth.", demo, "occlusion", pair="A play 🎬")
    made.scores["removal"][:] = 2.0 ** np.arange(len(made.players))
    options = {"truncation": "only_first", "max_length": 10}
    coded = wordpiece("A film of no worth.", "A play 🎬", **options)
    firsts = np.array([owner == 0 for owner in coded.sequence_ids(0)])
    scores = made.token_scores(wordpiece, **options)
    second = [player.segment == 1 for player in made.players]
    assert scores[~firsts].sum() == pytest.approx(made.scores["removal"][second].sum())
    kept = scores[firsts].sum()
    assert kept in np.cumsum(made.scores["removal"])  # of the first words, and nothing beside
    assert kept < made.scores["removal"][~np.array(second)].sum()


def test_the_second_text_of_a_pair(demo):
    made = piste.explain("A film film.", demo, "occlusion", pair="A play.")
    made.scores["removal"][:] = 2.0 ** np.arange(len(made.players))
    tokenizer = demo.tokenizer
    scores = made.token_scores(tokenizer)
    owners = np.array(
        [-1 if o is None else o for o in tokenizer("A film film.", "A play.").sequence_ids(0)]
    )
    for segment in (0, 1):
        own = [p.segment == segment for p in made.players]
        assert scores[owners == segment].sum() == pytest.approx(made.scores["removal"][own].sum())
    assert not scores[owners == -1].any()


def test_a_tokenizer_of_the_library_itself(explanation, wordpiece):
    library = Tokenizer.from_str(wordpiece.backend_tokenizer.to_str())
    library.no_padding()  # set by whoever called the original last
    library.no_truncation()
    own = explanation.token_scores(library)
    assert own == pytest.approx(explanation.token_scores(wordpiece))


@pytest.mark.parametrize("kind", [ByT5Tokenizer, CanineTokenizer])
def test_slow_tokenizers_are_aligned(kind, demo):
    text = "The plot is thin."
    made = piste.explain(text, demo, "occlusion")
    made.scores["removal"][:] = 2.0 ** np.arange(len(made.players))
    tokenizer = kind()
    assert not tokenizer.is_fast
    scores = made.token_scores(tokenizer)
    assert len(scores) == len(tokenizer(text)["input_ids"])
    assert scores.sum() == pytest.approx(made.scores["removal"].sum())
    options = {"truncation": True, "max_length": 10}  # the end, and in Canine a beginning too
    short = made.token_scores(tokenizer, **options)
    assert len(short) == 10
    assert short[:8] == pytest.approx(scores[:8])


@pytest.mark.parametrize("kind", [ByT5Tokenizer, PerceiverTokenizer])
@pytest.mark.parametrize("options", [{}, {"truncation": True, "max_length": 20}])
def test_bytes_have_the_scores_of_their_letters(kind, options, explanation):
    tokenizer = kind()
    scores = explanation.token_scores(tokenizer, **options)
    ids = tokenizer(TEXT, **options)["input_ids"]
    assert len(scores) == len(ids)
    owners = [index for index, letter in enumerate(TEXT) for _ in letter.encode()]
    special = tokenizer(TEXT, return_special_tokens_mask=True, **options)["special_tokens_mask"]
    inside = np.flatnonzero(np.array(special) == 0)
    expected = np.zeros(len(ids))
    for player, score in zip(explanation.players, explanation.scores["removal"], strict=True):
        own = [t for t, o in zip(inside, owners, strict=False) if player.start <= o < player.end]
        expected[own] = score / max(1, len(own))
    assert scores == pytest.approx(expected)


def test_pieces_marked_at_their_ends_and_unknown_ones_under_any_name():
    class Pieces:
        is_fast, unk_token = False, "__unk__"

        def __call__(self, text, pair=None, **_):
            return {"input_ids": [0, 1, 2, 3], "special_tokens_mask": [0, 0, 1, 0]}

        def convert_ids_to_tokens(self, ids):
            return ["a@@", "b", "__unk__", "fg"]

    assert three_words().token_scores(Pieces()).tolist() == [0.5, 0.5, 2.0, 4.0]


def test_a_slow_tokenizer_that_cannot_be_followed_is_refused(demo):
    class Numbers:
        is_fast = False

        def __call__(self, text, pair=None, **_):
            return {"input_ids": [7, 8], "special_tokens_mask": [0, 0]}

        def convert_ids_to_tokens(self, ids):
            return [f"token{number}" for number in ids]

    made = piste.explain("The plot is thin.", demo, "occlusion")
    with pytest.raises(PisteError, match="fast tokenizer"):
        made.token_scores(Numbers())


def test_wrong_settings_say_what_there_is(explanation, wordpiece):
    with pytest.raises(PisteError, match="removal"):
        explanation.token_scores(wordpiece, "nonsense")
    with pytest.raises(PisteError, match="repeat"):
        explanation.token_scores(wordpiece, spread="nonsense")
    with pytest.raises(PisteError, match="no tokenizer"):
        explanation.token_scores(3)


class _Left:
    """A tokenizer that cuts off the beginning, as the given one does not."""

    is_fast = True

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, *texts, **options):
        self.tokenizer.truncation_side = "left"
        try:
            return self.tokenizer(*texts, **options)
        finally:
            self.tokenizer.truncation_side = "right"


class _Coded(dict):
    """What a fast tokenizer returns, planted."""

    def __init__(self, offsets, owners):
        super().__init__(input_ids=[0] * len(offsets), offset_mapping=offsets)
        self.owners = owners

    def sequence_ids(self, _=0):
        return self.owners


def three_words():
    return sample("ab cde fg", scores={"weight": np.array([1.0, 2.0, 4.0])}, primary="weight")


def test_a_tokenizer_may_be_named(explanation, saved_tokenizer):
    named, folder, tokenizer = saved_tokenizer
    for given in (named, folder):
        scores = explanation.token_scores(given)
        assert scores.tolist() == explanation.token_scores(tokenizer).tolist()
        assert len(scores) == len(tokenizer(TEXT)["input_ids"])
    assert len(explanation.token_scores(explanation.model)) > 0  # the embedded model's own
    with pytest.raises(PisteError, match="no directory"):
        explanation.token_scores("./nothing")


@pytest.fixture
def saved_tokenizer(tmp_path, request):
    tokenizer = request.getfixturevalue("wordpiece")
    tokenizer.save_pretrained(tmp_path / "model")
    return str(tmp_path / "model"), tmp_path / "model", tokenizer


def test_a_classifier_is_no_tokenizer(demo):
    with pytest.raises(PisteError, match="is no tokenizer"):
        piste.explain("a good film", demo, "attention").token_scores(demo)
