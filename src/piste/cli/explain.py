"""`piste explain`: one text, one decision, one explanation."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from piste.cli import options
from piste.cli.common import (
    check_paths,
    check_quotes,
    first_time,
    listed,
    loaded,
    read,
    waiting,
    write,
)
from piste.errors import SettingError
from piste.options import WORDS_SHOWN, Options

if TYPE_CHECKING:
    from piste.models.protocol import Classifier
    from piste.result.explanation import Explanation

UNFAITHFUL = 3  # exit code of --min-fidelity
Question = tuple[tuple[str, ...], str]  # label words, and the prompt that asks for one


@options.takes_settings()
@options.takes_outputs
def explain(
    context: typer.Context,
    text: options.Text = None,
    file: options.File = None,
    model: options.Model = "demo",
    pair: options.Pair = None,
    method: options.Method = "context",
    outputs: options.Outputs = options.NOWHERE,
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="OpenAI-compatible API with log-probabilities; --model names its model.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="With --prompt: words a language model (--model, --endpoint) may answer.",
        ),
    ] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(help="With --labels: file with the question; {text} marks the text."),
    ] = None,
    api: Annotated[str, typer.Option(help="With --endpoint: chat or completions.")] = "chat",
    brief: options.Brief = False,
    top: Annotated[int, typer.Option(help="Words to show.", min=1, **options.SHOWN)] = WORDS_SHOWN,
    help_scores: Annotated[
        bool,
        typer.Option(
            "--help-scores",
            help="Show what the scores mean and how they came about.",
            **options.SHOWN,
        ),
    ] = False,
    quiet: options.Quiet = False,
    min_fidelity: Annotated[
        float | None,
        typer.Option(
            metavar="R2",
            help="Exit with code 3 if the held-out R² is lower or unknown; files are written.",
        ),
    ] = None,
    **settings: Any,
) -> None:
    """Explain why the model classifies a text as it does."""
    import piste
    from piste.cli.progress import LateBar
    from piste.methods import find_method

    check_quotes(text, context.args)
    wanted = read(text, file, "explain")
    check_paths(outputs.json, outputs.html, outputs.figure)
    find_method(method)  # typos should not wait for the model to load
    Options.of(**settings)  # typos should not wait for the model to load
    _check_threshold(min_fidelity)
    question = _question(endpoint, labels, prompt, model)
    classifier = _classifier(
        model, outputs.device, outputs.trust_remote_code, endpoint, api, question
    )
    with LateBar("Asking the model") as bar:
        explanation = piste.explain(wanted, classifier, method, pair=pair, progress=bar, **settings)
    write(explanation, outputs.json, outputs.html, outputs.figure, quiet)
    if outputs.json != "-" and not quiet:
        _show(explanation, top, brief, help_scores)
    if min_fidelity is not None:
        _require(explanation, min_fidelity, quiet)


def _show(explanation: "Explanation", top: int, brief: bool, help_scores: bool) -> None:
    """On a terminal as wide and as coloured as that is; elsewhere plain.

    The first explanation on a terminal comes with the meaning of its scores.
    """
    from piste.render.terminal import View, as_text, show

    terminal = sys.stdout.isatty()
    legend = help_scores or (terminal and not brief and first_time("scores"))
    view = View(top, brief and not help_scores, legend)
    if terminal:
        show(explanation, view=view)
    else:
        typer.echo(as_text(explanation, view))


def _check_threshold(r2: float | None) -> None:
    if r2 is not None and not r2 <= 1:  # also what is no number
        raise SettingError(f"--min-fidelity is {r2}.", "Give an R², at most 1: 0.5.")


def _require(explanation: "Explanation", least: float, quiet: bool) -> None:
    """Exit with UNFAITHFUL where the explanation predicts the model worse than that."""
    from piste.render.trust import exact, more_effort
    from piste.result.facts import r2_text

    fidelity = explanation.fidelity
    r2 = None if fidelity is None else fidelity.r2
    if exact(explanation) or (r2 is not None and r2 >= least):
        return
    if quiet:
        raise typer.Exit(UNFAITHFUL)
    held = f"The held-out R² is {'unknown' if r2 is None else r2_text(r2, 3)}"
    wanted = f"--min-fidelity asks for {least:g}"
    typer.echo(f"piste: {held}; {wanted}. Try {more_effort(explanation)}.", err=True)
    raise typer.Exit(UNFAITHFUL)


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
