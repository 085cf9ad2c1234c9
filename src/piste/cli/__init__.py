"""The command line. One file a command; everything heavy is imported when a command runs."""

import codecs
import io
import logging
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from piste.cli import (
    check,
    compare,
    diff,
    doctor,
    evaluate,
    explain,
    lexicon,
    mcp,
    methods,
    metrics,
    run,
    serve,
    summary,
    verify,
)
from piste.errors import PisteError, SettingError
from piste.validation import unfit

NEAREST = "piste-nearest"
# What a terminal of few letters shows instead: a minus sign must not become a question mark.
PLAIN = str.maketrans("−–·│█▒▌▏▕“”²×→±…", '--*|#=|..""2x>~.')
INTERRUPTED = 130  # what shells say of Ctrl-C


class Plain(TyperGroup):
    """The commands; values that fit no option are told in the words of all other mistakes.

    Help shows no type of an option that takes no value: newer versions of typer call it <bool>.
    """

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for one in (command, *getattr(command, "commands", {}).values()):
            _without_types([] if one is None else one.get_params(ctx))
        return command

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            # pydantic's, in newer versions of typer; click's messages are plain
            told = getattr(error.__cause__, "errors", None)
            if told is None or error.param is None:
                raise
            name = getattr(error.param, "opts", None) or [str(error.param.name)]
            raise unfit(name[0], told()[0]) from None


def _without_types(params: Any) -> Any:
    """The options, those that take no value without a type beside them."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


app = typer.Typer(
    name="piste",
    cls=Plain,
    help="Why did the transformer classify this text as it did?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Words after the text are taken, to say that its quotes are missing.
WORDS = {"allow_extra_args": True}
app.command("explain", context_settings=WORDS)(explain.explain)
app.command("compare", context_settings=WORDS)(compare.compare)
app.command("diff", context_settings=WORDS)(diff.diff)
app.command("verify")(verify.verify)
app.command("evaluate")(evaluate.evaluate)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.command("run")(run.run)
app.command("summary")(summary.summary)
app.command("check")(check.check)
app.add_typer(lexicon.lexicon, name="lexicon")
app.command("methods")(methods.methods)
app.command("metrics")(metrics.metrics)
app.command("doctor")(doctor.doctor)


# Commands that are gone; whatever stands behind them is read, to answer with one line.
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command("theory", hidden=True, context_settings=ANYTHING)
def _theory() -> None:
    raise SettingError("piste theory has moved.", "In a clone of piste: python -m papers theory")


@app.command("reproduce", hidden=True, context_settings=ANYTHING)
def _reproduce() -> None:
    raise SettingError(
        "piste reproduce has moved.", "In a clone of piste: python -m papers run NAME --out DIR"
    )


# Options that are gone, each with what to do in its place.
GONE = {
    "--focus": "Leave it out: the default method context predicts removals.",
    "--no-lexicon": "Leave it out: a run builds a lexicon only where --build-lexicon asks for it.",
}


def _refuse_gone(words: list[str]) -> None:
    options = words[: words.index("--")] if "--" in words else words
    for option in (word.split("=")[0] for word in options):
        if option in GONE:
            raise SettingError(f"There is no {option} any more.", GONE[option])


def _show_version(wanted: bool) -> None:
    if wanted:
        from piste import __version__

        typer.echo(f"piste {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log what is being done to standard error.")
    ] = False,
) -> None:
    """Why did the transformer classify this text as it did?"""
    if verbose:
        logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", datefmt="%H:%M:%S")
        logging.getLogger("piste").setLevel(logging.DEBUG)


def _nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    shown = error.object[error.start : error.end].translate(PLAIN)
    return shown.encode("ascii", "replace").decode(), error.end


codecs.register_error(NEAREST, _nearest)


def main() -> None:
    """Run the command line: exit code 2 and one line for a user's mistake, 130 for Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=NEAREST)  # a terminal that cannot show a character
    try:
        _refuse_gone(sys.argv[1:])
        app()
    except PisteError as error:
        typer.echo(f"piste: {error.cause} {error.command}".rstrip(), err=True)
        sys.exit(2)
    except (KeyboardInterrupt, SystemExit) as end:
        # typer makes an exit of Ctrl-C, without a word
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            raise
        typer.echo("piste: interrupted; no file is half written.", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # `piste ... | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
