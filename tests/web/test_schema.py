"""Whatever the schema allows, and much that it does not: never a 500."""

import os
import random
import warnings
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from piste.methods import METHODS
from piste.options import Options
from tests.web.servers import client

if not os.environ.get("CI"):
    pytest.importorskip("schemathesis")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error

EXAMPLES = 8  # of each operation and kind
MANY = 100
HOST = {"Host": "127.0.0.1:8000"}
CALM = [*HealthCheck]  # a model is asked: slower than what the library is made for
OPERATIONS = {
    "/api/models": "GET",
    "/api/explain": "POST",
    "/api/explain/stream": "POST",
    "/api/download/{kind}": "POST",
    "/api/answer": "POST",
    "/api/predict": "POST",
    "/api/edit": "POST",
    "/api/deletion": "POST",
    "/api/compare": "POST",
    "/api/compare/stream": "POST",
}


@pytest.fixture(scope="module")
def schema():
    with client(timeout=20.0, queue=64, max_chars=300) as api:
        yield schemathesis.openapi.from_asgi("/openapi.json", api.served.guarded, headers=HOST)


def sensible(body: dict[str, Any]) -> dict[str, Any]:
    """With names that exist: any other string ends at the first check."""
    draw = random.Random(repr(body))
    chosen = {
        "method": draw.choice([*METHODS]),
        "model": draw.choice(["toy", None]),
        "target": draw.choice([None, "predicted", "runner-up", "positive", "all"]),
        "budget": draw.choice([None, 1, 30, 300]),
        "methods": draw.choice([None, draw.sample([*METHODS], 3)]),
        "removed": draw.sample(range(5), 2),
        "kept": [draw.sample(range(5), 2)],
        "edits": [{"player": draw.randrange(5), "text": draw.choice(["", "good", "\u202e"])}],
    }
    return body | {name: chosen[name] for name in chosen if name in body}


def throw(schema, path: str, mode: GenerationMode, examples: int) -> None:
    """Ask what the schema allows, or what it forbids, and see that the server stands."""
    operation = schema[path][OPERATIONS[path]]

    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=CALM)
    @given(case=operation.as_strategy(generation_mode=mode))
    def asked(case) -> None:
        if mode is GenerationMode.POSITIVE:
            case.body = sensible(case.body)
        case.call_and_validate(headers=HOST, checks=(not_a_server_error,))

    asked()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("path", [path for path in OPERATIONS if path != "/api/models"])
def test_no_question_breaks_the_server(schema, path, mode):
    throw(schema, path, mode, EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("path", [path for path in OPERATIONS if path != "/api/models"])
def test_many_questions_do_not_break_the_server(schema, path, mode):
    throw(schema, path, mode, MANY)


def test_every_operation_is_in_the_schema():
    with client() as api:
        paths = api.get("/openapi.json").json()["paths"]
    assert {path: next(iter(verbs)).upper() for path, verbs in paths.items()} == OPERATIONS


def test_every_setting_of_the_table_is_in_the_schema_and_in_the_form():
    remote = {field.name for field in fields(Options) if field.metadata["remote"]}
    with client() as api:
        schemas = api.get("/openapi.json").json()["components"]["schemas"]
        offered = api.get("/api/models").json()["settings"]
    assert {setting["name"] for setting in offered} == remote
    for request in ("ExplainRequest", "RemovalRequest", "PredictRequest", "EditRequest"):
        assert remote <= set(schemas[request]["properties"])
