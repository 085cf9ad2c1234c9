"""`piste compare`: one text, one decision, several explanations."""

from functools import partial
from typing import Annotated, Any

import typer

from piste.cli import options
from piste.cli.common import (
    check_paths,
    check_quotes,
    listed,
    loaded,
    read,
    shown,
    write,
)
from piste.options import Options


@options.takes_settings()
@options.takes_outputs
def compare(
    context: typer.Context,
    text: options.Text = None,
    file: options.File = None,
    model: options.Model = "demo",
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Methods to compare; see `piste methods`. Default: seven.",
            autocompletion=options.METHODS,
        ),
    ] = None,
    pair: options.Pair = None,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Test each on the model: which one to trust for this text."),
    ] = False,
    outputs: options.Outputs = options.NOWHERE,
    brief: options.Brief = False,
    quiet: options.Quiet = False,
    **settings: Any,
) -> None:
    """Compare methods on one text: where they agree, what they cost, which to trust."""
    import piste
    from piste.cli.progress import LateBar
    from piste.compare import SEVEN, named
    from piste.render.comparison_terminal import as_text, show

    check_quotes(text, context.args, "--methods")
    wanted = read(text, file, "compare")
    check_paths(outputs.json, outputs.html, outputs.figure)
    chosen = SEVEN if methods is None else listed(methods)
    named(chosen)  # typos should not wait for the model to load
    Options.of(**settings)
    classifier = loaded(model, outputs.device, outputs.trust_remote_code)
    with LateBar("Asking the model") as bar:
        comparison = piste.compare(
            wanted, classifier, chosen, pair=pair, measure=measure, progress=bar, **settings
        )
    write(comparison, outputs.json, outputs.html, outputs.figure, quiet)
    if outputs.json != "-" and not quiet:
        shown(comparison, partial(show, brief=brief), partial(as_text, brief=brief))
