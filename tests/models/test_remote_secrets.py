"""Keys and passwords go to the endpoint and nowhere else: to no other host, and into no message."""

import base64
import json
import logging
import sqlite3
import traceback
from urllib.parse import quote

import pytest

import piste
from piste.errors import OutputError, SettingError
from piste.models.backends.redaction import Secrets, read_key, shown
from tests import endpoint
from tests.models.conftest import LABELS, PROMPT

KEY = "sk-proj-Zq8vN2/wT5+yR7uJ"
PASSWORD = "hunter2/ß&pass"
PARTS = ("Zq8vN2", "wT5", "yR7uJ", "hunter2", "pass%", "&pass", "bob", "sesame")


@pytest.fixture
def elsewhere():
    with endpoint.running() as server:
        yield server


@pytest.fixture
def key(monkeypatch, server):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


def secret_url(server, suffix="/v1?token=opensesame"):
    return f"http://bob:{quote(PASSWORD, safe='')}@127.0.0.1:{server.server_port}{suffix}"


def printed(error: BaseException) -> str:
    """What a terminal, a log or a crash report would show."""
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_another_origin_gets_neither_key_nor_text(connect, server, elsewhere, key, status, host):
    """Another port is another origin, whatever its name."""
    server.always = f"redirect-{status}"
    server.target = f"http://eve:word@{host}:{elsewhere.server_port}/v1/chat/completions?q=1"
    with pytest.raises(OutputError, match="give it as the endpoint's URL") as caught:
        connect(retries=2).function(["superb"])
    assert f"http://{host}:{elsewhere.server_port}/v1/chat/completions" in caught.value.cause
    assert "eve" not in str(caught.value)
    assert elsewhere.visits == []
    assert elsewhere.keys == set()
    assert len(server.seen) == 1  # nor is it asked again


@pytest.mark.parametrize(
    "target", ["https://127.0.0.1:{port}/v1", "//evil.example/v1", "http://[", "file:///etc/passwd",
               "http://127.0.0.1:99999999/"],
)  # fmt: skip
def test_odd_targets_of_redirects_are_refused(connect, server, key, target):
    server.always, server.target = "redirect-307", target.format(port=server.server_port)
    with pytest.raises(OutputError, match="redirects"):
        connect(retries=0).function(["superb"])
    assert len(server.seen) == 1


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_within_the_origin_keeps_the_question(connect, server, key, status):
    server.faults, server.target = [f"redirect-{status}"], "/other/path"
    assert connect(retries=0).function(["superb"]).shape == (1, 2)
    assert server.visits == ["POST /v1/chat/completions", "POST /other/path"]
    assert server.seen[0] == server.seen[1]


@pytest.mark.parametrize("end", ["\n", "\r\n", " ", "\t\n"])
def test_blanks_around_the_key_are_stripped(connect, server, monkeypatch, end):
    monkeypatch.setenv("OPENAI_API_KEY", f"  {KEY}{end}")
    connect(retries=0).function(["superb"])
    assert server.keys == {f"Bearer {KEY}"}


@pytest.mark.parametrize("inner", ["\n", " ", "\x00", "\x7f", "é", "\udcff", "\u200b"])
def test_a_key_that_is_none_is_told_but_not_shown(connect, monkeypatch, inner):
    monkeypatch.setattr("os.environ", {"OWN_KEY": f"sesame{inner}sesame"})
    with pytest.raises(SettingError, match="OWN_KEY") as caught:
        connect(key_from="OWN_KEY")
    assert "sesame" not in printed(caught.value)


def test_the_key_itself_as_the_name_of_a_variable(connect):
    with pytest.raises(SettingError, match="name of an environment variable") as caught:
        connect(key_from=KEY)
    assert KEY not in printed(caught.value).replace("connect(key_from=KEY)", "")


@pytest.mark.parametrize(
    "fault", ["echo", "cut", "not-http", "drip", "500", "redirect-302", "huge"]
)
@pytest.mark.parametrize("has_password", [False, True])
def test_no_error_log_or_result_shows_a_secret(
    connect, server, key, caplog, tmp_path, fault, has_password
):
    url = secret_url(server) if has_password else server.url
    classifier = connect(url, retries=1, timeout=0.5)
    server.target = f"http://x.example/{KEY}/{quote(KEY, safe='')}"
    server.always = fault
    with caplog.at_level(logging.DEBUG), pytest.raises(OutputError) as caught:
        classifier.function(["superb"])
    server.always = ""
    found = piste.explain("A superb film.", connect(url, model=None, cache=None), "occlusion")
    told = printed(caught.value) + caplog.text + found.to_json() + repr(classifier)
    told += repr(classifier.function) + (tmp_path / "answers.sqlite").read_bytes().decode("latin-1")
    for part in PARTS:
        assert part not in told, part


