"""From how many texts on a summary names words and pairs, and what it says of what is in fewer."""

import json
from dataclasses import replace

import pytest

import piste
from piste.errors import FileError
from piste.render.corpus_html import findings
from piste.runs.word_tally import Word
from tests.runs.planted_run import PlantedText, write_run
from tests.runs.test_word_tally import sided


def together(first, second, times, effect=-2.0):
    return [PlantedText([first, second], [0.0, 1.0], pairs=[(0, 1, effect)])] * times


def summary_of(folder, texts, count):
    """A summary of these texts, and of as many others as make the count full."""
    return piste.summarise(write_run(folder, [*texts, *together("x", "y", count - len(texts), 0)]))


def plain(summary):
    return " ".join(str(summary).split())


def names(pairs):
    return [(pair.first, pair.second) for pair in pairs]


@pytest.mark.parametrize(("texts", "least"), [(10, 1), (20, 2), (30, 3), (100, 3), (9000, 3)])
def test_pairs_need_three_texts_at_most(tmp_path, texts, least):
    summary = summary_of(tmp_path, together("not", "good", 3), 30)
    assert replace(summary, texts=texts).least_listed == least


def test_a_pair_in_three_texts_of_many_is_listed(tmp_path):
    summary = summary_of(tmp_path, together("not", "good", 3), 60)
    assert names(summary.together()) == [("not", "good")]
    assert "not + good" in str(summary)


def test_where_all_pairs_are_rare_the_strongest_are_shown_as_such(tmp_path):
    rare = [text for n in range(7) for text in together("not", f"w{n}", 1 + n % 2, 1.0 + n)]
    summary = summary_of(tmp_path, rare, 60)
    assert summary.together() == []
    strongest = [5, 3, 6, 4, 1]  # by texts times effect
    assert names(summary.paired()) == [("not", f"w{n}") for n in strongest]
    told = (
        "o pair is among the strongest of 3 texts or more: these are the 5 strongest of 7,"
        " listed in one or two texts each, and say little about other texts"
    )
    assert f"over all texts with both; n{told} words" in plain(summary)
    document = summary.to_html()
    assert f"N{told}." in document
    assert document.count(">listed in 2 texts<") == 3
    assert document.count(">listed in 1 text<") == 2
    assert all(pair.examples for pair in summary.paired())
    assert "yet" not in plain(summary)
    assert len([p for p in json.loads(summary.to_json())["pairs"] if p["effect"]]) == 7


@pytest.mark.parametrize(
    ("rare", "count", "told"),
    [
        (1, 60, "this one is of fewer, and says"),
        (2, 60, "these are listed in one or two texts each, and say"),
        (2, 20, "these are listed in one text each, and say"),
    ],
)
def test_a_few_rare_pairs_are_all_shown(tmp_path, rare, count, told):
    texts = [text for n in range(rare) for text in together("not", f"w{n}", 1)]
    assert told in plain(summary_of(tmp_path, texts, count))


@pytest.mark.parametrize(
    ("often", "rare", "told"),
    [
        (
            1,
            1,
            "1 of 2 pairs is {why}: it is shown last, and says",
        ),
        (
            2,
            3,
            "3 of 5 pairs are {why}: they are shown last, and",
        ),
        (
            2,
            6,
            "6 of 8 pairs are {why}: the 3 strongest of them",
        ),
        (5, 4, "4 of 9 pairs are {why} and are left out"),
    ],
)
def test_where_few_pairs_are_frequent_the_strongest_rare_ones_follow(tmp_path, often, rare, told):
    texts = [text for n in range(often) for text in together("not", f"o{n}", 3)]
    texts += [text for n in range(rare) for text in together("so", f"r{n}", 1, 9.0)]
    summary = summary_of(tmp_path, texts, 60)
    shown = [pair.first for pair in summary.paired()]
    assert shown == ["not"] * often + ["so"] * min(rare, 5 - often)
    assert told.format(why="among the strongest of fewer than 3 texts") in plain(summary)


def test_what_is_asked_for_by_default_is_what_is_printed(tmp_path):
    texts = [*together("not", "good", 6), *together("so", "rare", 1, 9.0)]
    summary = summary_of(tmp_path, texts, 60)
    assert "rare" not in {word.word for word in summary.strongest()}
    assert names(summary.together()) == [("not", "good")]
    assert "rare" in {word.word for word in summary.strongest(least=1)}
    assert names(summary.together(least=1)) == [("not", "good"), ("so", "rare")]
    assert "rare" in set(summary.to_pandas()["word"])


def test_words_that_turn_are_ordered_by_the_rarer_side_then_by_count(tmp_path):
    summary = summary_of(tmp_path, together("not", "good", 3), 60)
    even, more = sided([1.0] * 4 + [-1.0] * 4), sided([1.0] * 8 + [-1.0] * 4)
    long, noise = sided([1.0] * 16 + [-1.0] * 8), sided([1.0, -1.0, *[0.01] * 56])
    told = replace(summary, words=[noise, more, long, even])
    assert told.turning() == [even, long, more]
    assert "rarer side" in plain(told)
    assert told.to_html().count('<small class="flag">both sides<') == 3


def test_words_whose_turn_is_hardly_felt_are_not_said_to_turn(tmp_path):
    """They turn surely, but by less than a tenth of what the strongest word does."""
    summary = summary_of(tmp_path, together("not", "good", 3), 60)
    strongest = sided([5.0] * 6)
    felt, hardly = sided([0.6] * 4 + [-0.6] * 4), sided([2.0] * 4 + [-0.4] * 4)
    assert felt.turns
    assert hardly.turns
    told = replace(summary, words=[strongest, felt, hardly])
    assert told.turning() == [felt]
    assert told.to_html().count('<small class="flag">both sides<') == 1


def deciding(summary, *counts):
    """The sentence about wrong predictions, of words that decided so many each."""
    words = [Word(f"w{n}", "positive", 9, 9, effect=1.0, wrong=c) for n, c in enumerate(counts)]
    (kind,) = summary.mistakes
    mistakes = [replace(kind, texts=sum(counts))]
    (found,) = findings(replace(summary, words=words, mistakes=mistakes))[-1:]
    return found


def test_a_headline_names_only_words_that_decided_several(tmp_path):
    wrong = [PlantedText(["fine"], [1.0], "positive", "negative")]
    summary = summary_of(tmp_path, wrong, 10)
    several = deciding(summary, 4, 1, 1, 2)
    assert several == "8 wrong predictions, most often decided by w0 (4) and w3 (2)."
    none = deciding(summary, 1, 1, 1)
    assert none == "3 wrong predictions; no word decided more than one of them."
    assert deciding(summary, 1) == "1 wrong prediction."


def test_a_share_says_of_how_many_texts_it_is(tmp_path):
    labels = ["positive", "positive", "mixed"]
    texts = [PlantedText(["good"], [1.0], label=label) for label in labels]
    summary = piste.summarise(write_run(tmp_path / "some", texts))
    assert summary.checked == 2
    assert ", 100 % right (2 of 3 texts checked);" in plain(summary)
    assert "100 % predicted as labelled (2 of 3 texts checked)</h1>" in summary.to_html()
    summary = piste.summarise(write_run(tmp_path / "all", texts[:2]))
    assert ", 100 % right;" in plain(summary)


def test_a_source_that_is_not_there_is_named():
    with pytest.raises(FileError, match="There is no file or folder 'nothere'"):
        piste.summarise("nothere")
