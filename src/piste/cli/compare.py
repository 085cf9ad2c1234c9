"""`piste compare`: one text, one decision, several explanations."""

from pathlib import Path
from typing import Annotated

import typer

from piste.cli.common import check_names, check_paths, listed, read, write


def compare(
    text: Annotated[str | None, typer.Argument(help="The text; - reads standard input.")] = None,
    file: Annotated[Path | None, typer.Option(help="Read the text from a UTF-8 file.")] = None,
    model: Annotated[
        str, typer.Option(help="A hub name, a directory, or demo (the embedded model).")
    ] = "demo",
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...", help="Which ones, see `piste methods`; without it, seven."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The label to explain; without it, the predicted one.")
    ] = None,
    unit: Annotated[str, typer.Option(help="word, token or sentence.")] = "word",
    repeats: Annotated[
        str, typer.Option(help="Equal words: shared (one score) or separate.")
    ] = "shared",
    seed: Annotated[int, typer.Option(help="Same seed, same scores.")] = 0,
    budget: Annotated[
        int | None, typer.Option(help="Most sequences each method may ask of the model.")
    ] = None,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Try each on the model: which one to trust on this text."),
    ] = False,
    json: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write the comparison as JSON.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page that opens in a browser.")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw it to a .png, .svg or .pdf file.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, mps; without it, the CPU.")] = None,
) -> None:
    """Explain one decision by several methods: where they agree, what they cost, which to trust."""
    from rich.console import Console

    import piste
    from piste.cli.progress import LateBar
    from piste.compare import SEVEN, named
    from piste.render.comparison_terminal import show

    wanted = read(text, file, "compare")
    check_paths(json, html, figure)
    chosen = SEVEN if methods is None else listed(methods)
    named(chosen)  # typos should not wait for the model to load
    check_names(unit, repeats, figure)
    console = Console(stderr=True)
    with console.status(f"Loading {model} ..."):
        classifier = piste.load(model, device=device)
    with LateBar("Asking the model", console) as bar:
        found = piste.compare(
            wanted,
            classifier,
            chosen,
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
        show(found)
