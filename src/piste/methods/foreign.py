"""Scores that another library found, read without importing it: who scored what, and where.

shap, lime and captum hand their results over in shapes of their own. Here each becomes pieces of
the text with a score; `adapted.py` gives the pieces to the players.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from piste.errors import InputError, SettingError, choices
from piste.explanation import FloatArray, Target
from piste.text.encoding import Span
from piste.text.players import Players
from piste.text.units import is_word_character

SPECIAL = re.compile(r"\[[A-Z]+\d*\]|<[^<>\s]+>|<\|[^|]+\|>")  # [CLS], </s>, <|endoftext|>
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
    """What another explainer says of a text, towards one target."""

    pieces: tuple[Piece, ...]
    total: float | None = None  # what its scores and its base value add up to, where it says so


def read(result: object, players: Players, target: Target) -> Foreign:
    """The pieces of whatever was given; raises where it cannot be understood."""
    known = library(result)
    if known == "shap":
        return _of_shap(result, players.text, target)
    if known == "lime":
        return _of_lime(result, target)
    if isinstance(result, Mapping):
        return _of_words(result, players)
    if isinstance(result, Sequence) and result and not isinstance(result[0], int | float):
        return _of_pairs(_pairs(result), players)
    return _of_numbers(result, players)


def library(result: object) -> str:
    """Which library's result it is, by its form."""
    if all(hasattr(result, name) for name in ("base_values", "data", "output_names")):
        return "shap"
    if all(hasattr(result, name) for name in ("local_exp", "domain_mapper")):
        return "lime"
    return "given"


def _of_shap(result: Any, text: str, target: Target) -> Foreign:
    tokens, values = result.data, np.asarray(result.values, dtype=np.float64)
    if isinstance(tokens, str) or np.ndim(tokens) != 1 or values.shape[:1] != np.shape(tokens):
        raise InputError("This is not the explanation of one text.", "Give one row: values[0].")
    base = np.asarray(result.base_values, dtype=np.float64)
    if values.ndim == 2:
        column = _column(result.output_names, target, values.shape[1])
        values, base = values[:, column], np.broadcast_to(base, values.shape[1:])[column]
    elif isinstance(result.output_names, str):
        _same_label(str(result.output_names), target)
    total = float(base) + float(values.sum()) if np.ndim(base) == 0 else None
    return Foreign(_placed(tokens, values.tolist(), text), total)


def _column(names: Any, target: Target, count: int) -> int:
    """The output that is the target: by its name, else by its place."""
    known = [str(name) for name in ([] if names is None else names)]
    if target.label in known:
        return known.index(target.label)
    if count != len(target.labels):
        raise choices("output of the shap explanation", target.label, known)
    return target.index


def _same_label(name: str, target: Target) -> None:
    if name != target.label and name in target.labels:
        raise SettingError(
            f"These are scores for {name!r}, and {target.label!r} is explained.",
            f"Give target={name!r}, or the other column.",
        )


def _of_lime(result: Any, target: Target) -> Foreign:
    sign, label = 1.0, target.index
    if result.mode == "regression":
        label = result.dummy_label
    elif label not in result.local_exp and len(result.class_names or ()) == 2:
        sign, label = -1.0, 1 - label  # of two classes, one's probability is what the other leaves
    if label not in result.local_exp:
        raise SettingError(
            f"lime did not explain {target.label!r}.", f"Ask it for labels=({target.index},)."
        )
    indexed = result.domain_mapper.indexed_string
    pieces = []
    for feature, weight in result.local_exp[label]:
        word, starts = indexed.word(feature), np.ravel(indexed.string_position(feature)).tolist()
        pieces += [
            Piece((start, start + len(word)), sign * float(weight), len(starts)) for start in starts
        ]
    return Foreign(tuple(pieces))


