import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from piste.arrays import Ragged

rows = st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=8)


def listed(ragged: Ragged) -> list[list[int]]:
    return [ragged.row(index).tolist() for index in range(len(ragged))]


@given(rows)
def test_rows_come_back(data):
    assert listed(Ragged.of(data)) == data


@given(rows, st.data())
def test_take_picks_rows_in_order(data, draw):
    wanted = draw.draw(st.lists(st.integers(0, len(data) - 1), max_size=10))
    taken = Ragged.of(data).take(np.array(wanted, dtype=np.int64))
    assert listed(taken) == [data[index] for index in wanted]


@given(rows, st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=6, max_size=6))
def test_expand_replaces_values_by_rows(data, parts):
    expanded = Ragged.of(data).expand(Ragged.of(parts))
    assert listed(expanded) == [[token for value in row for token in parts[value]] for row in data]


@given(rows, rows)
def test_concat_puts_rows_after_rows(first, second):
    assert listed(Ragged.concat([Ragged.of(first), Ragged.of(second)])) == first + second


def test_masked_and_table():
    keep = np.array([[True, False, True], [False, False, False]])
    assert listed(Ragged.masked(keep)) == [[0, 2], []]
    assert listed(Ragged.table(np.array([[3, 1], [2, 2]]))) == [[3, 1], [2, 2]]
