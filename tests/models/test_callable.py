import unicodedata
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import piste
from piste.errors import ModelError, OutputError, SettingError
from piste.text.players import split
from tests.planted import Changing

TEXT = "  Not good, not bad:\tjust (odd).  "


def spy(seen: list[str]):
    def function(texts):
        seen.extend(texts)
        return np.zeros(len(texts))

    return function


def test_the_whole_text_is_sent_as_it_was_written():
    seen: list[str] = []
    piste.explain(TEXT, piste.from_function(spy(seen)))
    assert seen[0] == TEXT


# Characters that meet in odd ways, and any others; half a surrogate is not a text.
ODD = list("ab.'-_ \n\t我👍🏽❤\ufe0f\u0301\u200d\u200b\ufeff\ue000\U000e0067\U0001fffd")
CHARACTERS = st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"]))
TEXTS = st.text(CHARACTERS, max_size=30)


def whole(classifier, text, unit, pair=None):
    """The players of a text, and what the function is given for all of them together."""
    players = split(classifier.encode(text, pair), unit)
    given_before = len(classifier.function.seen)
    classifier.logits(players.tokens(players.whole).values[None, :])
    return players, classifier.function.seen[given_before]


class Spy:
    def __init__(self):
        self.seen = []

    def __call__(self, texts):
        self.seen.extend(texts)
        return np.zeros(len(texts))


def visible(text):
    """Where a text has characters that somebody could see."""
    hidden = ("Zs", "Zl", "Zp", "Cc", "Cf")
    return {i for i, c in enumerate(text) if unicodedata.category(c) not in hidden}


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_any_text_reaches_the_function_as_written_and_all_of_it_is_explained(text):
    assume(visible(text))
    classifier = piste.from_function(Spy())
    encoding = classifier.encode(text)
    for unit in ("word", "token", "sentence"):
        players, given_text = whole(classifier, text, unit)
        assert given_text == text
        assert [i for player in players.items for i in player.ids] == list(encoding.ids)
        covered = {i for player in players.items for i in range(player.start, player.end)}
        assert visible(text) <= covered, unit


@given(TEXTS, TEXTS)
@settings(deadline=None, max_examples=200)
def test_any_pair_reaches_the_function_as_written(text, second):
    assume(visible(text) and visible(second))
    classifier = piste.from_function(Spy())
    for unit in ("word", "token", "sentence"):
        _, given_pair = whole(classifier, text, unit, second)
        assert given_pair == (text, second)


@pytest.mark.parametrize("end", ["\ue000\ue000\ue000", "\U0001fffd" * 3, "\u200b" * 3, "\n\n\n"])
def test_characters_at_the_end_of_a_text_count(end):
    """Private use, a code point without a character yet, zero-width and line ends."""

    def count(texts):
        return [float(text.count(end[0])) for text in texts]

    assert piste.explain(f"A good film {end}", piste.from_function(count)).target.score == 3
    assert piste.explain(f"{end} A good film", piste.from_function(count)).target.score == 3
    answers = piste.predict([f"A good film {end}"], piste.from_function(count), scale="log-odds")
    assert answers[0].tolist() == [-3, 3]


def test_blanks_at_the_ends_of_a_text_stay_at_the_ends():
    classifier = piste.from_function(len)
    first, second = classifier.encode("\tgood film\n").ids
    assert classifier.show(np.array([first])) == "\tgood"
    assert classifier.show(np.array([second])) == "film\n"
    assert classifier.show(np.array([second, first])) == "film\tgood"


def test_a_word_that_follows_an_emoji_is_not_moved_away_from_it():
    classifier = piste.from_function(len)
    for text in ("I ❤\ufe0fyou", "👍\u200dfilm", "我\u0301a"):
        assert classifier.show(np.array(classifier.encode(text).ids)) == text


def test_words_that_meet_stay_apart():
    classifier = piste.from_function(len)
    ids = classifier.encode("(good) 我爱 bad").ids
    shown = classifier.show(np.array([ids[5], ids[1], ids[3], ids[4]]))
    assert shown == "bad good 我爱"


