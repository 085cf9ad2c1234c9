"""`piste metrics`: the table of measures."""


def metrics() -> None:
    """List the metrics of `piste evaluate`."""
    from rich.console import Console

    from piste.cli.common import table_of
    from piste.metrics import METRICS

    table = table_of(("metric", "better", "what it says", "needs"))
    for name, metric in METRICS.items():
        better = "higher" if metric.higher_is_better else "lower"
        table.add_row(name, better, metric.says, metric.needs or "")
    Console(highlight=False, markup=False).print(table)
