"""Whatever the schema allows, and much that it does not: never a 500."""

import os
import warnings

import pytest
from hypothesis import HealthCheck, settings

from tests.web.servers import client

if not os.environ.get("CI"):
    pytest.importorskip("schemathesis")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import not_a_server_error

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "12"))  # of each operation
CALM = [*HealthCheck]  # a model is asked: slower than what the library is made for


@pytest.fixture(scope="module")
def schema():
    with client(timeout=20.0, queue=64, max_chars=300) as api:
        yield schemathesis.openapi.from_asgi(
            "/openapi.json", api.served.guarded, base_url="http://127.0.0.1:8000"
        )


lazy = schemathesis.pytest.from_fixture("schema")


@lazy.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=CALM)
def test_no_question_breaks_the_server(case):
    case.headers["host"] = "127.0.0.1:8000"
    case.call_and_validate(checks=(not_a_server_error,))


def test_every_operation_of_the_api_is_in_the_schema():
    with client() as api:
        paths = set(api.get("/openapi.json").json()["paths"])
    wanted = {"models", "explain", "explain/stream", "answer", "compare", "compare/stream"}
    wanted |= {"deletion", "download/{kind}"}
    assert paths == {f"/api/{name}" for name in wanted}
