"""What all contenders share: the model, and the game to play.

Games are answered by the compiled model. Contenders that call the model themselves have it in eager
torch, and all of them where time is measured.

Nothing here imports piste: peers run in environments that do not hold it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

BATCH_TOKENS = 1024
Span = tuple[int, int, float]  # characters from, to, score towards the target
Masks = np.ndarray  # [parts, words] of bool: which words a part of the text keeps
Scores = np.ndarray  # [parts]: the model's score of the target, log-odds or the raw score


class TooLittle(Exception):
    """So few forward passes are not enough for this contender: no failure, just no point."""


class Unfit(Exception):
    """The contender does not take texts or models of this kind."""


class TorchModel:
    """A classifier from a folder, asked without gradients."""

    def __init__(self, folder: str, is_compiled: bool = True) -> None:
        self.folder = folder
        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.compiled = compiled(self.model) if is_compiled else None

    def logits(self, rows: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> np.ndarray:
        """Outputs [rows, outputs]; rows of about the same length share a batch."""
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        parts: list[np.ndarray] = []
        start = 0
        while start < len(order):
            longest = len(rows[order[min(start + 256, len(order)) - 1]])
            chosen = order[start : start + max(1, BATCH_TOKENS // max(1, longest))]
            parts.append(self._batch([rows[i] for i in chosen], [types[i] for i in chosen]))
            start += len(chosen)
        answers = np.empty((len(rows), parts[0].shape[1]))
        answers[order] = np.concatenate(parts)
        return answers

    @torch.inference_mode()
    def _batch(self, rows: list[Sequence[int]], types: list[Sequence[int]]) -> np.ndarray:
        width = max(map(len, rows))
        ids = np.full((len(rows), width), self.tokenizer.pad_token_id or 0)
        kinds, attended = np.zeros_like(ids), np.zeros_like(ids)
        for index, (row, kind) in enumerate(zip(rows, types, strict=True)):
            ids[index, : len(row)] = row
            kinds[index, : len(row)] = kind
            attended[index, : len(row)] = 1
        if self.compiled is not None:
            return np.array(self.compiled([ids, attended, kinds])[0], dtype=float)
        typed = {"token_type_ids": torch.from_numpy(kinds)} if kinds.any() else {}
        given = torch.from_numpy(ids), torch.from_numpy(attended)
        return (
            self.model(input_ids=given[0], attention_mask=given[1], **typed).logits.double().numpy()
        )


def compiled(model: torch.nn.Module) -> Any:
    """A BERT in OpenVINO, if that is installed: the same answers up to rounding, sooner."""
    if model.config.model_type != "bert" or find_spec("openvino") is None:
        return None
    import openvino

    one = torch.ones(1, 8, dtype=torch.long)
    given = {"input_ids": one, "attention_mask": one, "token_type_ids": one * 0}
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    converted = openvino.convert_model(model, example_input=given)
    return openvino.Core().compile_model(converted, "CPU", settings)


@dataclass
class Game:
    """One text in front of one model, where absent words are deleted or masked.

    Every distinct part is answered once, whoever asks; each contender pays for the parts that it
    asks itself, also for those that another one has asked before.
    """

    row: dict[str, Any]  # of the harness: words, their ids, the target
    model: TorchModel
    absence: str  # "delete" or "mask"
    answers: dict[bytes, float] = field(default_factory=dict)
    said: dict[tuple[int, ...], float] = field(default_factory=dict)  # of texts, by their tokens
    asked: set[Any] = field(default_factory=set)
    tokens: int = 0  # that this contender has sent through the model

    @property
    def text(self) -> str:
        return self.row["text"]

    @property
    def target(self) -> int:
        return self.row["target"]

    @property
    def words(self) -> int:
        return len(self.row["words"])

    @property
    def is_pair(self) -> bool:
        return self.row["second"] is not None

    @cached_property
    def lengths(self) -> np.ndarray:
        return np.array([len(ids) for ids in self.row["ids"]])

    @property
    def frame(self) -> int:
        """Special tokens around every sequence."""
        return sum(len(self.row[name]) for name in ("prefix", "between", "suffix"))

    @property
    def whole_tokens(self) -> int:
        return int(self.lengths.sum()) + self.frame

    @property
    def passes(self) -> float:
        """What was asked, in forward passes of the whole text."""
        return self.tokens / self.whole_tokens

    def begin(self) -> None:
        """Count from 0."""
        self.asked, self.tokens = set(), 0

    def samples(self, passes: float) -> int:
        """How many random parts cost so many passes: on average they keep half of the words."""
        half = self.frame + self.lengths.sum() / 2
        each = half / self.whole_tokens if self.absence == "delete" else 1.0
        return max(1, round(passes / each))

    def __call__(self, masks: Any) -> Scores:
        """The model's scores of parts of the text."""
        kept = np.atleast_2d(np.asarray(masks)) > 0.5
        scores = self.known(kept)
        for mask in kept:
            key = np.packbits(mask).tobytes()
            if key not in self.asked:
                self.asked.add(key)
                self.tokens += self._cost(mask)
        return scores

    def known(self, masks: Masks) -> Scores:
        """The same, not counted: for the judge."""
        keys = [np.packbits(mask).tobytes() for mask in masks]
        new = {key: mask for key, mask in zip(keys, masks, strict=True) if key not in self.answers}
        if new:
            built = [self._sequence(mask) for mask in new.values()]
            logits = self.model.logits([ids for ids, _ in built], [kinds for _, kinds in built])
            self.answers.update(zip(new, self.scores(logits).tolist(), strict=True))
        return np.array([self.answers[key] for key in keys])

    @cached_property
    def whole(self) -> float:
        return float(self.known(np.ones((1, self.words), dtype=bool))[0])

    def was_asked(self, masks: Masks) -> np.ndarray:
        return np.array([np.packbits(mask).tobytes() in self.asked for mask in masks])

    def scores(self, logits: np.ndarray) -> Scores:
        """The target against all other classes, or the raw score."""
        if logits.shape[1] == 1:
            return logits[:, 0]
        others = np.delete(logits, self.target, axis=1)
        top = others.max(axis=1)
        return logits[:, self.target] - top - np.log(np.exp(others - top[:, None]).sum(axis=1))

    def of_texts(self, texts: Sequence[str]) -> Scores:
        """Scores of texts, for contenders that write them themselves; counted."""
        if self.is_pair:
            raise Unfit("It takes single texts only.")
        coded = self.model.tokenizer(list(texts), truncation=True)["input_ids"]
        keys = [tuple(ids) for ids in coded]
        self.tokens += sum(len(key) for key in set(keys) - self.asked)
        self.asked |= set(keys)
        new = [key for key in dict.fromkeys(keys) if key not in self.said]
        if new:
            scores = self.scores(self.model.logits(new, [[0] * len(key) for key in new]))
            self.said.update(zip(new, scores.tolist(), strict=True))
        return np.array([self.said[key] for key in keys])

    def laid(self, spans: Sequence[Span]) -> np.ndarray:
        """Scores of stretches of the text, distributed over words by characters [words]."""
        scores = np.zeros(self.words)
        for start, end, score in spans:
            shared = [max(0, min(end, b) - max(start, a)) for a, b in self.row["words"]]
            if sum(shared):
                scores += score * np.array(shared) / sum(shared)
        return scores

    def _cost(self, mask: np.ndarray) -> int:
        inside = self.lengths[mask].sum() if self.absence == "delete" else self.lengths.sum()
        return int(inside) + self.frame

    def _sequence(self, mask: np.ndarray) -> tuple[list[int], list[int]]:
        """The ids and types of a part, special tokens around them."""
        row, types = self.row, self.row["types"]
        sides: tuple[list[int], list[int]] = ([], [])
        for ids, segment, keep in zip(row["ids"], row["segments"], mask, strict=True):
            if keep:
                sides[segment].extend(ids)
            elif self.absence == "mask":
                sides[segment].extend([row["mask"]] * len(ids))
        ids = [*row["prefix"], *sides[0], *row["between"], *sides[1], *row["suffix"]]
        second = len(row["prefix"]) + len(sides[0]) + len(row["between"])
        return ids, [types[self.is_pair and place >= second] for place in range(len(ids))]


