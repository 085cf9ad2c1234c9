"""`piste methods`: the table of explainers."""


def methods() -> None:
    """List the explanation methods and their settings (in Python: piste.Slalom(length=5))."""
    from rich.console import Console

    from piste.cli.common import table_of
    from piste.methods import METHODS, summary

    table = table_of(("method", "what it gives", "settings"))
    for name, method in METHODS.items():
        named = ", ".join(f"{key}={value!r}" for key, value in method.settings().items())
        table.add_row(name, summary(method), named)
    Console(highlight=False, markup=False).print(table)
