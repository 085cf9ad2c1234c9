"""`piste lexicon`: one SLALOM over the words of a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from piste.cli import options
from piste.cli.common import loaded
from piste.errors import several

lexicon = typer.Typer(help="Fit the words of a corpus once, for many texts.", no_args_is_help=True)


@lexicon.command()
def build(
    data: options.Data,
    out: Annotated[Path, typer.Option(help="The file to write: .json or .json.gz.")],
    model: options.Model = "demo",
    limit: options.Limit = None,
    text_column: options.TextColumn = "text",
    split: options.Split = "train",
    unit: options.Unit = "word",
    effort: Annotated[
        float, typer.Option(help="How much to ask about each word; 2 is twice the default.")
    ] = 1.0,
    whole_vocabulary: Annotated[
        bool, typer.Option("--whole-vocabulary", help="Also every token of the model's tokenizer.")
    ] = False,
    seed: options.Seed = 0,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Fit one SLALOM to the words of a corpus. A stopped build resumes."""
    import piste
    from piste.cli.progress import LateBar
    from piste.data import Columns, read_examples

    classifier = loaded(model, device, trust_remote_code)
    examples = read_examples(data, Columns(text_column), limit=limit, split=split)
    with LateBar("Asking the model") as bar:
        lexicon = piste.build_lexicon(
            (example.text for example in examples if example.problem is None),
            classifier,
            out=out,
            unit=unit,
            effort=effort,
            whole_vocabulary=whole_vocabulary,
            seed=seed,
            watch=bar,
        )
    facts = lexicon.facts
    typer.echo(
        f"{several(len(lexicon), unit)} of {several(facts['texts'], 'text')}, from"
        f" {several(facts['sequences'], 'sequence')} ({several(facts['tokens'], 'token')})."
    )
    typer.echo(f"Wrote {out}. Use it: piste explain TEXT --lexicon {out}")
