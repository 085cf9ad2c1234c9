"""Fit time: Gauss-Newton against the paper's SGD on the same 5,000 short sequences.

python benchmarks/fit.py [--players 200] [--rows 5000] [--noise 0.1] [--repeat 5]
"""

import argparse
import time

import numpy as np

from piste.design import short
from piste.result.facts import FitReport
from piste.surrogates.slalom.gauss_newton import fit_gauss_newton
from piste.surrogates.slalom.model import SlalomModel, count_matrix
from piste.surrogates.slalom.sgd import SgdSettings, fit_sgd


def main() -> None:
    options = _options()
    counts, margins = _planted(options.players, options.rows, options.noise)
    best = min(
        (_timed(lambda: fit_gauss_newton(counts, margins)) for _ in range(options.repeat)),
        key=lambda timed: timed[0],
    )
    _report("gauss-newton", *best, best[0])
    for settings in (SgdSettings(5e-3, 60), SgdSettings(1e-2, 20)):
        seconds, report = _timed(lambda s=settings: fit_sgd(counts, margins, settings=s))
        _report(f"sgd lr {settings.rate:g} x {settings.epochs}", seconds, report, best[0])
    seconds, report = _sgd_to_loss(counts, margins, 1.05 * best[1].loss)
    _report("sgd to within 5 % of that loss", seconds, report, best[0])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=200)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--repeat", type=int, default=5)
    return parser.parse_args()


def _planted(players: int, rows: int, noise: float) -> tuple:
    rng = np.random.default_rng(0)
    model = SlalomModel(rng.normal(size=(players, 1)), rng.normal(size=players))
    counts = count_matrix(short(rng, players, rows), np.arange(players), players)
    return counts, model.predict(counts) + noise * rng.normal(size=(rows, 1))


def _timed(fit) -> tuple[float, FitReport]:
    started = time.perf_counter()
    report = fit()[1]
    return time.perf_counter() - started, report


def _sgd_to_loss(counts, margins, loss: float) -> tuple[float, FitReport]:
    """Twice the epochs until the loss is reached, at the better of the paper's rates."""
    epochs = 60
    while True:
        settings = SgdSettings(1e-2, epochs)
        seconds, report = _timed(lambda s=settings: fit_sgd(counts, margins, settings=s))
        if report.loss <= loss or epochs >= 2000:
            return seconds, report
        epochs *= 2


def _report(name: str, seconds: float, report: FitReport, best: float) -> None:
    print(
        f"{name:32s} {seconds:8.3f} s  {seconds / best:7.1f}x  loss {report.loss:.5f}"
        f"  iterations {report.iterations}"
    )


if __name__ == "__main__":
    main()
