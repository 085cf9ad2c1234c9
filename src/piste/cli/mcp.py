"""`piste mcp`: explanations as tools of the Model Context Protocol."""

from functools import partial
from typing import Annotated

import typer

from piste.cli import options
from piste.extras import require


def mcp(
    model: Annotated[
        list[str] | None,
        typer.Option(help="A hub name, a directory or demo; give it again for several."),
    ] = None,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Serve explanations as tools to an assistant, on standard input and output (extra mcp)."""
    require("mcp", "The server of tools")
    import piste
    from piste.mcp.server import serve

    load = partial(piste.load, device=device, trust_remote_code=trust_remote_code)
    serve({name: partial(load, name) for name in model or ["demo"]})
