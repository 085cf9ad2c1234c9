"""What a reader of the pages has before them: a model of their own, a few files, an endpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import piste
from piste.models import loading
from tests.endpoint import running

LLM = "http://127.0.0.1:8080"  # where the pages have a language model's server
OWN = "objects you already have"  # a page that says so may use `model` and `tokenizer`
REVIEWS = [
    ("The plot is thin, but the acting is superb.", "positive"),
    ("A dull film with a weak end.", "negative"),
    ("Not a good film, and far too long.", "negative"),
    ("A wonderful cast and a beautiful score.", "positive"),
    ("The jokes are tired and the pace is slow.", "negative"),
    ("I loved every minute of it.", "positive"),
    ("Terrible sound, terrible cut, terrible film.", "negative"),
    ("A quiet film that stays with you.", "positive"),
    ("The worst sequel of the year.", "negative"),
    ("Great fun for the whole family.", "positive"),
]
LONG = " ".join(text for text, _ in REVIEWS * 8)  # longer than the embedded model reads
PROMPT = "Is this review positive or negative?\n{text}\nAnswer:"


def furnish(folder: Path, tokenizer: Any, language_model: Any) -> None:
    """The files that pages speak of: models in folders, texts, data sets."""
    source = Path(piste.__file__).parent / "models" / "demo"
    for name in ("my-org/my-classifier", "path/to/saved_model"):
        shutil.copytree(source, folder / name)
    _write_reranker(source, folder / "my-org/my-reranker")
    language_model.save_pretrained(folder / "path/to/llm")
    tokenizer.save_pretrained(folder / "path/to/llm")
    (folder / "review.txt").write_text(REVIEWS[0][0] + "\n")
    (folder / "long-review.txt").write_text(LONG + "\n")
    (folder / "prompt.txt").write_text(PROMPT)
    _write_data(folder)


def _write_reranker(source: Path, folder: Path) -> None:
    """The embedded model with one output: how much more it says the second label than the first."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    two = AutoModelForSequenceClassification.from_pretrained(source)
    one = AutoModelForSequenceClassification.from_pretrained(
        source,
        num_labels=1,
        id2label={0: "score"},
        label2id={"score": 0},
        ignore_mismatched_sizes=True,
    )
    with torch.no_grad():
        head, both = list(one.parameters())[-2:], list(two.parameters())[-2:]
        for single, double in zip(head, both, strict=True):
            single.copy_(double[1:] - double[:1])
    one.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)


def _write_data(folder: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    rows = [{"id": str(i), "text": text, "label": label} for i, (text, label) in enumerate(REVIEWS)]
    (folder / "reviews.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = ["id,text,label", *(f'{row["id"]},"{row["text"]}",{row["label"]}' for row in rows)]
    (folder / "reviews.csv").write_text("\n".join(lines) + "\n")
    parquet.write_table(arrow.Table.from_pylist(rows), folder / "reviews.parquet")


def copy(furnished: Path, desk: Path) -> None:
    """A desk of one's own; models are shared."""
    for path in furnished.iterdir():
        if path.is_dir():
            (desk / path.name).symlink_to(path)
        else:
            shutil.copy(path, desk)


def own_objects() -> dict[str, Any]:
    """The `model` and `tokenizer` of a reader who has loaded them."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained("my-org/my-classifier")
    return {"model": model, "tokenizer": AutoTokenizer.from_pretrained("my-org/my-classifier")}


@contextmanager
def endpoint() -> Iterator[dict[str, str]]:
    """A language model's server, and the address that stands for the page's."""
    with running() as server:
        yield {LLM: server.url.removesuffix("/v1")}


def loads_once(load: Callable[..., Any] = loading.load) -> Callable[..., Any]:
    """`load`, that keeps the models it was asked for by name: pages load the same few anew."""

    @cache
    def kept(name: str, **options: Any) -> Any:
        return load(name, **options)

    def loaded(model: Any = "demo", tokenizer: Any = None, **options: Any) -> Any:
        if isinstance(model, str) and tokenizer is None:
            return kept(model, **options)
        return load(model, tokenizer, **options)

    return loaded
