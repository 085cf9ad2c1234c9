import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from piste.arrays import Ragged
from piste.design import keep_back, unseen

rows = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), max_size=12)
GROUPS = np.array([0, 1, 2, 1])  # the second and the fourth player are the same


def keys(ragged: Ragged) -> list[tuple[int, ...]]:
    return [tuple(sorted(GROUPS[ragged.row(i)].tolist())) for i in range(len(ragged))]


@given(rows, rows)
def test_unseen_rows_hold_other_groups(candidates, seen):
    fresh = keys(unseen(Ragged.of(candidates), Ragged.of(seen), GROUPS))
    assert len(fresh) == len(set(fresh))
    assert set(fresh) == set(keys(Ragged.of(candidates))) - set(keys(Ragged.of(seen)))


@given(rows, st.integers(0, 9))
def test_kept_back_rows_are_not_fitted_in_any_order(data, seed):
    fitted, held = keep_back(Ragged.of(data), GROUPS, np.random.default_rng(seed), share=0.5)
    assert not set(keys(fitted)) & set(keys(held))
    assert set(keys(fitted)) | set(keys(held)) == set(keys(Ragged.of(data)))
    several = {key for key in keys(Ragged.of(data)) if len(key) > 1}
    assert set(keys(held)) <= several
    assert len(held) == max(len(several) // 2, min(2, len(several) - 1), 0)
