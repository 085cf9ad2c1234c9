"""Labels never overlap, stay inside, and fall in the same place each time."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from piste.render.placement import Box, place

BOUNDS = Box(0, 0, 300, 200)
POINTS = st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), min_size=1, max_size=40)


@settings(deadline=None)
@given(POINTS, st.floats(5, 120))
def test_labels_do_not_overlap_and_stay_inside(
    points: list[tuple[float, float]], width: float
) -> None:
    placed = [box for box in place(points, [(width, 11.0)] * len(points), points, BOUNDS) if box]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(placed, 2))
    assert all(box.inside(BOUNDS) for box in placed)


@settings(deadline=None)
@given(POINTS)
def test_the_same_points_give_the_same_places(points: list[tuple[float, float]]) -> None:
    sizes = [(40.0, 11.0)] * len(points)
    assert place(points, sizes, points, BOUNDS) == place(points, sizes, points, BOUNDS)


def test_a_lonely_label_is_beside_its_point() -> None:
    (box,) = place([(150, 100)], [(40, 11)], [(150, 100)], BOUNDS)
    assert box is not None
    assert abs(box.nearest((150, 100))[0] - 150) < 8
    assert not box.holds((150, 100))


def test_a_label_without_room_is_left_out() -> None:
    assert place([(150, 100)], [(400, 11)], [(150, 100)], BOUNDS) == [None]


def test_a_label_avoids_its_neighbours() -> None:
    neighbours = [(150, 100), (170, 100), (180, 100)]
    (box,) = place([(150, 100)], [(40, 11)], neighbours, BOUNDS)
    assert box is not None
    assert not any(map(box.holds, neighbours))
