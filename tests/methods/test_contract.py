"""What holds for every method of the table, whatever it does inside."""

import pytest

from piste.methods import METHODS
from tests.contracts.methods import CHECKS, quick


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check, name, request):
    check(quick(METHODS[name]), request.getfixturevalue)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_the_table_has_a_method_by_its_name(name):
    assert METHODS[name].name == name