def test_words_are_shared_whatever_stands_before_them():
    seen: list[str] = []
    explanation = piste.explain("good  good\ngood bad", piste.from_function(spy(seen)))
    assert [player.group for player in explanation.players] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: np.arange(n),
        lambda n: np.arange(n)[:, None],
        lambda n: [float(i) for i in range(n)],
        lambda n: torch.arange(n, requires_grad=False),
        lambda n: torch.arange(float(n)).requires_grad_(),
    ],
)
def test_margins_in_many_clothes(answer):
    classifier = piste.from_function(lambda texts: answer(len(texts)))
    ids = np.array([classifier.encode(word).ids for word in ("a", "b", "c")])
    assert classifier.logits(ids).tolist() == [[0, 0], [0, 1], [0, 2]]
    assert classifier.labels == ("negative", "positive")


def test_probabilities_become_log_odds():
    classifier = piste.from_function(lambda t: [[0.2, 0.8]] * len(t), outputs="probabilities")
    assert piste.explain("a b c", classifier).target.score == pytest.approx(np.log(4))
    one = piste.from_function(lambda t: [0.8] * len(t), outputs="probabilities")
    assert piste.explain("a b c", one).target.score == pytest.approx(np.log(4))
    sure = piste.from_function(lambda t: [[0.0, 1.0]] * len(t), outputs="probabilities")
    assert piste.explain("a b c", sure).target.label == "class 1"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: [[0.2, 0.8]] * len(t), "probabilities"),
        (lambda t: np.zeros((len(t) + 1, 2)), "returned shape"),
        (lambda t: np.zeros((len(t), 2, 2)), "returned shape"),
        (lambda t: 3.0, "returned shape"),
        (lambda t: ["good"] * len(t), "returned text, not numbers"),
        (lambda t: None, r"returned None\. Does it lack a return\? Return an array of numbers"),
        (lambda t: [None] * len(t), "returned None in the place of a number"),
        (lambda t: [{"label": "good", "score": 0.9}] * len(t), "returned a dict in the place of"),
        (lambda t: [[0.1], [0.2, 0.3]], "not numbers"),
        (lambda t: [np.nan] * len(t), "not finite"),
        (lambda t: [np.inf] * len(t), "not finite"),
    ],
)
def test_wrong_answers_are_told_apart(function, message):
    with pytest.raises(OutputError, match=message):
        piste.explain("some words here", piste.from_function(function))


def test_counts_are_not_taken_for_probabilities():
    def counts(texts):
        return [[text.count("bad"), text.count("good")] for text in texts]

    assert piste.explain("a good film", piste.from_function(counts)).target.label == "class 1"


@pytest.mark.parametrize("widths", [(2, 3), (1, 3), (3, 1)])
def test_a_width_that_changes_is_refused(widths):
    calls = iter(widths)
    last = [0]

    def function(texts):
        last[0] = next(calls, last[0])
        return np.arange(len(texts) * last[0]).reshape(len(texts), last[0])

    with pytest.raises(OutputError, match="outputs per text, now"):
        piste.explain("some words here", piste.from_function(function))


def test_probabilities_outside_their_range():
    classifier = piste.from_function(lambda t: [1.2] * len(t), outputs="probabilities")
    with pytest.raises(OutputError, match="leave 0"):
        piste.explain("a b", classifier)


def test_labels_must_fit():
    with pytest.raises(OutputError, match="2 outputs but has 3 labels"):
        piste.explain("a b", piste.from_function(lambda t: np.zeros(len(t)), ["a", "b", "c"]))
    with pytest.raises(SettingError, match="one string"):
        piste.from_function(len, "positive")
    with pytest.raises(SettingError, match="not a function"):
        piste.from_function("len")
    with pytest.raises(SettingError, match="kind of output"):
        piste.from_function(len, outputs="odds")


class Counting:
    """A function that remembers its calls and adds what `noise` says to each batch."""

    def __init__(self, noise=lambda texts, call: 0.0):
        self.calls: list[list[str]] = []
        self.noise = noise

    def __call__(self, texts):
        self.calls.append(list(texts))
        return np.array([len(t) for t in texts]) / 9 + self.noise(texts, len(self.calls))


def doubts(function, **settings) -> list[str]:
    found = piste.explain("some words to read", piste.from_function(function, **settings))
    return [note for note in found.notes if "same text" in note]


