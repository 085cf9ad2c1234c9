"""What holds for every metric of the table."""

import pytest

from piste.metrics import METRICS
from tests.contracts.metrics import CHECKS


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check, name):
    check(name, METRICS[name])
