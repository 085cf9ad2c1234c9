import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piste.errors import InputError, SettingError
from piste.text.encoding import Encoding, check_text
from piste.text.players import split

TEXT = "The café wasn't good, good at all — incomprehensible 🎉!"


def encoding(text: str, spans: list[tuple[int, int]], ids: list[int] | None = None) -> Encoding:
    numbers = tuple(ids or range(len(spans)))
    return Encoding(text, numbers, tuple(spans), numbers)


@pytest.mark.parametrize("name", ["bert", "gpt2", "bert_on_sentencepiece"])
def test_word_players_point_at_the_words_people_see(name, request):
    classifier = request.getfixturevalue(name)
    encoded = classifier.encode(TEXT)
    players = split(encoded).items
    texts = [player.text for player in players]
    assert all(player.text == TEXT[player.start : player.end] for player in players)
    for word in ("café", "wasn't", "incomprehensible", "🎉"):
        assert any(word in text for text in texts), (word, texts)
    # Pieces travel together and in order: all ids, none twice, none lost.
    assert [token for player in players for token in player.ids] == list(encoded.ids)


def test_word_players_are_the_same_for_all_tokenizers_where_pieces_do_not_cross(request):
    text = "the film was unforgettable fun"
    for name in ("bert", "gpt2", "bert_on_sentencepiece"):
        players = split(request.getfixturevalue(name).encode(text)).items
        assert [player.text for player in players] == text.split(), name


@pytest.mark.parametrize("name", ["bert", "gpt2", "bert_on_sentencepiece"])
@settings(max_examples=60, deadline=None)
@given(text=st.text(min_size=1, max_size=40))
def test_any_text_gives_players_or_a_clear_error(name, text, request):
    classifier = request.getfixturevalue(name)
    try:
        encoded = classifier.encode(check_text(text))
        players = {unit: split(encoded, unit) for unit in ("token", "word", "sentence")}
    except InputError:
        return
    for found in players.values():
        assert [t for p in found.items for t in p.ids] == list(encoded.ids)
        assert all(0 <= p.start <= p.end <= len(text) for p in found.items)
        starts = [p.start for p in found.items]
        assert starts == sorted(starts) or found.unit == "token"


def test_a_token_over_two_words_makes_them_one_player():
    players = split(encoding("good. bad", [(0, 3), (3, 5), (6, 9)])).items
    assert [(p.text, p.ids) for p in players] == [("good.", (0, 1)), ("bad", (2,))]


def test_a_token_over_words_that_were_merged_before():
    players = split(encoding("a.b.c", [(0, 2), (1, 4), (3, 5)])).items
    assert [(p.text, p.ids) for p in players] == [("a.b.c", (0, 1, 2))]


def test_tokens_that_all_cover_the_whole_text_make_one_player():
    text = "a " * 50
    (player,) = split(encoding(text, [(0, len(text))] * 50)).items
    assert (player.text, player.ids) == (text.strip(), tuple(range(50)))


def test_blank_tokens_go_with_the_word_that_follows():
    players = split(encoding("a \n b ", [(0, 1), (1, 3), (4, 5), (5, 6)])).items
    assert [(p.text, p.ids) for p in players] == [("a", (0,)), ("b", (1, 2, 3))]


def test_equal_players_share_a_group_unless_told_otherwise():
    encoded = encoding("good or good", [(0, 4), (5, 7), (8, 12)], [7, 8, 7])
    assert split(encoded).groups.tolist() == [0, 1, 0]
    assert split(encoded).first.tolist() == [0, 1]
    assert split(encoded, repeats="separate").groups.tolist() == [0, 1, 2]


def test_token_players_have_no_blank_around_them(gpt2):
    players = split(gpt2.encode("the film was good"), "token").items
    assert all(player.text == player.text.strip() for player in players)
    assert "".join(player.text for player in players) == "thefilmwasgood"


def test_sentence_players(bert):
    players = split(bert.encode("The film was good. The plot was bad!"), "sentence").items
    assert [player.text for player in players] == ["The film was good.", "The plot was bad!"]


@pytest.mark.parametrize("name", ["bert", "bert_on_sentencepiece", "gpt2"])
def test_the_frame_is_the_tokenizers(name, request):
    classifier = request.getfixturevalue(name)
    frame = classifier.encode("good film").frame
    whole = classifier.tokenizer("good film")["input_ids"]
    body = classifier.tokenizer("good film", add_special_tokens=False)["input_ids"]
    assert [*frame.prefix, *body, *frame.suffix] == whole


def test_special_tokens_in_the_text_are_players_not_frame(bert):
    text = "good [SEP] bad [CLS]"
    encoded = bert.encode(text)
    assert (encoded.frame.prefix, encoded.frame.suffix) == ((2,), (3,))
    covered = "".join(player.text for player in split(encoded).items)
    assert covered == text.replace(" ", "")


def test_unknown_unit_and_repeats_list_the_valid_ones(bert):
    with pytest.raises(SettingError, match="word, token, phrase, noun-chunk, sentence, span"):
        split(bert.encode("good"), "words")
    with pytest.raises(SettingError, match="separate"):
        split(bert.encode("good"), repeats="twice")


@pytest.mark.parametrize("text", ["", "  \n\t ", None, 3, ["a"], "half \ud800 a character"])
def test_texts_that_cannot_be_explained(text):
    with pytest.raises(InputError):
        check_text(text)
