"""`piste explain`: one text, one decision, one explanation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from piste.cli import options
from piste.cli.common import (
    check_paths,
    check_quotes,
    listed,
    loaded,
    read,
    shown,
    waiting,
    write,
)
from piste.errors import SettingError
from piste.options import Options

if TYPE_CHECKING:
    from piste.models.protocol import Classifier

Question = tuple[tuple[str, ...], str]  # label words, and the prompt that asks for one


@options.takes_settings()
def explain(
    context: typer.Context,
    text: options.Text = None,
    file: options.File = None,
    model: options.Model = "demo",
    pair: options.Pair = None,
    method: options.Method = "context",
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
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="With --prompt: the words that a language model (--model, --endpoint) may answer.",
        ),
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option(help="With --labels: a file with the question, {text} in it.")
    ] = None,
    api: Annotated[str, typer.Option(help="With --endpoint: chat or completions.")] = "chat",
    **settings: Any,
) -> None:
    """Explain why the model classifies TEXT as it does."""
    import piste
    from piste.cli.progress import LateBar
    from piste.methods import find_method
    from piste.render.terminal import show

    check_quotes(text, context.args)
    wanted = read(text, file, "explain")
    check_paths(json, html, figure)
    find_method(method)  # typos should not wait for the model to load
    Options.of(**settings)  # typos should not wait for the model to load
    question = _question(endpoint, labels, prompt, model)
    classifier = _classifier(model, device, trust_remote_code, endpoint, api, question)
    with LateBar("Asking the model") as bar:
        explanation = piste.explain(wanted, classifier, method, pair=pair, progress=bar, **settings)
    write(explanation, json, html, figure)
    if json != "-":
        shown(explanation, show)


def _classifier(
    model: str,
    device: str | None,
    trust_remote_code: bool,
    endpoint: str | None,
    api: str,
    asked: Question | None,
) -> "Classifier":
    import piste

    if asked is None:
        return loaded(model, device, trust_remote_code)
    if trust_remote_code:
        raise SettingError(
            "Code of a language model is never run.", "Leave --trust-remote-code out."
        )
    if endpoint is None:
        with waiting(f"Loading {model} ..."):
            return piste.from_llm(model, *asked, device=device)
    named = None if model == "demo" else model
    return piste.from_endpoint(endpoint, *asked, model=named, api=api)


def _question(
    endpoint: str | None, labels: str | None, prompt: Path | None, model: str
) -> Question | None:
    """The label words and the prompt for a language model; None for a classifier."""
    if labels is not None and prompt is not None:
        if endpoint is None and model == "demo":
            raise SettingError(
                "The embedded model cannot answer a prompt.",
                "Name a language model with --model, or give --endpoint URL.",
            )
        return listed(labels), read(None, prompt, "")
    if endpoint is None and labels is None and prompt is None:
        return None
    raise SettingError(
        "A language model needs label words and a prompt.",
        "Give both --labels positive,negative and --prompt FILE.",
    )
