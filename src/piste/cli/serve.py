"""`piste serve`: the page and the JSON API, on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from piste.cli import options
from piste.cli.common import loaded
from piste.errors import SettingError, printable

if TYPE_CHECKING:
    from piste.models.protocol import Classifier


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(help="A hub name, a directory or demo; give it again for several."),
    ] = None,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. Any but this machine's own needs a token."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="PISTE_TOKEN",
            help="Clients must send this token. Generated when one is needed and not given.",
        ),
    ] = None,
    queue: Annotated[int, typer.Option(help="Requests that may wait; more get a 503.")] = 16,
    max_chars: Annotated[int, typer.Option(help="Longest text, in characters.")] = 20_000,
    timeout: Annotated[float, typer.Option(help="Seconds a request may take.")] = 300.0,
    example: Annotated[
        str | None, typer.Option(help="The text that the page starts with, already explained.")
    ] = None,
    space: Annotated[
        Path | None,
        typer.Option(
            help="Serve nothing: write the folder of a Hugging Face Space that serves the models."
        ),
    ] = None,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Open a page that explains texts: remove or edit words, compare. Needs the extra web."""
    if space is not None:
        _check_alone(device, token, trust_remote_code)
        _write_space(space, model or ["demo"])
        return
    from piste.web.server import serve
    from piste.web.settings import EXAMPLE, Settings

    settings = Settings(
        host=host,
        port=port,
        token=token,
        queue=queue,
        max_chars=max_chars,
        timeout=timeout,
        example=EXAMPLE if example is None else example,
    )

    def load() -> "dict[str, Classifier]":
        return {name: loaded(name, device, trust_remote_code) for name in model or ["demo"]}

    serve(load, settings, lambda line: typer.echo(line, err=True))


def _check_alone(device: str | None, token: str | None, trust_remote_code: bool) -> None:
    """Refuse what the program of a Space would not know."""
    if token is not None:
        raise SettingError(
            "A token is not written into the folder of a Space.",
            "Make it a secret of the Space, PISTE_TOKEN, and leave --token out.",
        )
    for name, given in (("device", device), ("trust-remote-code", trust_remote_code or None)):
        if given is not None:
            raise SettingError(
                f"--{name} says how models are loaded here; a Space loads them by itself.",
                f"Leave --{name} out, or change app.py in the folder.",
            )


def _write_space(folder: Path, models: list[str]) -> None:
    from piste.web.space import write_space

    for path in write_space(folder, models):
        typer.echo(f"Wrote {printable(str(path))}")
    typer.echo("Make a Space of the kind Docker on the hub and push this folder to it.")
