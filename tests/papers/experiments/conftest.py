"""Contexts whose trained models are kept and shared: several experiments explain the same ones."""

import pytest

from tests.papers.experiments.made_up import context_in
from tests.papers.experiments.toy_imdb import toy_context


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """Made-up reviews in place of IMDB's, with the single-layer model that learns them."""
    return toy_context(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="session")
def made_up(tmp_path_factory):
    """No data: for experiments on the made-up languages."""
    return context_in(tmp_path_factory.mktemp("made-up"))
