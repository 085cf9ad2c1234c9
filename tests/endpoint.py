"""A server on loopback that speaks the API of language models, well and badly."""

import json
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def margin(text: str) -> float:
    words = text.lower().replace(".", "").split()
    return 2.0 * words.count("superb") - 1.5 * words.count("dull")


class Server(ThreadingHTTPServer):
    """Answers by `margin`; `faults` are used up first, one a request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: list[str] = []
        self.seen: list[dict] = []
        self.keys: set[str | None] = set()
        self.meeting: threading.Barrier | None = None  # requests that must be here at once
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        server: Server = self.server  # type: ignore[assignment]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.seen.append(body)
            server.keys.add(self.headers.get("Authorization"))
            fault = server.faults.pop(0) if server.faults else ""
        if server.meeting is not None:
            server.meeting.wait(timeout=30)
        self.answer(body, fault)

    def answer(self, body: dict, fault: str) -> None:
        if fault == "cut":
            self.close_connection = True
            return  # not a byte of an answer
        if fault == "slow":
            time.sleep(1.0)
        if fault.isdigit():
            self.send_response(int(fault))
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(b'{"error": "no"}')
            return
        data = b"{not json" if fault == "malformed" else json.dumps(self.told(body)).encode()
        if fault == "empty":
            data = b'{"choices": []}'
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:  # the client has given up
            pass

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
