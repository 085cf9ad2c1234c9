"""Reads the results of other libraries without importing them.

shap, lime and captum hand their results over in shapes of their own. Here each becomes pieces of
the text with a score; `adapted.py` gives the pieces to the players.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from piste.arrays import FloatArray
from piste.errors import InputError, SettingError, choices, few
from piste.result.explanation import Target
from piste.text import token_alignment
from piste.text.players import Players
from piste.text.units import Span

SHAPES = (
    "Give a shap.Explanation of one text, a lime explanation, (token, score) pairs, a dict of"
    " words, or one number for every token."
)


@dataclass(frozen=True)
class Piece:
    """A stretch of the text and its score; `times`: how many stretches share that score."""

    span: Span
    score: float
    times: int = 1


@dataclass(frozen=True)
class Foreign:
    """Another explainer's scores of a text."""

    pieces: tuple[Piece, ...]
    labelled: bool = False  # it knows for which label: the target's column was taken
    total: float | None = None  # what its scores and its base value add up to, where it says so
    notes: tuple[str, ...] = ()
    only: str | None = None  # the one label that it is of, by its own words


def library(result: object) -> str:
    """The library that made this result, recognised by its attributes."""
    if all(hasattr(result, name) for name in ("base_values", "data", "output_names")):
        return "shap"
    if all(hasattr(result, name) for name in ("local_exp", "domain_mapper")):
        return "lime"
    return "given"


def read(result: Any, players: Players, target: Target, *, mirrored: bool) -> Foreign:
    """The scored pieces of a result of any known form; raises an `InputError` for others.

    mirrored: whether what speaks against one of two labels speaks for the other.
    """
    known = library(result)
    if known == "shap":
        return _of_shap(result, players, target)
    if known == "lime":
        return _of_lime(result, players.text, target, mirrored)
    if hasattr(result, "to_dict") and hasattr(result, "index"):  # a pandas Series
        result = result.to_dict()
    if isinstance(result, Mapping) and all(isinstance(word, str) for word in result):
        return _of_words(list(result), [_number(score) for score in result.values()], players.text)
    if isinstance(result, Mapping):
        result = list(result.values())
    if isinstance(result, Sequence) and len(result) and isinstance(result[0], Sequence):
        return _of_pairs(*_pairs(result), players)
    return _of_numbers(result, players)


def _of_shap(result: Any, players: Players, target: Target) -> Foreign:
    tokens, values = result.data, np.asarray(result.values, dtype=np.float64)
    if isinstance(tokens, str) or np.ndim(tokens) != 1 or values.shape[:1] != np.shape(tokens):
        raise InputError(
            f"This is not the explanation of one text: its values have shape {values.shape}.",
            "Give one row: values[0].",
        )
    base = np.asarray(result.base_values, dtype=np.float64)
    names = result.output_names
    labelled = isinstance(names, str) and str(names) in target.labels
    if values.ndim == 2:
        column = _column(names, target, values.shape[1])
        values, base = values[:, column], np.broadcast_to(base, values.shape[1:])[column]
        labelled = True
    elif labelled:
        same_label(str(names), target)
    total = float(base) + float(values.sum()) if np.ndim(base) == 0 else None
    placed = token_alignment.complete([str(token) for token in tokens], players.text, _end(players))
    if placed is None:
        raise _of_another_text()
    only = str(names) if labelled and isinstance(names, str) else None
    return Foreign(_pieces(placed, values.tolist()), labelled, total, only=only)


def _column(names: Any, target: Target, count: int) -> int:
    """The column of the target: by its name, else by its index."""
    known = [str(name) for name in ([] if names is None else names)]
    if target.label in known:
        return known.index(target.label)
    if count != len(target.labels):
        raise choices("output of the shap explanation", target.label, known)
    return target.index


def same_label(name: str, target: Target) -> None:
    """Raise unless the scores are for the label that is explained."""
    if name != target.label:
        raise SettingError(
            f"These are scores for {name!r}, and {target.label!r} is explained.",
            f"Give target={name!r}, or the scores of the other label.",
        )


def _of_lime(result: Any, text: str, target: Target, mirrored: bool) -> Foreign:
    indexed = result.domain_mapper.indexed_string
    if indexed.raw_string() != text:
        raise _of_another_text()
    sign, label = _lime_label(result, target, mirrored)
    pieces = []
    for feature, weight in result.local_exp[label]:
        word, starts = indexed.word(feature), np.ravel(indexed.string_position(feature)).tolist()
        pieces += [
            Piece((start, start + len(word)), sign * float(weight), len(starts)) for start in starts
        ]
    return Foreign(tuple(pieces), labelled=result.mode != "regression")


