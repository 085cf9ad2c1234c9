"""What the contenders explain: texts in front of models, as rows that any environment can read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import context_texts
import input_kinds
import numpy as np
import torch
from transformers import AutoTokenizer, GPT2Config, GPT2ForSequenceClassification

import piste
from piste.data import Example, read_examples
from piste.decision import RAW, Decision
from piste.files import cache_directory
from piste.metrics.human_attention import consensus
from piste.models.protocol import Classifier
from piste.text.encoding import TYPE

EXACT = 12  # words of which every part can be asked
DECODER = input_kinds.Task("decoder", ("negative", "positive"), 9600, 2)


@dataclass(frozen=True)
class Task:
    """Texts of a file in front of one model: the first that fit."""

    title: str
    model: str
    file: str
    words: tuple[int, int]  # players of a text, of both texts of a pair together
    people: bool = False  # whether people have marked words; the model must agree with them

    @property
    def exact(self) -> bool:
        return self.words[1] <= EXACT

    def rows(self, data: Path, count: int) -> Iterator[dict[str, Any]]:
        """So many texts, with everything that a game needs."""
        folder = model_folder(self.model, data)
        classifier = piste.load(str(folder))
        found = (self._row(one, classifier) for one in read_examples(data / self.file))
        return islice((row for row in found if row is not None), count)

    def _row(self, example: Example, classifier: Classifier) -> dict[str, Any] | None:
        rough = len(f"{example.text} {example.pair or ''}".split())
        if not self.words[0] / 2 <= rough <= self.words[1]:
            return None
        decision = Decision.on(example.text, classifier, pair=example.pair)
        if not self.words[0] <= len(decision.players) <= self.words[1]:
            return None
        row = described(example, decision)
        if self.people:
            row["marked"] = _marked(example, decision)
            agrees = decision.target.index == example.label
            return row if agrees and row["marked"] is not None else None
        return row


TASKS = {
    "trec": Task(
        f"questions of 9–{EXACT} words (TREC), MiniLM", "trec", "trec/test.jsonl.gz", (9, EXACT)
    ),
    "yelp": Task("reviews of 50–70 words (Yelp), MiniLM", "yelp", "yelp/test.jsonl.gz", (50, 70)),
    "people": Task(
        "sentences with words that people marked (SST), MiniLM",
        "yelp",
        "rationales/sst.jsonl.gz",
        (5, 60),
        people=True,
    ),
    "sst": Task("sentences as a number (SST), MiniLM", "sst", "sst/test.jsonl.gz", (13, 30)),
    "snli": Task("pairs of sentences (SNLI), MiniLM", "snli", "snli/test.jsonl.gz", (20, 30)),
    "embedded": Task(
        "reviews of 30–60 words (Yelp), embedded model", "embedded", "yelp/test.jsonl.gz", (30, 60)
    ),
    "decoder": Task(
        "reviews of 30–60 words (Yelp), a small GPT-2", "decoder", "yelp/test.jsonl.gz", (30, 60)
    ),
}


def described(example: Example, decision: Decision) -> dict[str, Any]:
    """A text as plain data: its words, their ids, and the number that is explained."""
    players, frame = decision.players, decision.players.frame
    query = decision.query
    return {
        "id": str(example.id),
        "text": players.text,
        "first": example.text,
        "second": example.pair,
        "target": decision.target.index,
        "outputs": len(decision.target.labels),
        "raw": decision.target.scale == RAW,
        "words": [(player.start, player.end) for player in players.items],
        "ids": [list(player.ids) for player in players.items],
        "segments": players.segments.tolist(),
        "prefix": [token % TYPE for token in frame.prefix],
        "between": [token % TYPE for token in frame.between],
        "suffix": [token % TYPE for token in frame.suffix],
        "types": list(frame.types),
        "mask": next(t for name in ("mask", "unk") if (t := query.token_id(name)) is not None),
    }


def _marked(example: Example, decision: Decision) -> list[bool] | None:
    """The words that most people marked; None where that is none or all of them."""
    share = np.mean(example.maps, axis=0)
    most = share > 0.5 if len(example.maps) > 3 else share == 1
    marked = consensus(decision.players, example.words, [most.astype(int).tolist()])
    return None if marked is None or marked.all() or not marked.any() else marked.tolist()


def model_folder(name: str, data: Path) -> Path:
    """The model's folder; trained where it is not in the cache yet."""
    own: dict[str, Callable[[], Path]] = {
        "embedded": lambda: Path(piste.__file__).parent / "models" / "demo",
        "decoder": lambda: decoder(data),
        "yelp": lambda: cache_directory() / "minilm-yelp",
    }
    if name not in ("embedded", "decoder"):
        context_texts.model(name, data)
    return own[name]() if name in own else cache_directory() / "input-kinds" / name


def decoder(data: Path) -> Path:
    """A GPT-2 of 4 layers, 128 wide, trained from scratch on Yelp with the MiniLM's tokenizer."""
    folder = cache_directory() / "benchmark-decoder"
    if (folder / "config.json").exists():
        return folder
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(model_folder("yelp", data))
    model = GPT2ForSequenceClassification(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=512,
            n_embd=128,
            n_layer=4,
            n_head=4,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.cls_token_id,
            eos_token_id=tokenizer.sep_token_id,
            id2label=dict(enumerate(DECODER.labels)),
        )
    )
    examples = list(read_examples(data / "yelp" / "train.jsonl.gz", limit=DECODER.train))
    input_kinds.fit(model, tokenizer, examples, DECODER, rate=1e-3)
    tokenizer.model_max_length = 512
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
