"""Small matrices: threads of the linear algebra would only wait for each other."""

import pytest

from piste.surrogates import algebra


@pytest.fixture(scope="module")
def one_thread():
    with algebra.one_thread:
        yield
