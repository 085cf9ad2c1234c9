"""Who may ask, and what browsers are told to refuse."""

import asyncio

import pytest
from starlette.exceptions import HTTPException

from piste.errors import SettingError
from piste.web import security
from piste.web.settings import CONNECTIONS, Settings, is_loopback
from tests.web.servers import TEXT, client

TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="module")
def api():
    with client() as found:
        yield found


@pytest.fixture(scope="module")
def guarded():
    with client(token=TOKEN) as found:
        yield found


@pytest.mark.parametrize("path", ["/", "/docs", "/api/models", "/static/page.js", "/nowhere"])
def test_every_answer_carries_the_headers(api, path):
    headers = api.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "localhost:1", "[::1]:8000"])
def test_our_own_names_are_known(api, host):
    assert api.get("/api/models", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "8.8.8.8", "", "[", "a@b"],
)
def test_a_foreign_name_that_points_here_is_refused(api, host):
    told = api.get("/api/models", headers={"host": host})
    assert told.status_code == 421
    assert told.json()["error"]


def test_a_foreign_page_cannot_post(api):
    body = {"text": TEXT}
    foreign = api.post("/api/explain", json=body, headers={"origin": "http://evil.example"})
    assert foreign.status_code == 403
    own = api.post("/api/explain", json=body, headers={"origin": "http://127.0.0.1:8000"})
    assert own.status_code == 200
    # What a form of a foreign page could send without asking first.
    form = api.post(
        "/api/explain", content=b'{"text": "good"}', headers={"content-type": "text/plain"}
    )
    assert form.status_code == 422
    assert api.options("/api/explain").status_code == 405  # no CORS: preflights get nowhere


def test_the_token_opens_the_api_and_nothing_else_does(guarded):
    assert guarded.get("/api/models").status_code == 401
    for wrong in ("Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
        assert guarded.get("/api/models", headers={"authorization": wrong}).status_code == 401
    right = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/api/models", headers=right).status_code == 200
    assert guarded.get(f"/api/models?token={TOKEN}").status_code == 200
    assert guarded.post(f"/api/explain?token={TOKEN}", json={"text": TEXT}).status_code == 401
    assert guarded.get("/openapi.json").status_code == 401


def test_the_page_itself_holds_nothing_and_is_open(guarded):
    assert guarded.get("/").status_code == 200
    assert guarded.get("/static/page.js").status_code == 200
    assert TOKEN not in guarded.get("/").text


def test_a_wrong_token_of_odd_bytes_is_only_wrong(guarded):
    told = guarded.get("/api/models", headers={"authorization": b"Bearer \xff\xfe"})
    assert told.status_code == 401


def test_huge_bodies_are_refused_announced_or_not(api, monkeypatch):
    monkeypatch.setattr(security, "MOST_BYTES", 1000)
    json = {"content-type": "application/json"}
    announced = api.post("/api/explain", content=b"x" * 2000, headers=json)
    assert announced.status_code == 413
    chunks = api.post("/api/explain", content=iter([b"x" * 600] * 3), headers=json)
    assert chunks.status_code == 413
    assert chunks.json()["error"]


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"]
)
def test_no_way_out_of_the_static_folder(api, path):
    assert api.get(path).status_code == 404


def test_a_body_that_dribbles_in_is_given_up(monkeypatch):
    async def never() -> dict[str, object]:
        await asyncio.sleep(60)
        return {}

    async def drip() -> dict[str, object]:
        await asyncio.sleep(0.02)
        return {"body": b"x", "more_body": True}

    async def read(receive: security.Receive) -> None:
        receiver = security._limited(receive)
        for _ in range(1000):
            await receiver()

    monkeypatch.setattr(security, "BODY_SECONDS", 0.1)
    for receive in (never, drip):
        with pytest.raises(HTTPException) as refused:
            asyncio.run(read(receive))
        assert refused.value.status_code == 408


def test_the_token_comes_before_the_limit(guarded):
    """A server full of requests still tells those without the token that they have none."""
    guarded.served.guarded.active = CONNECTIONS
    try:
        right = {"authorization": f"Bearer {TOKEN}"}
        assert guarded.get("/api/models").status_code == 401
        told = guarded.get("/api/models", headers=right)
    finally:
        guarded.served.guarded.active = 0
    assert told.status_code == 503
    assert told.headers["retry-after"]
    assert guarded.get("/api/models", headers=right).status_code == 200
    assert guarded.served.guarded.active == 0


def test_this_machine_needs_no_token_and_others_do():
    assert Settings().checked().token is None
    made = Settings(host="0.0.0.0").checked().token
    assert made is not None
    assert len(made) >= 32
    assert Settings(host="0.0.0.0").checked().token != made
    assert Settings(host="192.168.1.4", token=TOKEN).checked().token == TOKEN


@pytest.mark.parametrize(
    "wrong",
    [
        {"host": "0.0.0.0", "token": "short"},
        {"token": ""},
        {"token": "zwölf"},
        {"host": " "},
        {"port": 70_000},
        {"port": -1},
        {"queue": 0},
        {"max_chars": 0},
        {"max_chars": 10**9},
        {"timeout": 0},
        {"timeout": float("inf")},
    ],
)
def test_wrong_settings_are_told(wrong):
    with pytest.raises(SettingError):
        Settings(**wrong).checked()


def test_which_hosts_are_this_machine():
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


def test_a_server_for_others_is_reached_by_address_or_name(demo):
    with client(host="0.0.0.0", token=TOKEN) as api:
        right = {"authorization": f"Bearer {TOKEN}"}
        for host, status in (("192.168.1.4:8000", 200), ("evil.example", 421)):
            told = api.get("/api/models", headers={**right, "host": host})
            assert told.status_code == status
