"""`piste methods`: the table of explainers."""


def methods() -> None:
    """List the methods, with their settings (in Python: piste.Slalom(length=5))."""
    from rich.console import Console
    from rich.table import Table

    from piste.methods import METHODS, settings, summary

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("method", "what it gives", "settings"):
        table.add_column(title, overflow="fold")
    for name, method in METHODS.items():
        named = ", ".join(f"{key}={value!r}" for key, value in settings(method).items())
        table.add_row(name, summary(method), named)
    Console(highlight=False, markup=False).print(table)
