"""`piste diff`: two texts under one model, one text under two, or two saved explanations."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from piste.cli import options
from piste.cli.common import check_paths, check_quotes, loaded, shown, write
from piste.errors import SettingError
from piste.options import DEFAULT, Options

if TYPE_CHECKING:
    from piste.result.difference import Diff


@options.takes_settings()
@options.takes_outputs
def diff(
    context: typer.Context,
    before: Annotated[str, typer.Argument(help="A text, or an explanation's JSON file.")],
    after: Annotated[
        str | None, typer.Argument(help="Another text, or another explanation's JSON file.")
    ] = None,
    model: options.Model = "demo",
    model2: Annotated[
        str | None, typer.Option(help="A second model: one text is explained under both.")
    ] = None,
    pair: options.Pair = None,
    pair2: Annotated[
        str | None, typer.Option(help="The second text after the change, where that is another.")
    ] = None,
    method: options.Method = "context",
    outputs: options.Outputs = options.NOWHERE,
    brief: options.Brief = False,
    quiet: options.Quiet = False,
    **settings: Any,
) -> None:
    """Show what changed in a decision, and which words and pairs carry the change."""
    from piste.methods import find_method
    from piste.render.diff_terminal import as_text, show

    check_quotes(after, context.args)
    check_paths(outputs.json, outputs.html, outputs.figure)
    find_method(method)  # typos should not wait for the model to load
    Options.of(**settings)
    if _is_json(before) or (after is not None and _is_json(after)):
        given = [value for value in (model2, pair, pair2) if value is not None]
        as_asked = model == "demo" and method == "context" and settings == _defaults(settings)
        found = _of_files(before, after, bool(given) or not as_asked)
    else:
        texts = _texts(before, after, pair, pair2)
        models = [
            loaded(name, outputs.device, outputs.trust_remote_code)
            for name in (model, model2)
            if name
        ]
        found = _explained(texts, models, method, settings)
    write(found, outputs.json, outputs.html, outputs.figure, quiet)
    if outputs.json != "-" and not quiet:
        shown(found, partial(show, brief=brief), partial(as_text, brief=brief))


def _is_json(given: str) -> bool:
    return given.lower().endswith(".json") and not given[:-5].strip().count(" ")


def _defaults(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: getattr(DEFAULT, name) for name in settings}


def _of_files(before: str, after: str | None, more: bool) -> "Diff":
    import piste

    if after is None or not (_is_json(before) and _is_json(after)):
        raise SettingError(
            "A saved explanation is compared with another one.",
            "Give two JSON files written by piste explain --json.",
        )
    if more:
        raise SettingError(
            "Two saved explanations are compared as they are: a model or settings change nothing.",
            "Leave them out, or give the texts instead.",
        )
    return piste.diff(piste.Explanation.from_json(before), piste.Explanation.from_json(after))


def _texts(before: str, after: str | None, pair: str | None, pair2: str | None) -> list[Any]:
    """What is compared: texts, or pairs of texts."""
    if after is not None and before == after and pair2 in (None, pair):
        raise SettingError(
            "The two texts are the same.",
            "Change one of them, or give it once, and a second model: --model2.",
        )
    if pair2 is not None and pair is None:
        raise SettingError("--pair2 is given without --pair.", "Give both, or --pair alone.")
    if pair is None:
        return [before, after]
    if after is None and pair2 is None:
        return [(before, pair), None]
    return [(before, pair), (before if after is None else after, pair2 or pair)]


def _explained(
    texts: list[Any], models: list[Any], method: str, settings: dict[str, Any]
) -> "Diff":
    import piste
    from piste.cli.progress import LateBar

    with LateBar("Asking the model") as bar:
        return piste.diff(*texts, *models, method=method, progress=bar, **settings)
