"""What holds for every backend, one after the other on the same classifier."""

import pytest

from tests.backends import BACKENDS, title
from tests.contracts.backends import CHECKS


@pytest.mark.parametrize("name", BACKENDS)
def test_contract(name, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert title(name)
    with BACKENDS[name]() as classifier:
        for check in CHECKS:
            check(classifier)
