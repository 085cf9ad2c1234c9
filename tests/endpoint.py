"""A server on loopback that speaks the API of language models, well and badly.

    with running() as server:
        server.url                   # of the API: answers by `margin`
        server.faults = ["500"] * 3  # for the next requests, one each
        server.always = "drip"       # for all requests
        server.fault_url("drip")     # of an API that has this fault always, beside the good one

Faults are the names in `tests.endpoint_faults.FAULTS`, and statuses such as "500".
"""

import json
import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests import endpoint_faults


def margin(text: str) -> float:
    words = text.lower().replace(".", "").split()
    return 2.0 * words.count("superb") - 1.5 * words.count("dull")


class Server(ThreadingHTTPServer):
    """Answers by `margin`; `faults` are used up first, one a request."""

    daemon_threads = True
    block_on_close = False  # a fault that is still being played ends by itself

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: list[str] = []
        self.always = ""
        self.target = ""  # of redirects; empty: the request's own address, a loop
        self.seen: list[dict] = []
        self.visits: list[str] = []  # method and path of every request
        self.keys: set[str | None] = set()
        self.meeting: threading.Barrier | None = None  # requests that must be here at once
        self.lock = threading.Lock()
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def fault_url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/fault/{name}/v1"

    def server_close(self) -> None:
        self.stopping.set()
        super().server_close()

    def handle_error(self, *_: object) -> None: ...  # a client that leaves is no news


@contextmanager
def running() -> Iterator[Server]:
    """A server with a thread of its own, until the end of the block."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...

    @property
    def endpoint(self) -> Server:
        return self.server  # type: ignore[return-value]

    def do_GET(self) -> None:
        """No API answers this; a client that follows a redirect would send it."""
        with self.endpoint.lock:
            self.endpoint.visits.append(f"GET {self.path}")
            self.endpoint.keys.add(self.headers.get("Authorization"))
        endpoint_faults.play("405", self, b"")

    def do_CONNECT(self) -> None:
        """As a proxy, it is only good for faults."""
        endpoint_faults.play(self.endpoint.always, self, b"")

    def do_POST(self) -> None:
        server = self.endpoint
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.seen.append(body)
            server.visits.append(f"POST {self.path}")
            server.keys.add(self.headers.get("Authorization"))
            fault = server.faults.pop(0) if server.faults else server.always
        if server.meeting is not None:
            server.meeting.wait(timeout=30)
        by_path = re.match("/fault/([^/]+)/", self.path)
        self.answer(body, by_path.group(1) if by_path else fault)

    def answer(self, body: dict, fault: str) -> None:
        data = json.dumps(self.told(body)).encode()
        if fault:
            endpoint_faults.play(fault, self, data)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def told(self, body: dict) -> dict:
        asked = body["prompt"] if "prompt" in body else body["messages"][0]["content"]
        logit = margin(asked.split("\n")[1])
        share = 0.9 / (1 + math.exp(-logit))
        tokens = {
            " Pos": math.log(share),
            " negative": math.log(0.9 - share),
            "the": math.log(0.05),
        }
        if "prompt" in body:
            return {"choices": [{"logprobs": {"top_logprobs": [tokens]}}]}
        entries = [{"token": token, "logprob": value} for token, value in tokens.items()]
        return {"choices": [{"logprobs": {"content": [{"top_logprobs": entries}]}}]}
