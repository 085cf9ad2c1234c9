"""`piste serve`: a socket, uvicorn on it, and a clean end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING

from piste.errors import SettingError
from piste.extras import require
from piste.models.protocol import Classifier
from piste.web.settings import CONNECTIONS, Settings, as_address

if TYPE_CHECKING:
    import uvicorn

    from piste.web.app import Server

GRACE = 5  # seconds for answers that are on their way when the server stops


def serve(
    load: Callable[[], Mapping[str, Classifier]],
    settings: Settings,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve the models until Ctrl-C. `say` is given the lines for the terminal.

    A port that is taken is no reason to wait for models: they are loaded once it is ours.
    """
    check_installed()
    from piste.web.app import Server

    settings = settings.checked()
    with bound(settings) as listening:
        settings = replace(settings, port=int(listening.getsockname()[1]))
        models = load()
        server = Server(models, settings)
        listening.listen(CONNECTIONS)  # who reads the address may come before uvicorn is ready
        say(f"Serving {', '.join(models)} at {address(settings)}")
        if not settings.is_local:
            say("Others reach it by this machine's address; what they send is not encrypted.")
        say("Ctrl-C stops it.")
        with suppress(KeyboardInterrupt):  # uvicorn passes the signal on once it has cleaned up
            _uvicorn(server).run(sockets=[listening])
        server.queue.stop()
        server.queue.join()
    say("Stopped.")


def check_installed() -> None:
    """The extra's libraries, before a model is loaded."""
    for library in ("fastapi", "uvicorn"):
        require(library, "The server")


def bound(settings: Settings) -> socket.socket:
    """The socket at its port; the error is ours to tell, not uvicorn's."""
    numeric = as_address(settings.host)
    family = socket.AF_INET6 if numeric is not None and numeric.version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listener.close()
        raise SettingError(
            f"Cannot listen at {settings.host}, port {settings.port}: {error.strerror}.",
            "Give another --port (0: a free one), or another --host.",
        ) from error
    return listener


def address(settings: Settings) -> str:
    """The page's address, with the token where one is needed."""
    numeric = as_address(settings.host)
    host = settings.host.strip("[]")
    if numeric is not None and numeric.is_unspecified:  # all addresses: this one opens here
        host = "127.0.0.1"
    elif numeric is not None and numeric.version == 6:
        host = f"[{host}]"
    query = "" if settings.token is None else f"?token={settings.token}"
    return f"http://{host}:{settings.port}/{query}"


def _uvicorn(server: Server) -> uvicorn.Server:
    import uvicorn

    from piste.web.connections import TimelyProtocol

    class Stopping(uvicorn.Server):
        """Ends running explanations first: uvicorn waits for open answers."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            server.queue.stop()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        server.guarded,
        log_level="critical",  # nothing of what people ask is written down
        access_log=False,
        server_header=False,
        http=TimelyProtocol,  # and no `limit_concurrency`: it counts connections that say nothing
        timeout_graceful_shutdown=GRACE,
        lifespan="off",
        ws="none",
    )
    return Stopping(config)
