"""`piste verify`: whether a saved explanation still holds."""

from pathlib import Path
from typing import Annotated

import typer

from piste.cli import options
from piste.cli.common import check_paths, loaded, shown

DOES_NOT_HOLD = 1  # exit code


def verify(
    file: Annotated[Path, typer.Argument(help="The explanation, as --json wrote it.")],
    model: options.Model = "demo",
    lexicon: Annotated[
        Path | None, typer.Option(help="The lexicon that it was made with, where it was.")
    ] = None,
    json: options.Json = None,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Make an explanation again and say whether it still holds; exit code 1 if not."""
    import piste
    from piste.cli.progress import LateBar
    from piste.render.verification import show

    explanation = piste.Explanation.from_json(file)
    check_paths(json, None, None)
    classifier = loaded(model, device, trust_remote_code)
    with LateBar("Asking the model") as bar:
        verification = piste.verify(explanation, classifier, lexicon=lexicon, progress=bar)
    if json == "-":
        typer.echo(verification.to_json())
    else:
        if json is not None:
            verification.to_json(json)
        shown(verification, show)
    if not verification.holds:
        raise typer.Exit(DOES_NOT_HOLD)
