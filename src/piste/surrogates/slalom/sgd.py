"""SLALOM-SGD, Algorithm 1 of the paper: Adam on minibatches of an offline collection.

Kept for the paper's experiments; `gauss_newton` reaches a lower loss in a fraction of the time.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from piste.arrays import FloatArray
from piste.result.facts import FitReport
from piste.surrogates.slalom.model import FramePlayer, SlalomModel


@dataclass(frozen=True)
class SgdSettings:
    """The paper's: 5e-3 for 60 epochs, or 1e-2 for 20, batches of 128."""

    rate: float = 5e-3
    epochs: int = 60
    batch: int = 128


def fit_sgd(
    counts: sparse.csr_array,
    margins: FloatArray,
    *,
    frame: bool = False,
    settings: SgdSettings = SgdSettings(),
    seed: int = 0,
) -> tuple[SlalomModel, FitReport]:
    """Fit counts [rows, players] to margins [rows, outputs] by stochastic gradients."""
    dense = torch.from_numpy(counts.toarray()).float()
    if frame:
        dense = torch.cat([dense, torch.ones(len(dense), 1)], dim=1)
    wanted = torch.from_numpy(margins).float()
    values, importances = _train(dense, wanted, settings, torch.Generator().manual_seed(seed))
    players = counts.shape[1]
    always = FramePlayer(values[-1], float(importances[-1])) if frame else None
    model = SlalomModel(values[:players], importances[:players], always)
    loss = float(np.mean((model.predict(counts) - margins) ** 2))
    # Stochastic gradients have no stopping rule: the epochs are over, that is all we know.
    return model, FitReport(False, settings.epochs, loss)


def _train(
    counts: torch.Tensor, wanted: torch.Tensor, settings: SgdSettings, draw: torch.Generator
) -> tuple[FloatArray, FloatArray]:
    values = torch.zeros(counts.shape[1], wanted.shape[1], requires_grad=True)
    importances = torch.zeros(counts.shape[1], requires_grad=True)
    adam = torch.optim.Adam([values, importances], lr=settings.rate)
    logs = counts.log()  # exp(s + log n): absent players weigh exp(-inf)
    for _ in range(settings.epochs):
        for rows in torch.split(torch.randperm(len(counts), generator=draw), settings.batch):
            adam.zero_grad()
            predicted = torch.softmax(logs[rows] + importances, dim=1) @ values
            torch.mean((predicted - wanted[rows]) ** 2).backward()  # type: ignore[no-untyped-call]
            adam.step()
    return values.detach().double().numpy(), importances.detach().double().numpy()