def _of_words(result: Mapping[Any, Any], players: Players) -> Foreign:
    """Every occurrence of a word has its score; words in other letters (`Good`) are the same."""
    scores = {_folded(str(word)): _number(score) for word, score in result.items()}
    pieces = [
        Piece((player.start, player.end), scores[_folded(player.text)])
        for player in players.items
        if _folded(player.text) in scores
    ]
    if not pieces:
        raise InputError("None of the given words is in the text.", "Is it of another text?")
    return Foreign(tuple(pieces))


def _of_pairs(pairs: list[tuple[str, float]], players: Players) -> Foreign:
    """Tokens in the order of the text; else, as lime lists them, words in any order."""
    tokens, scores = [token for token, _ in pairs], [score for _, score in pairs]
    try:
        return Foreign(_placed(tokens, scores, players.text))
    except InputError:
        words = {_folded(player.text) for player in players.items}
        if len(set(tokens)) < len(tokens) or not words.issuperset(map(_folded, tokens)):
            raise
    return _of_words(dict(pairs), players)


def _pairs(result: Sequence[Any]) -> list[tuple[str, float]]:
    try:
        pairs = [(token, score) for token, score in result]
    except (TypeError, ValueError):
        raise InputError("These are no scores that piste can read.", SHAPES) from None
    if not all(isinstance(token, str) for token, _ in pairs):
        raise InputError("These are no (token, score) pairs.", SHAPES)
    return [(token, _number(score)) for token, score in pairs]


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
    scores = _by_player(numbers, players)
    spans = [(player.start, player.end) for player in players.items]
    given = zip(spans, scores.tolist(), strict=True)
    return Foreign(tuple(Piece(span, _number(score)) for span, score in given))


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


def _placed(tokens: Sequence[str], scores: Sequence[float], text: str) -> tuple[Piece, ...]:
    """Every token where it stands next in the text; special tokens stand nowhere."""
    folded = _folded(text)
    pieces, position = [], 0
    for token, score in zip(tokens, scores, strict=True):
        found = _next(folded, str(token).strip(), position)
        if found is not None:
            pieces.append(Piece(found, _number(score)))
            position = found[1]
        elif str(token).strip() and not SPECIAL.fullmatch(str(token).strip()):
            raise InputError(
                f"{str(token)[:80]!r} does not come next in the text.",
                "Give pairs in the order of the text, or a dict of words. Or is it another text?",
            )
    return tuple(pieces)


def _next(folded: str, token: str, position: int) -> Span | None:
    """Where the token stands next: at once but for blanks and marks, else as a word, else inside.

    Tokens in a row follow each other; a list of a few words leaves others out.
    """
    if SPECIAL.fullmatch(token) and not folded.startswith(_folded(token), position):
        return None
    for piece in dict.fromkeys((_folded(token), _folded(_bare(token)))):
        starts = [found.start() + position for found in _occurrences(piece, folded[position:])]
        at_once = [s for s in starts[:1] if not any(map(is_word_character, folded[position:s]))]
        words = [start for start in starts if _is_word(folded, start, start + len(piece))]
        for start in at_once or words[:1] or starts[:1]:
            return start, start + len(piece)
    return None


def _occurrences(piece: str, text: str) -> Iterable[re.Match[str]]:
    return re.finditer(re.escape(piece), text) if piece else ()


def _is_word(text: str, start: int, end: int) -> bool:
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return not any(map(is_word_character, around))


def _bare(token: str) -> str:
    """A piece without the marks of its tokenizer: ##ing, Ġfilm, ▁film, film</w>."""
    return token.strip().removeprefix("##").lstrip("Ġ▁Ċ").removesuffix("</w>")


def _folded(text: str) -> str:
    """The text in small letters without accents, as long as it was: tokenizers may change both."""
    return "".join(unicodedata.normalize("NFD", character)[0].lower()[:1] for character in text)


def _number(score: Any) -> float:
    try:
        number = float(score)
    except (TypeError, ValueError):
        raise InputError(f"{score!r} is no score.", "Give one number for every piece.") from None
    if not math.isfinite(number):
        raise InputError(f"One of the scores is {number}.", "Give finite numbers.")
    return number