@pytest.mark.parametrize(
    "noise",
    [
        lambda texts, call: 0.01 * call,  # each call is different
        lambda texts, call: 0.01 * len(texts),  # each size of a batch is
        lambda texts, call: np.random.default_rng(call).normal(0, 0.01, len(texts)),
    ],
)
def test_a_function_that_is_not_sure_of_itself_is_told_of(noise):
    (note,) = doubts(Counting(noise))
    assert "evaluation mode" in note


def test_a_model_in_training_mode_is_told_of(byte_level):
    torch.manual_seed(0)
    torch_model = torch.nn.Sequential(
        torch.nn.Embedding(500, 8), torch.nn.Dropout(0.5), torch.nn.Flatten(0, 1)
    )

    def function(ids):
        return torch_model(torch.from_numpy(ids)).reshape(len(ids), -1, 8).mean(1)[:, :2]

    assert doubts(function, tokenizer=byte_level)
    torch_model.eval()
    assert not doubts(function, tokenizer=byte_level)


def test_rounding_is_no_doubt():
    assert not doubts(Counting(lambda texts, call: 1e-5 * call))
    assert not doubts(Counting())


def test_asking_again_costs_one_question_a_classifier():
    function = Counting()
    classifier = piste.from_function(function)
    first = piste.explain("some words to read", classifier)
    assert sum(map(len, function.calls)) == first.cost.forwards + 1
    assert len(function.calls[-1]) == 1
    second = piste.explain("some more words", classifier)
    assert sum(map(len, function.calls)) == first.cost.forwards + second.cost.forwards + 1


def test_what_fails_when_asked_again_does_not_lose_the_explanation():
    calls = Counting()
    piste.explain("some words to read", piste.from_function(calls))
    last, again = len(calls.calls), Counting()

    def function(texts):
        answer = again(texts)
        if len(again.calls) == last:
            raise ConnectionError("gone")
        return answer

    (note,) = doubts(function)
    assert "gone" in note


def test_doubts_are_kept_with_the_classifier():
    classifier = piste.from_function(Counting(lambda texts, call: call))
    for _ in range(2):
        assert "different answers" in piste.explain("some words", classifier).notes[-1]


def test_a_function_of_ids_gets_what_the_tokenizer_makes(wordpiece):
    seen: list[np.ndarray] = []

    def function(ids):
        seen.append(ids)
        return ids.sum(axis=1) / 100

    classifier = piste.from_function(function, ["no", "yes"], tokenizer=wordpiece)
    text = "the film was good"
    found = piste.explain(text, classifier, unit="token", target="yes")
    assert seen[0].tolist() == [wordpiece(text)["input_ids"]]
    assert all(ids.dtype == np.int64 and ids.ndim == 2 for ids in seen)
    assert all((ids[:, 0] == 2).all() and (ids[:, -1] == 3).all() for ids in seen)  # the frame
    assert found.target.score == pytest.approx(seen[0].sum() / 100)
    assert found.target.labels == ("no", "yes")
    assert [player.text for player in found.players][:2] == ["the", "film"]
    removed = piste.explain(text, classifier, "occlusion", unit="token", target="yes")
    planted = [sum(player.ids) / 100 for player in removed.players]
    assert removed.scores["removal"] == pytest.approx(planted)


def test_a_function_of_ids_may_name_its_tokenizer(wordpiece, tmp_path):
    wordpiece.save_pretrained(tmp_path)
    for source in (tmp_path, str(tmp_path)):
        classifier = piste.from_function(lambda ids: ids.mean(axis=1), tokenizer=source)
        encoding = classifier.encode("good film " * 80)
        assert encoding.limit == 64 - 2
        assert classifier.token_id("mask") == wordpiece.mask_token_id
        assert "film" in classifier.show(np.array(encoding.ids))
    with pytest.raises(ModelError, match="cannot tell where"):
        piste.from_function(len, tokenizer=str.split)


def test_a_function_of_ids_gets_pairs_in_one_row(wordpiece):
    seen: list[np.ndarray] = []

    def function(ids):
        seen.append(ids)
        return ids.mean(axis=1)

    classifier = piste.from_function(function, tokenizer=wordpiece)
    piste.explain("the film", classifier, "occlusion", pair="was good")
    assert seen[0].tolist() == [wordpiece("the film", "was good")["input_ids"]]


