import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from piste.design import keep_back, unseen
from piste.ragged import Ragged

rows = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), max_size=12)


def listed(ragged: Ragged) -> list[tuple[int, ...]]:
    return [tuple(ragged.row(index).tolist()) for index in range(len(ragged))]


@given(rows, rows)
def test_unseen_rows_are_distinct_and_new(candidates, seen):
    fresh = listed(unseen(Ragged.of(candidates), Ragged.of(seen)))
    assert len(fresh) == len(set(fresh))
    assert set(fresh) == {tuple(row) for row in candidates} - {tuple(row) for row in seen}


@given(rows, st.integers(0, 9))
def test_kept_back_rows_are_not_fitted(data, seed):
    fitted, held = keep_back(Ragged.of(data), np.random.default_rng(seed), share=0.5)
    assert not set(listed(fitted)) & set(listed(held))
    assert set(listed(fitted)) | set(listed(held)) == {tuple(row) for row in data}
    assert all(len(row) > 1 for row in listed(held))
    several = {tuple(row) for row in data if len(row) > 1}
    assert len(held) == len(several) // 2
