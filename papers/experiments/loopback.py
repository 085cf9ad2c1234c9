"""A local model behind the OpenAI API on loopback: what a hosted one would answer, at no cost."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LABELS = ("positive", "negative")
BEFORE, AFTER = "Review: ", "\nAnswer:"
PROMPT = f"Is this review positive or negative?\n{BEFORE}{{text}}{AFTER}"
OTHER = 0.02  # of the probability, for words that are no label


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    log_odds: Callable[[str], float]  # of "positive"


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *_: Any) -> None: ...

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = asked["messages"][0]["content"]
        text = prompt[prompt.index(BEFORE) + len(BEFORE) : prompt.rindex(AFTER)]
        data = json.dumps(answer(self.server.log_odds(text))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def answer(log_odds: float) -> dict[str, Any]:
    """A chat completion whose first token has these log-odds."""
    shares = [-math.log1p(math.exp(-log_odds)), -math.log1p(math.exp(log_odds))]
    tokens = [
        {"token": label, "logprob": math.log1p(-OTHER) + share}
        for label, share in zip(LABELS, shares, strict=True)
    ]
    return {"choices": [{"logprobs": {"content": [{"top_logprobs": tokens}]}}]}


@contextmanager
def serving(log_odds: Callable[[str], float]) -> Iterator[str]:
    """The address of an API that answers by the function, until the end of the block."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.log_odds = log_odds
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
