"""An endpoint on loopback, and classifiers that ask it."""

import pytest

import piste
from piste.models.backends import endpoint as client
from tests import endpoint

LABELS = ("positive", "negative")
PROMPT = "Is this review positive or negative?\n{text}\nAnswer:"


@pytest.fixture
def server(monkeypatch):
    """Without pauses between tries."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(client, "_pause", lambda attempt: 0.01)
    with endpoint.running() as running:
        yield running


@pytest.fixture
def connect(server, tmp_path):
    """A classifier of a model with a name, whose answers are kept in the test's folder."""

    def connected(url=None, **options):
        settings = {"cache": tmp_path / "answers.sqlite", "model": "toy"} | options
        return piste.from_endpoint(url or server.url, LABELS, PROMPT, **settings)

    return connected
