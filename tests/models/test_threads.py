"""A contract of every backend: any number of threads may ask it, and nothing of the user's changes.

`make soak` does the same for longer.
"""

import pytest

from tests.backends import BACKENDS
from tests.models.threads import hammer, state_of

SECONDS = 2.0


@pytest.mark.parametrize("name", BACKENDS)
def test_threads_get_the_answers_that_one_would(name, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with BACKENDS[name]() as classifier:
        before = state_of(classifier)
        tally = hammer(classifier, seconds=SECONDS)
        assert state_of(classifier) == before
    assert tally.asked > 10
    assert tally.errors[:3] == []
    assert tally.wrong[:3] == []