def test_user_and_password_are_sent_instead_of_the_key(connect, server, key):
    connect(secret_url(server)).function(["superb"])
    pair = base64.b64encode(f"bob:{PASSWORD}".encode()).decode()
    assert server.keys == {f"Basic {pair}"}
    assert server.visits == ["POST /v1/chat/completions?token=opensesame"]


def test_the_password_is_no_part_of_the_question(connect, server):
    """Another password asks the same model; another query may not."""
    connect(secret_url(server)).function(["superb"])
    connect(secret_url(server).replace("bob", "eve")).function(["superb"])
    assert len(server.seen) == 1
    connect(secret_url(server).replace("opensesame", "closed")).function(["superb"])
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    "url",
    ["http://bob:hunter2", "http://bob:hunter2/x@127.0.0.1/v1", "http://bob:80/hunter2@host/v1",
     "http://bob:hunter2@host:port/v1", "http://bob:hunter2@host/v 1", "http://bob:hunter2@/v1",
     "http://bob:hunter2@[::1/v1", "http://bob:hunter2@host/ü", "http://bob:hunter2@host/\n"],
)  # fmt: skip
def test_an_address_that_is_none_is_not_shown(url):
    with pytest.raises(SettingError, match="not a valid URL") as caught:
        piste.from_endpoint(url, LABELS, PROMPT)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "form",
    [KEY, quote(KEY, safe=""), quote(KEY, safe="").lower(), json.dumps(KEY), KEY[:12], KEY[6:20],
     base64.b64encode(KEY.encode()).decode(), f"{KEY}{KEY}", f"?key={quote(KEY)}&x=1"],
)  # fmt: skip
def test_every_form_and_part_of_a_key_is_redacted(form):
    secrets = Secrets.of("http://host/v1", KEY)
    told = secrets.redact(f"before {form} after")
    assert told.startswith("before ")
    assert told.endswith(" after")
    assert "[redacted]" in told
    assert not any(part in told for part in ("Zq8vN2", "zq8vn2", "wT5", "yR7uJ", "c2stcHJv"))


def test_user_password_and_query_are_redacted_in_every_form():
    url = f"https://bob:{quote(PASSWORD, safe='')}@host/v1?api_key=open%2Dsesame#fragment9"
    pair = f"bob:{PASSWORD}"
    quoted = f"{pair} {quote(pair)} {base64.b64encode(pair.encode()).decode()} {url}"
    told = Secrets.of(url, "").redact(quoted + " open-sesame")
    assert not any(part in told for part in (*PARTS, "fragment9", "Ym9i"))
    assert shown(url) == "https://host/v1"


def test_a_cut_leaves_no_half_of_a_key():
    secrets = Secrets.of("http://host/v1", KEY)
    for most in range(20, 50):
        told = secrets.redact("x" * 20 + f" {KEY} and more", most)
        assert "sk-" not in told
        assert len(told) <= most + len("[redacted]")


def test_short_secrets_do_not_eat_words():
    told = Secrets.of("http://x:none@host/v1", "").redact("an example: x, none, nonetheless")
    assert told == "an example: [redacted], [redacted], [redacted]theless"


def test_proxy_passwords_are_redacted(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://me:tell-nobody@proxy:3128")
    monkeypatch.setenv("http_proxy", "me:[also-nothing@proxy:3128")
    told = Secrets.of("http://host/v1", "").redact("tell-nobody, [also-nothing")
    assert told == "[redacted], [redacted]"


def test_no_secrets_nothing_redacted():
    assert Secrets.of("http://host/v1", "").redact("a\0b text", 100) == "a b text"


def test_where_there_is_no_key(monkeypatch):
    monkeypatch.delenv("OWN_KEY", raising=False)
    assert read_key("OWN_KEY") == ""


def test_a_cache_holds_no_question(connect, server, key, tmp_path):
    connect(secret_url(server)).function(["superb"])
    with sqlite3.connect(tmp_path / "answers.sqlite") as file:
        rows = file.execute("SELECT * FROM answers").fetchall()
    file.close()
    assert len(rows) == 1
    assert not any(part in str(rows) for part in (*PARTS, "superb"))
