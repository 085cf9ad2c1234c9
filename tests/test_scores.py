"""What holds for every score of the table."""

import pytest

from piste.result.scores import SCORES
from tests.contracts.scores import CHECKS


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check, name):
    check(name, SCORES[name])
