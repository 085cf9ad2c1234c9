"""The text is cut without loss, and long texts are shown around their strongest words."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piste.render.segments import ELISION, Segment, excerpt, segments, shade
from piste.render.shades import AGAINST, FOR, blend, ends, strengths
from piste.result.explanation import Explanation
from tests.render.samples import many, sample


@st.composite
def explanations(draw: st.DrawFn) -> Explanation:
    """Any text, with players that may overlap, coincide, be empty or reach beyond the text."""
    text = draw(st.text(max_size=30))
    ends = st.integers(0, len(text) + 3)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=12))
    return sample(text, [(min(pair), max(pair)) for pair in pairs])


@settings(deadline=None)
@given(explanations())
def test_joined_segments_are_the_text(explanation: Explanation) -> None:
    parts = segments(explanation)
    assert "".join(part.text for part in parts) == explanation.text
    assert all(part.text for part in parts)


@settings(deadline=None)
@given(explanations())
def test_every_player_is_on_its_own_characters(explanation: Explanation) -> None:
    found: dict[int, str] = {}
    for part in segments(explanation):
        for index in part.players:
            found[index] = found.get(index, "") + part.text
    for index, player in enumerate(explanation.players):
        assert found.get(index, "") == explanation.text[player.start : player.end]


def test_byte_players_share_one_segment() -> None:
    parts = segments(sample("a 🎉 b", [(0, 1), (2, 3), (2, 3), (2, 3), (4, 5)]))
    assert [(part.text, part.players) for part in parts] == [
        ("a", (0,)),
        (" ", ()),
        ("🎉", (1, 2, 3)),
        (" ", ()),
        ("b", (4,)),
    ]


def test_the_strongest_player_colours_a_shared_segment() -> None:
    shades = np.array([0.2, -0.9, 0.5])
    assert shade(Segment("🎉", (0, 1, 2)), shades) == -0.9
    assert shade(Segment(" "), shades) == 0.0


def test_a_short_text_is_shown_whole() -> None:
    parts = segments(sample())
    assert excerpt(parts, strengths(sample()), 10_000) == parts


def test_a_long_text_is_shown_around_the_strongest() -> None:
    explanation = many()
    parts = excerpt(segments(explanation), strengths(explanation), 1000)
    assert sum(len(part.text) for part in parts if part is not ELISION) <= 1000
    assert explanation.top(1)[0].player.text in {part.text for part in parts}
    assert ELISION in parts
    assert not any(a is ELISION and b is ELISION for a, b in itertools.pairwise(parts))


def test_one_endless_word_is_shortened() -> None:
    explanation = sample("x" * 50_000)
    parts = excerpt(segments(explanation), strengths(explanation), 1000)
    assert sum(len(part.text) for part in parts) <= 1000


def test_strengths_are_relative_to_the_strongest() -> None:
    explanation = sample("a b c", scores={"lin": np.array([1.0, -2.0, np.nan])})
    assert strengths(explanation).tolist() == [0.5, -1.0, 0.0]
    assert ends(explanation, "lin") == ("−2.00", "+2.00")


def test_an_outlier_does_not_pale_the_others() -> None:
    explanation = sample("a b c a", scores={"lin": np.array([40.0, -2.0, 1.0, 40.0])})
    assert strengths(explanation).tolist() == [1.0, -0.5, 0.25, 1.0]
    assert ends(explanation, "lin") == ("≤ −4.00", "≥ +4.00")
    alone = sample("a b c", scores={"lin": np.array([40.0, 0.0, 0.0])})
    assert strengths(alone).tolist() == [1.0, 0.0, 0.0]


def test_beside_a_word_that_is_all_there_is_the_others_stay_pale() -> None:
    explanation = sample("a b c", scores={"lin": np.array([4.0, 0.04, -0.02])})
    assert strengths(explanation).tolist() == pytest.approx([1.0, 0.1, -0.05])


def test_importances_are_weights_without_a_side() -> None:
    explanation = sample("a b c", scores={"importance": np.array([-2.0, 0.0, 2.0])})
    assert strengths(explanation, "importance").tolist() == [0.0, 0.5, 1.0]


def test_all_zero_scores_have_no_colour() -> None:
    assert strengths(sample("a b", scores={"lin": np.zeros(2)})).tolist() == [0.0, 0.0]


def test_blending_goes_from_the_ground_to_the_side() -> None:
    assert blend((0, 0, 0), 1.0) == FOR
    assert blend((0, 0, 0), -1.0) == AGAINST
    assert blend((9, 9, 9), 0.0) == (9, 9, 9)
