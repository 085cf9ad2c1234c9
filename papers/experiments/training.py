"""Classifiers trained here, and kept in the cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    get_linear_schedule_with_warmup,
)

from papers.experiments.architectures import Size


@dataclass(frozen=True)
class Recipe:
    """How it is trained."""

    epochs: int = 1
    rate: float = 1e-4
    batch: int = 16
    longest: int = 128  # tokens of a training text
    seed: int = 0


def train(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    labels: Sequence[int],
    recipe: Recipe,
    say: Callable[[str], None] = lambda _: None,
    after: Callable[[int, float], None] = lambda epoch, loss: None,
) -> None:
    """Fine-tune with AdamW, warm-up and linear decay. The model comes back in eval mode.

    `after` each epoch is told the epoch and its mean loss.
    """
    order = torch.Generator().manual_seed(recipe.seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=recipe.rate)
    steps = recipe.epochs * -(-len(texts) // recipe.batch)
    schedule = get_linear_schedule_with_warmup(optimiser, max(1, steps // 10), steps)
    model.train()
    done = 0
    for epoch in range(1, recipe.epochs + 1):
        total = 0.0
        for chosen in torch.split(torch.randperm(len(texts), generator=order), recipe.batch):
            batch = _encoded(tokenizer, [texts[i] for i in chosen.tolist()], recipe.longest)
            truth = torch.tensor([labels[i] for i in chosen.tolist()], device=model.device)
            optimiser.zero_grad()
            loss = model(**_on(batch, model), labels=truth).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            done += 1
            total += loss.item() * len(chosen)
            if done % 25 == 0:
                say(f"training: step {done} of {steps}, loss {loss.item():.3f}")
        model.eval()
        after(epoch, total / len(texts))
        model.train()
    model.eval()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the notices and progress bars of transformers."""
    logs = transformers.utils.logging
    level, bars = logs.get_verbosity(), logs.is_progress_bar_enabled()
    logs.set_verbosity(logs.CRITICAL)
    logs.disable_progress_bar()
    try:
        yield
    finally:
        logs.set_verbosity(level)
        if bars:
            logs.enable_progress_bar()


@torch.no_grad()
def accuracy(
    model: Any, tokenizer: Any, texts: Sequence[str], labels: Sequence[int], longest: int = 128
) -> float:
    """The share of texts that the model classifies as labelled."""
    right = 0
    for start in range(0, len(texts), 32):
        batch = _encoded(tokenizer, list(texts[start : start + 32]), longest)
        guesses = model(**_on(batch, model)).logits.argmax(dim=1).cpu()
        right += int((guesses == torch.tensor(list(labels[start : start + 32]))).sum())
    return right / len(texts)


Made = tuple[Any, Any, dict[str, Any]]  # model, tokenizer, and facts: accuracy ...


def cached(
    cache: Path,
    key: dict[str, Any],
    make: Callable[[], Made],
    read: Callable[[Path], Any] = AutoModelForSequenceClassification.from_pretrained,
) -> Made:
    """What `make` trains, made once for each key. A folder appears whole or not at all."""
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()
    folder = cache / f"{key['name']}-{digest[:12]}"
    if not folder.exists():
        model, tokenizer, facts = make()
        _keep(folder, model, tokenizer, {"key": key, **facts})
    facts = json.loads((folder / "facts.json").read_text())
    with quiet():
        return read(folder), AutoTokenizer.from_pretrained(folder), facts


def _keep(folder: Path, model: Any, tokenizer: Any, facts: dict[str, Any]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    with quiet():
        model.save_pretrained(fresh)
        tokenizer.save_pretrained(fresh)
    (fresh / "facts.json").write_text(json.dumps(facts, default=str))
    try:
        os.replace(fresh, folder)
    except OSError:  # somebody else has made it meanwhile
        shutil.rmtree(fresh)


def key_of(name: str, size: Size, recipe: Recipe, **more: Any) -> dict[str, Any]:
    """What identifies a trained model."""
    return {"name": name, "size": asdict(size), "recipe": asdict(recipe), **more}


def _encoded(tokenizer: Any, texts: list[str], longest: int) -> dict[str, Tensor]:
    encoded = tokenizer(
        texts, truncation=True, max_length=longest, padding="longest", return_tensors="pt"
    )
    return {name: encoded[name] for name in ("input_ids", "attention_mask")}


def _on(batch: dict[str, Tensor], model: Any) -> dict[str, Tensor]:
    return {name: tensor.to(model.device) for name, tensor in batch.items()}
