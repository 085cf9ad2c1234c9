"""`piste compare`: one text, one decision, several explanations."""

from typing import Annotated

import typer

from piste.cli import options
from piste.cli.common import (
    check_names,
    check_paths,
    check_quotes,
    listed,
    loaded,
    read,
    shown,
    write,
)


def compare(
    context: typer.Context,
    text: options.Text = None,
    file: options.File = None,
    model: options.Model = "demo",
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Which ones, see `piste methods`; without it, seven.",
            autocompletion=options.METHODS,
        ),
    ] = None,
    pair: options.Pair = None,
    target: options.Target = None,
    unit: options.Unit = "word",
    repeats: options.Repeats = "shared",
    seed: options.Seed = 0,
    budget: options.EachBudget = None,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Try each on the model: which one to trust on this text."),
    ] = False,
    json: options.Json = None,
    html: options.Html = None,
    figure: options.FigureFile = None,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Explain one decision by several methods: where they agree, what they cost, which to trust."""
    import piste
    from piste.cli.progress import LateBar
    from piste.compare import SEVEN, named
    from piste.render.comparison_terminal import show

    check_quotes(text, context.args)
    wanted = read(text, file, "compare")
    check_paths(json, html, figure)
    chosen = SEVEN if methods is None else listed(methods)
    named(chosen)  # typos should not wait for the model to load
    check_names(unit, repeats, figure)
    classifier = loaded(model, device, trust_remote_code)
    with LateBar("Asking the model") as bar:
        found = piste.compare(
            wanted,
            classifier,
            chosen,
            pair=pair,
            target=target,
            unit=unit,
            repeats=repeats,
            seed=seed,
            budget=budget,
            measure=measure,
            progress=bar,
        )
    write(found, json, html, figure)
    if json != "-":
        shown(found, show)