def test_a_function_may_fill_the_same_array_again():
    worth = {"good": 3.0, "bad": -2.0}
    kept = np.zeros((5000, 2))

    def function(texts):
        for row, text in enumerate(texts):
            kept[row] = 0, sum(worth.get(word, 0.0) for word in text.split()) / len(text.split())
        return kept[: len(texts)]

    found = piste.explain("a good film with a bad end", piste.from_function(function), target=1)
    fresh = piste.from_function(lambda texts: function(texts).copy())
    expected = piste.explain("a good film with a bad end", fresh, target=1)
    assert (found.scores["value"] == expected.scores["value"]).all()


@pytest.mark.parametrize("answer", [["1", "2"], [1j, 2j], [object()]])
def test_answers_that_are_no_numbers(answer):
    function = piste.from_function(lambda texts: (answer * len(texts))[: len(texts)])
    with pytest.raises(piste.PisteError, match=r"not numbers|in the place of a number"):
        piste.explain("a good film", function)


WEIGHTS = {"good": 1.5, "bad": -1.2, "superb": 2.0, "thin": -0.7}
NOISY = "a good film with superb cast but bad and thin plot"


def added(text):
    return sum(WEIGHTS.get(word, 0.0) for word in text.split())


def test_errors_are_no_smaller_than_answers_to_the_same_text_were_apart():
    changing = Changing(added, 0.25)
    found = piste.explain(NOISY, piste.from_function(changing))
    apart = found.parts.varies
    assert apart == pytest.approx(0.5)
    assert "gives different answers" in found.notes[0]
    assert (found.errors["effect"] >= apart).all()
    assert all(pair.error >= apart for pair in found.pairs(5))
    assert found.predict([0, 1]).error >= apart
    truth = np.array([WEIGHTS.get(player.text, 0.0) for player in found.players])
    assert (np.abs(found.scores["effect"] - truth) < 3 * found.errors["effect"]).all()
    again = piste.Explanation.from_dict(found.to_dict())
    assert again.parts.varies == apart
    steady = piste.explain(NOISY, piste.from_function(lambda texts: list(map(added, texts))))
    assert steady.parts.varies == 0


def probability(text):
    return float(1 / (1 + np.exp(-added(text))))


def test_probabilities_that_are_taken_for_log_odds_are_noticed():
    def probabilities(texts):
        return [probability(text) for text in texts]

    found = piste.explain(NOISY, piste.from_function(probabilities))
    assert any('outputs="probabilities"' in note for note in found.notes)
    meant = piste.explain(NOISY, piste.from_function(probabilities, outputs="probabilities"))
    assert not any("between 0 and 1" in note for note in meant.notes)


@pytest.mark.parametrize(
    "function",
    [
        lambda texts: [float("good" in text) for text in texts],  # counts
        lambda texts: [added(text) for text in texts],
        lambda texts: [[0.0, added(text)] for text in texts],
    ],
)
def test_other_answers_are_not_taken_for_probabilities(function):
    found = piste.explain(NOISY, piste.from_function(function))
    assert not any("between 0 and 1" in note for note in found.notes)


@pytest.mark.parametrize("outputs", ["logits", "probabilities"])
def test_answers_are_as_far_apart_as_their_log_odds(outputs):
    seen = set()

    def two(texts):
        margins = []
        for text in texts:
            margins.append(len(text) * 0.1 + (-1.0 if text in seen else 1.0))
            seen.add(text)
        logits = np.array([[-m / 2, m / 2] for m in margins])
        return logits if outputs == "logits" else 1 / (1 + np.exp(-2 * logits))

    found = piste.explain(
        "a very good film, not a bad one", piste.from_function(two, outputs=outputs)
    )
    assert found.parts.varies == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("made", [Decimal, Fraction, np.float32])
def test_numbers_of_other_kinds_are_numbers(made):
    def function(texts):
        return np.array([made(len(text)) for text in texts], dtype=object)

    found = piste.explain("a good film", piste.from_function(function))
    assert found.target.score == 11
