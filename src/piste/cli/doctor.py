"""`piste doctor`: what is installed, what it computes on, what is missing for what."""

import typer


def doctor() -> None:
    """Check the installation: versions, devices, backends, missing extras."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from piste.cli import diagnostics

    console, unwell = Console(highlight=False), 0
    parts = {
        "This machine": diagnostics.machine,
        "Libraries": diagnostics.libraries,
        "Devices": diagnostics.devices,
        "Extras": diagnostics.extras,
        "A model": diagnostics.model,
        "Backends": diagnostics.backends,  # after the model, which may be measured just now
    }
    for title, examine in parts.items():
        table = Table.grid(padding=(0, 2))
        findings = examine()
        for finding in findings:
            mark = Text("  ✓", "green") if finding.good else Text("  –", "yellow")
            table.add_row(mark, finding.what, Text(finding.found))
            unwell += not finding.good and title in ("Libraries", "A model")
        if findings:
            console.print(Text(title, "bold"))
            console.print(table)
    if unwell:
        raise typer.Exit(1)
