"""Training of the theory's small models."""

import torch
from torch import Tensor


def fit(
    module: torch.nn.Module, ids: Tensor, truth: Tensor, epochs: int, rate: float, batch: int
) -> None:
    """Minimise the logistic loss of the module's log-odds [rows] against truth 0 or 1 [rows]."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=rate)
    module.train()
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(ids)), batch):
            optimizer.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                module(ids[rows]), truth[rows]
            )
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    module.eval()