def _lime_label(result: Any, target: Target, mirrored: bool) -> tuple[float, int]:
    """The label's index in lime's explanation, and the sign of its weights for the target."""
    if result.mode == "regression":
        return 1.0, int(result.dummy_label)
    names = [str(name) for name in result.class_names or ()]
    label = names.index(target.label) if target.label in names else target.index
    if label in result.local_exp:
        return 1.0, label
    if mirrored and len(names) == 2 and 1 - label in result.local_exp:
        return -1.0, 1 - label  # of two classes, one's probability is what the other leaves
    raise SettingError(f"lime did not explain {target.label!r}.", f"Ask it for labels=({label},).")


def _of_words(words: list[str], scores: list[float], text: str) -> Foreign:
    """Every occurrence of a word has its score."""
    places = token_alignment.words(words, text)
    absent = [word for word, spans in zip(words, places, strict=True) if not spans]
    if len(absent) == len(words):
        raise InputError("None of the given words is in the text.", "Is it of another text?")
    pieces = [
        Piece(span, score) for spans, score in zip(places, scores, strict=True) for span in spans
    ]
    note = f"Scored, but not in the text as words: {few(absent, 5)}."
    return Foreign(tuple(pieces), notes=(note,) if absent else ())


def _of_pairs(tokens: list[str], scores: list[float], players: Players) -> Foreign:
    """All tokens of the text in their order; else words, in any order."""
    placed = token_alignment.complete(tokens, players.text, _end(players))
    if placed is not None:
        return Foreign(_pieces(placed, scores))
    if len(set(tokens)) < len(tokens):
        raise InputError(
            "These pairs are neither all tokens of the text in their order, nor distinct words.",
            "Give every token once, a dict of words, or one number for every token.",
        )
    return _of_words(tokens, scores, players.text)


def _end(players: Players) -> int:
    """The last character that the model reads."""
    return max(player.end for player in players.items)


def _pairs(result: Sequence[Any]) -> tuple[list[str], list[float]]:
    try:
        pairs = [(token, score) for token, score in result]
    except (TypeError, ValueError):
        raise InputError(
            f"piste cannot read scores from a {type(result).__name__}.", SHAPES
        ) from None
    if not all(isinstance(token, str) for token, _ in pairs):
        raise InputError(f"These are not (token, score) pairs: {few(pairs, 3)}.", SHAPES)
    return [token for token, _ in pairs], [_number(score) for _, score in pairs]


def _of_numbers(result: Any, players: Players) -> Foreign:
    """One number for every token that the model reads, with or without its special tokens."""
    if hasattr(result, "detach"):  # a torch tensor
        result = result.detach().cpu()
    try:
        numbers = np.asarray(result, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"A {type(result).__name__} holds no scores.", SHAPES) from None
    if numbers.ndim > 1 and len(numbers) == 1:
        numbers = numbers[0]  # a batch of one
    if numbers.ndim != 1:
        raise InputError(
            f"The scores have the shape {list(numbers.shape)}.",
            "Give one number for every token: of captum's attributions, attributions.sum(-1)[0].",
        )
    spans = [(player.start, player.end) for player in players.items]
    return Foreign(_pieces(spans, _by_player(numbers, players).tolist()))


def _by_player(numbers: FloatArray, players: Players) -> FloatArray:
    tokens, frame = len(players.ids.values), players.frame
    framed = tokens + len(frame.prefix) + len(frame.suffix)
    if len(numbers) == len(players):
        return numbers
    if len(numbers) == framed:
        numbers = numbers[players.positions]
    elif len(numbers) != tokens:
        raise InputError(
            f"There are {len(numbers):,} scores, and the model reads {tokens:,} tokens"
            f" ({framed:,} with its special ones) in {len(players):,} {players.unit}s.",
            "Give one score for each of them, or (token, score) pairs.",
        )
    owner = np.repeat(np.arange(len(players)), players.ids.lengths)
    return np.bincount(owner, weights=numbers, minlength=len(players)).astype(np.float64)


def _pieces(spans: Sequence[Span | None], scores: Sequence[float]) -> tuple[Piece, ...]:
    pairs = zip(spans, scores, strict=True)
    return tuple(Piece(span, _number(score)) for span, score in pairs if span is not None)


def _of_another_text() -> InputError:
    return InputError(
        "The scores are those of another text.", "Explain the text that the model is asked about."
    )


def _number(score: Any) -> float:
    try:
        number = float(score)
    except (TypeError, ValueError):
        raise InputError(f"{score!r} is no score.", "Give one number for every piece.") from None
    if not math.isfinite(number):
        raise InputError(f"One of the scores is {number}.", "Give finite numbers.")
    return number
