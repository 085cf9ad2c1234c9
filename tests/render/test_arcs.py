"""Arcs in the figure: between the right words, as strong as the pairs, and in nobody's way."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.text import Text

from piste.render import together
from piste.render.arcs import AMOUNT, BEHIND, arcs, rooms
from piste.render.figure import draw
from piste.render.paragraph import SIZE, TextPiece, colour
from piste.render.words import signed
from piste.result.explanation import Explanation
from piste.result.parts import Pair
from tests.render.samples import MEAL, crowded, in_context, many, sample

FILLER = " ".join(["the table was near a door"] * 4)
LONG = f"the meal was not {FILLER} good but how many dishes {FILLER} were great and fine"


def curves(figure: Figure) -> list[PathPatch]:
    artists = figure.findobj(PathPatch)
    return [one for one in artists if isinstance(one, PathPatch) and one.get_zorder() == BEHIND]


def words(figure: Figure) -> list[Text]:
    found = [one for one in figure.artists if isinstance(one, Text)]
    return [one for one in found if one.get_fontsize() == SIZE]


def amounts(figure: Figure) -> list[Text]:
    found = [one for one in figure.artists if isinstance(one, Text)]
    return [one for one in found if one.get_fontsize() == AMOUNT]


def ends_of(figure: Figure) -> set[frozenset[str]]:
    """The words above or below which the drawn curves begin and end."""
    figure.canvas.draw()
    boxes = [(word.get_text(), word.get_window_extent()) for word in words(figure)]
    found = set()
    for curve in curves(figure):
        vertices = curve.get_transform().transform(curve.get_path().vertices)
        near = [
            min(
                (box for box in boxes if box[1].x0 <= x <= box[1].x1),
                key=lambda box: min(abs(box[1].y0 - y), abs(box[1].y1 - y)),
            )[0]
            for x, y in (vertices[0], vertices[-1])
        ]
        found.add(frozenset(near))
    return found


def linked(explanation: Explanation) -> set[frozenset[str]]:
    players = explanation.players
    return {
        frozenset((players[link.pair.first].text, players[link.pair.second].text))
        for link in together.links(explanation)
    }


@pytest.mark.parametrize(
    ("text", "pair"),
    [(MEAL, None), (LONG, None), ("the meal was not", "good indeed"), ("not good", None)],
    ids=["line", "lines", "pair", "two words"],
)
def test_arcs_join_the_words_that_act_together(text: str, pair: str | None) -> None:
    explanation = in_context(text, pair=pair)
    assert frozenset(("not", "good")) in linked(explanation)
    assert ends_of(draw(explanation)) == linked(explanation)


def test_the_stronger_the_thicker_and_the_sign_is_the_colour() -> None:
    links = together.links(in_context())
    drawn = {round(curve.get_linewidth(), 6): curve for curve in curves(draw(in_context()))}
    strongest_first = sorted(drawn, reverse=True)
    assert len(drawn) == len(links) >= 3
    for width, link in zip(strongest_first, links, strict=True):
        assert to_hex(drawn[width].get_edgecolor()) == colour(link.pair.effect)
    assert {colour(link.pair.effect) for link in links} == {colour(1), colour(-1)}


def test_amounts_are_those_of_the_sentences_and_can_be_read() -> None:
    figure = draw(in_context())
    figure.canvas.draw()
    shown = sorted(text.get_text() for text in amounts(figure))
    assert shown == sorted(signed(link.pair.effect) for link in together.links(in_context()))
    boxes = [text.get_window_extent() for text in (*amounts(figure), *words(figure))]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(figure.bbox.count_contains(box.corners()) == 4 for box in boxes)


def test_arcs_stay_clear_of_the_headline() -> None:
    figure = draw(in_context())
    figure.canvas.draw()
    headline = figure.texts[0].get_window_extent()
    for artist in (*curves(figure), *amounts(figure)):
        assert not headline.overlaps(artist.get_window_extent())


def test_where_nothing_acts_together_there_are_no_arcs() -> None:
    for explanation in (sample(), many(2000), in_context("good")):
        assert curves(draw(explanation)) == []


def test_a_word_that_is_cut_out_of_a_long_text_has_no_arc() -> None:
    lines = [[TextPiece("not", 15.0, 0.0, (0,)), TextPiece("good", 20.0, 0.0, (1,))]]
    pairs = [Pair(0, 1, -2.0, 0.1), Pair(0, 7, 1.0, 0.1)]
    assert [arc.pair for arc in arcs(pairs, lines, 0, 100)] == pairs[:1]


def test_arcs_follow_text_that_runs_from_right_to_left() -> None:
    def of(first: str, second: str) -> list[float]:
        line = [TextPiece(first, 30.0, 0.0, (0,)), TextPiece(second, 20.0, 0.0, (1,))]
        (arc,) = arcs([Pair(0, 1, 1.0, 0.1)], [line], 10, 100)
        return [arc.upper.x, arc.lower.x]

    assert of("not", "good") == [25.0, 50.0]
    assert of("לא", "טוב") == [95.0, 70.0]


def test_arcs_over_each_other_are_on_levels_of_their_own() -> None:
    line = [TextPiece("word", 60.0, 0.0, (index,)) for index in range(4)]
    pairs = [Pair(0, 3, 1.0, 0.1), Pair(0, 1, 1.0, 0.1), Pair(2, 3, 1.0, 0.1)]
    levels = {(arc.pair.first, arc.pair.second): arc.level for arc in arcs(pairs, [line], 0, 300)}
    assert levels == {(0, 1): 1, (2, 3): 1, (0, 3): 2}
    one, two = (rooms(arcs(some, [line], 0, 300), 1)[0] for some in (pairs[1:], pairs))
    assert 0 < one < two


def test_arcs_on_one_word_stand_side_by_side() -> None:
    line = [TextPiece("word", 60.0, 0.0, (index,)) for index in range(4)]
    pairs = [Pair(1, 3, 1.0, 0.1), Pair(0, 1, 1.0, 0.1), Pair(1, 2, 1.0, 0.1)]
    feet = {arc.pair: arc for arc in arcs(pairs, [line], 0, 300)}
    on_second = [
        feet[pairs[1]].lower.x,
        *(min(feet[pairs[index]].upper.x, feet[pairs[index]].lower.x) for index in (0, 2)),
    ]
    assert on_second == sorted(set(on_second))
    assert all(60 < x < 120 for x in on_second)


def test_what_is_not_sure_has_no_arc() -> None:
    explanation = in_context()
    assert explanation.parts is not None
    vague = replace(explanation, parts=replace(explanation.parts, inflation=1e9))
    assert vague.pairs()
    assert curves(draw(vague)) == []


def test_long_texts_keep_the_words_that_act_together() -> None:
    quiet = in_context(" ".join(["the table was near a door"] * 30) + " not good")
    strong = replace(quiet, scores=quiet.scores | {"effect": np.ones(len(quiet.players))})
    assert frozenset(("not", "good")) in ends_of(draw(strong))


def test_numbers_do_not_lie_on_each_other() -> None:
    figure = draw(crowded())
    figure.canvas.draw()
    boxes = [amount.get_window_extent() for amount in amounts(figure)]
    assert signed(2.0) in [amount.get_text() for amount in amounts(figure)]  # the strongest stays
    assert len(curves(figure)) == 4
    assert not [two for two in itertools.combinations(boxes, 2) if two[0].overlaps(two[1])]
