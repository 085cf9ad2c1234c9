"""`piste explain`: one text, one decision, one explanation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from piste.cli import options
from piste.cli.common import check_names, check_paths, listed, read, write
from piste.errors import SettingError, choices
from piste.text.cutting import check_long

if TYPE_CHECKING:
    from piste.methods.base import Method
    from piste.models.protocol import Classifier


def explain(
    text: options.Text = None,
    file: options.File = None,
    model: options.Model = "demo",
    pair: options.Pair = None,
    target: Annotated[
        str | None,
        typer.Option(help="The label to explain, predicted (as without it), runner-up, or all."),
    ] = None,
    unit: options.Unit = "word",
    repeats: options.Repeats = "shared",
    method: Annotated[str, typer.Option(help="See `piste methods`.")] = "slalom",
    focus: Annotated[
        str | None,
        typer.Option(help="With slalom: tokens, or text (predicts removals too; 4 times as dear)."),
    ] = None,
    long: Annotated[
        str, typer.Option(help="Longer than the model reads: truncate, or windows.")
    ] = "truncate",
    seed: options.Seed = 0,
    budget: Annotated[
        int | None,
        typer.Option(
            help="Most sequences to ask of the model; without it, some hundreds, by length."
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Ask until the strongest scores are known so well: 0.1 is a tenth."),
    ] = None,
    json: options.Json = None,
    html: options.Html = None,
    figure: options.FigureFile = None,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Ask an OpenAI-compatible API with log-probabilities; --model names its model.",
        ),
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="With --endpoint: the label words.")
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option(help="With --endpoint: a file with the question, {text} in it.")
    ] = None,
    api: Annotated[str, typer.Option(help="With --endpoint: chat or completions.")] = "chat",
) -> None:
    """Explain why the model classifies TEXT as it does."""
    from rich.console import Console
    from rich.markup import escape

    import piste
    from piste.cli.progress import LateBar
    from piste.render.terminal import show

    wanted = read(text, file, "explain")
    check_paths(json, html, figure)
    chosen = _chosen(method, focus)
    check_names(unit, repeats, figure)
    check_long(long)
    console = Console(stderr=True)
    if endpoint is None:
        with console.status(escape(f"Loading {model} ...")):
            classifier: Classifier = piste.load(
                model, device=device, trust_remote_code=trust_remote_code
            )
    else:
        classifier = _remote(endpoint, labels, prompt, None if model == "demo" else model, api)
    with LateBar("Asking the model", console) as bar:
        found = piste.explain(
            wanted,
            classifier,
            chosen,
            pair=pair,
            target=target,
            unit=unit,
            repeats=repeats,
            long=long,
            seed=seed,
            budget=budget,
            tolerance=tolerance,
            progress=bar,
        )
    write(found, json, html, figure)
    if json != "-":
        show(found)


def _remote(
    url: str, labels: str | None, prompt: Path | None, model: str | None, api: str
) -> "Classifier":
    import piste

    if labels is None or prompt is None:
        raise SettingError(
            "An endpoint needs label words and a prompt.",
            "Give --labels positive,negative and --prompt FILE.",
        )
    return piste.from_endpoint(url, listed(labels), read(None, prompt, ""), model=model, api=api)


def _chosen(method: str, focus: str | None) -> "str | Method":
    from piste.methods import find_method
    from piste.methods.slalom import FOCUSES, Slalom

    find_method(method)  # typos should not wait for the model to load
    if focus is None:
        return method
    if method != "slalom":
        raise SettingError(f"{method} has no focus.", "Leave --focus out, or use slalom.")
    if focus not in FOCUSES:
        raise choices("focus", focus, FOCUSES)
    return Slalom(focus=focus)  # type: ignore[arg-type]  # just checked