@dataclass
class Answer:
    """One explanation. `scores` rank the words; the rest is what the contender can also say."""

    scores: np.ndarray  # [words], towards the target
    predict: Callable[[Masks], Scores] | None = None  # its own prediction of parts
    is_shapley: bool = False  # whether the scores estimate Shapley values
    pairs: np.ndarray | None = None  # interactions [words, words]
    near: bool = False  # whether they are those near the text (parts of 30 to 100 %)
    asked: Callable[[Masks], np.ndarray] | None = None  # where the game did not see the questions
    passes: float | None = None  # likewise


class Library(Protocol):
    """One library's explainers. `passes` None is the library's own default."""

    def explain(self, game: Game, settings: dict[str, Any], passes: float | None) -> Answer: ...


def additive(
    game: Game, values: np.ndarray, base: float | None = None, is_shapley: bool = False
) -> Answer:
    """Scores that add up: a part has the base and the scores of its words.

    Without a base of the contender's own, the whole text has the model's own score.
    """
    values = np.asarray(values, dtype=float)
    start = game.whole - values.sum() if base is None else base
    return Answer(values, lambda masks: start + masks @ values, is_shapley)


def read_answers(path: Path) -> dict[bytes, float]:
    """Answers that were kept; none where the file is missing or was cut off."""
    try:
        with np.load(path) as kept:
            keys, scores = kept["keys"], kept["scores"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return {}
    return {key.tobytes(): score for key, score in zip(keys, scores.tolist(), strict=True)}


def write_answers(path: Path, answers: dict[bytes, float]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = np.array([np.frombuffer(key, dtype=np.uint8) for key in answers])
    beside = path.with_suffix(".part")
    with beside.open("wb") as file:
        np.savez(file, keys=keys, scores=np.array(list(answers.values())))
    beside.replace(path)
