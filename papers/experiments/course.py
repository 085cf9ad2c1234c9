"""A training that may stop after any epoch and go on later, and its learning curve."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from papers.tables import Table
from papers.theory.single_layer import Training
from piste.files import write_atomic

Point = Mapping[str, float]  # "epoch", "loss", "held" (accuracy), "seconds" of the processor


@dataclass
class Course:
    """Epochs whose state is kept in a file, with what was measured after each."""

    file: Path  # where an interrupted training goes on
    epochs: int
    say: Callable[[str], None]
    curve: list[Point] = field(default_factory=list)

    def run(
        self, training: Training, ids: Tensor, truth: Tensor, held: Callable[[], float]
    ) -> None:
        """Train what is missing; `held` measures the accuracy on rows not trained on."""
        self._resume(training)
        while training.epochs < self.epochs:
            started = time.process_time()
            loss = training.epoch(ids, truth)
            spent = time.process_time() - started
            self.curve.append(
                {"epoch": training.epochs, "loss": loss, "held": held(), "seconds": spent}
            )
            self._keep(training)
            self.say(f"epoch {training.epochs} of {self.epochs}: {self.curve[-1]['held']:.1%}")

    def _resume(self, training: Training) -> None:
        if not self.file.exists():
            return
        kept = torch.load(self.file, weights_only=True)
        training.resume(kept["training"])
        self.curve[:] = kept["curve"]

    def _keep(self, training: Training) -> None:
        stream = io.BytesIO()
        torch.save({"training": training.state(), "curve": self.curve}, stream)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.file, stream.getvalue())


def curve_table(curve: Sequence[Point]) -> Table:
    """The learning curve, a row an epoch."""
    rows = tuple(
        (
            f"{point['epoch']:g}",
            f"{point['loss']:.3f}",
            f"{point['held']:.1%}",
            f"{point['seconds']:.0f}",
        )
        for point in curve
    )
    columns = ("epoch", "training loss, mean", "held reviews right", "processor seconds")
    return Table("Learning curve", columns, rows)


def draw_curves(curves: Mapping[str, Sequence[Point]], paper: float | None = None) -> Figure:
    """Accuracy on held rows and training loss, by epoch; the paper's accuracy as a line."""
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, (key, label) in zip(
        figure.subplots(1, 2),
        (("held", "held reviews right"), ("loss", "training loss")),
        strict=True,
    ):
        for name, curve in curves.items():
            axes.plot([p["epoch"] for p in curve], [p[key] for p in curve], "o-", label=name)
        if key == "held" and paper is not None:
            axes.axhline(paper, color="#555555", linestyle="--", label="the paper's, on test")
        axes.set(xlabel="epoch", ylabel=label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(frameon=False, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
