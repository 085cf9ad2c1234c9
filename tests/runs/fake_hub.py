"""A hub on loopback that keeps what it is sent: as much of its API as a data set's upload needs."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class FakeHub:
    """Repositories by name: whether they are private, and their files."""

    url: str = ""
    private: dict[str, bool] = field(default_factory=dict)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)  # path, authorization
    refuses: bool = False  # every token

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if self.refuses:
            return 403, {"error": "This token may not write here."}
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        repo = "/".join(path.split("/")[3:5])
        facts = (f"/api/datasets/{repo}", f"/api/datasets/{repo}/revision/main")
        if method == "GET" and path in facts:
            there = [{"rfilename": name} for name in self.files[repo]]
            told = {"id": repo, "private": self.private[repo], "siblings": there, "tags": []}
            return 200, told | {"xetEnabled": False}
        if "/preupload/" in path:
            files = [
                {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False}
                for one in json.loads(body)["files"]
            ]
            return 200, {"files": files}
        if "/commit/" in path:
            return self._commit(repo, body)
        return 404, {"error": f"no {path}"}

    def _create(self, asked: dict[str, Any]) -> tuple[int, Any]:
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        if name in self.private:
            return 409, {"error": "You already created this repo", "url": self._url(name)}
        private = asked.get("visibility") == "private" or asked.get("private") is True
        self.private[name], self.files[name] = private, {}
        return 200, {"url": self._url(name)}

    def _commit(self, repo: str, body: bytes) -> tuple[int, Any]:
        for line in body.splitlines():
            item = json.loads(line)
            if item["key"] == "file":
                value = item["value"]
                self.files[repo][value["path"]] = base64.b64decode(value["content"])
            if item["key"] == "deletedFile":
                del self.files[repo][item["value"]["path"]]
        url = f"{self._url(repo)}/commit/abc"
        return 200, {"commitUrl": url, "commitOid": "abc", "success": True}

    def _url(self, name: str) -> str:
        return f"{self.url}/datasets/{name}"


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """The hub, at an address of its own until the end of the block."""
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.split("?")[0]
            hub.requests.append((path, self.headers.get("authorization", "")))
            status, told = hub.answer(self.command, path, body)
            data = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_HEAD = _handle

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()
