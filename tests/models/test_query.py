from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from piste.arrays import Ragged
from piste.errors import OutputError, SettingError
from piste.models.query import Query
from piste.progress import Meter
from piste.text.encoding import Encoding, Frame


@dataclass
class Recorder:
    """A classifier that answers the sum and the length, and remembers what it was asked."""

    name: str = "recorder"
    labels: tuple[str, ...] = ("sum", "length")
    outputs: str = "classes"
    backend: str = "recorder"
    most: int = 10**9  # sequences at once before memory runs out
    poison: int = -1
    batches: list[np.ndarray] = field(default_factory=list)

    def encode(self, text: str) -> Encoding:
        raise NotImplementedError

    def logits(self, ids):
        if len(ids) > self.most:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
        self.batches.append(ids)
        answer = np.stack([ids.sum(axis=1), np.full(len(ids), ids.shape[1])], axis=1).astype(float)
        answer[(ids == self.poison).any(axis=1)] = np.nan
        return answer

    def show(self, ids):
        return " ".join(map(str, ids.tolist()))


FRAME = Frame((100,), (200, 300))
rows = st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=30)


@given(rows, st.integers(1, 40))
def test_answers_come_in_order_for_any_batch_size(data, batch_tokens):
    query = Query(Recorder(), FRAME, batch_tokens=batch_tokens)
    expected = [[600 + sum(row), 3 + len(row)] for row in data]
    assert query.logits(Ragged.of(data)).tolist() == expected


@given(rows)
def test_each_distinct_sequence_is_asked_once_framed_and_counted(data):
    recorder = Recorder()
    query = Query(recorder, FRAME)
    query.logits(Ragged.of(data))
    asked = [tuple(row) for batch in recorder.batches for row in batch.tolist()]
    assert sorted(asked) == sorted({(100, *row, 200, 300) for row in data})
    assert query.forwards == len(asked)
    assert query.tokens == sum(map(len, asked))


def test_batches_hold_at_most_the_tokens_allowed():
    recorder = Recorder()
    Query(recorder, Frame(), batch_tokens=20).logits(Ragged.of([[i, i + 1] for i in range(35)]))
    assert [len(batch) for batch in recorder.batches] == [10, 10, 10, 5]
    assert all(batch.shape[1] == 2 for batch in recorder.batches)


def test_out_of_memory_halves_the_batch_and_remembers():
    recorder = Recorder(most=8)
    query = Query(recorder, Frame(), batch_tokens=64)
    answers = query.logits(Ragged.of([[i, i] for i in range(100)]))
    assert answers[:, 0].tolist() == [2 * i for i in range(100)]
    assert {len(batch) for batch in recorder.batches} == {8, 4}  # 32 -> 16 -> 8, and the rest
    assert query.forwards == 100
    assert query.batch_tokens == 16


def test_what_was_answered_is_not_asked_again():
    recorder = Recorder()
    query = Query(recorder, FRAME, budget=3)
    first = query.logits(Ragged.of([[1], [2]]))
    again = query.logits(Ragged.of([[2], [1], [3], [2]]))
    assert again[:2].tolist() == first[::-1].tolist()
    assert query.forwards == 3


def test_out_of_memory_for_one_sequence_is_explained():
    with pytest.raises(OutputError, match="single sequence of 3 tokens does not fit"):
        Query(Recorder(most=0), Frame()).logits(Ragged.of([[1, 2, 3]]))


def test_other_runtime_errors_are_not_swallowed():
    class Broken(Recorder):
        def logits(self, ids):
            raise RuntimeError("index out of range")

    with pytest.raises(RuntimeError, match="index out of range"):
        Query(Broken(), Frame()).logits(Ragged.of([[1]]))


def test_non_finite_answers_name_the_input():
    with pytest.raises(OutputError, match="'7 9'"):
        Query(Recorder(poison=9), Frame()).logits(Ragged.of([[1, 2], [7, 9]]))


def test_the_budget_is_a_limit():
    query = Query(Recorder(), Frame(), budget=3)
    query.logits(Ragged.of([[1], [2], [1]]))
    assert query.left == 1
    with pytest.raises(SettingError, match="next step needs 4"):
        query.logits(Ragged.of([[3], [4]]))
    assert query.forwards == 2


def test_progress_counts_towards_the_plan():
    seen = []
    query = Query(Recorder(), Frame(), batch_tokens=2, progress=lambda *step: seen.append(step))
    query.logits(Ragged.of([[9], [8]]))
    query.plan(4)
    query.logits(Ragged.of([[1], [2], [3], [4]]))
    assert seen == [(2, 2), (4, 6), (6, 6)]


def test_the_plan_of_several_queries_grows_with_what_is_answered():
    seen = []
    meter = Meter(lambda *step: seen.append(step))
    meter(150, 200)
    meter(256, 200)
    meter.next()
    meter(3, 2)
    assert seen == [(150, 200), (256, 256), (259, 259)]
