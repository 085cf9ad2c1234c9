"""Two explanations side by side: which words and pairs carry the change of the score."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from piste.options import whole_number
from piste.result.alignment import matched
from piste.result.comparable import comparable, decided
from piste.result.explanation import Explanation
from piste.result.pair_changes import PairChange, pair_changes
from piste.result.scores import score
from piste.result.written import AsJson, AsPage

if TYPE_CHECKING:
    import pandas

SCHEMA = 1


@dataclass(frozen=True)
class WordChange:
    """One place of the text: players before, players after, and what they are worth.

    Several players stand together where a phrase became another of a different length.
    """

    kind: str  # "kept", "changed", "added" or "removed"
    before: tuple[int, ...]  # players of the first explanation; none where they were added
    after: tuple[int, ...]  # players of the second; none where they were removed
    score_before: float  # the sum of their primary scores; 0 without players
    score_after: float
    error: float | None  # standard error of the change; None where a method gives none

    @property
    def change(self) -> float:
        return self.score_after - self.score_before


@dataclass(frozen=True, eq=False, repr=False)
class Diff(AsJson, AsPage):
    """What changed from one explanation to another, both towards the same target.

    `words` are in reading order. Where the scores add up, the changes of all words and of the base
    sum to the change of the model's score; `left` is what they leave elsewhere.
    """

    before: Explanation
    after: Explanation
    words: tuple[WordChange, ...]
    pairs: tuple[PairChange, ...]  # beyond chance, strongest first; empty where none are known

    @classmethod
    def of(cls, before: Explanation, after: Explanation) -> Diff:
        """The difference; raises a `SettingError` where the two cannot be compared."""
        before, after = comparable(before, after)
        places = matched(before.players, after.players)
        words = tuple(_change(before, after, *place) for place in places)
        return cls(before, after, words, pair_changes(before, after, places))

    @property
    def change(self) -> float:
        """How far the model's score moved."""
        return self.after.target.score - self.before.target.score

    @property
    def base(self) -> float | None:
        """How far the score of the empty text moved; None where it is not known."""
        if self.before.base is None or self.after.base is None:
            return None
        return self.after.base - self.before.base

    @property
    def left(self) -> float:
        """What words and base do not account for: 0 where the scores add up."""
        return self.change - (self.base or 0.0) - math.fsum(word.change for word in self.words)

    @property
    def adds_up(self) -> bool:
        """Whether base and words account for the whole change."""
        return self.base is not None and score(self.before.primary).adds_up

    @cached_property
    def decisions(self) -> tuple[str | None, str | None]:
        """What the model chose before and after; None where a number is predicted."""
        return decided(self.before), decided(self.after)

    @property
    def turned(self) -> bool:
        """Whether the decision is another."""
        before, after = self.decisions
        return before != after and None not in (before, after)

    @property
    def of_models(self) -> bool:
        """Whether it is one text under two models, rather than two texts."""
        return self.before.text == self.after.text

    def top(self, n: int = 10) -> list[WordChange]:
        """The `n` places with the largest change, largest first."""
        order = sorted(self.words, key=lambda word: -abs(word.change))
        return order[: whole_number("n", n, 0)]

    def error_of(self, words: Sequence[WordChange]) -> float | None:
        """A bound on the standard error of the words' changes together; None where none is known.

        Within one explanation errors are added, and the two explanations are independent.
        """
        sides = [
            _worth(explanation, [player for word in words for player in getattr(word, side)])[1]
            for side, explanation in (("before", self.before), ("after", self.after))
        ]
        known = [error for error in sides if error is not None]
        return math.hypot(*known) if len(known) == len(sides) else None

    def text_of(self, word: WordChange) -> tuple[str, str]:
        """What stands there before and after, as it is written."""
        return _written(self.before, word.before), _written(self.after, word.after)

    @property
    def headline(self) -> str:
        """What changed and why, in one sentence."""
        from piste.render.diff_words import headline

        return headline(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "decisions": list(self.decisions),
            "change": self.change,
            "base": self.base,
            "left": self.left,
            "words": [
                asdict(word) | {"change": word.change, "text": list(self.text_of(word))}
                for word in self.words
            ],
            "pairs": [asdict(pair) | {"change": pair.change} for pair in self.pairs],
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """One row a place: what stands there, its score before and after, the change, its error."""
        from piste.result.exports import data_frame

        texts = [self.text_of(word) for word in self.words]
        return data_frame(
            {
                "kind": [word.kind for word in self.words],
                "before": [text for text, _ in texts],
                "after": [text for _, text in texts],
                "score_before": [word.score_before for word in self.words],
                "score_after": [word.score_after for word in self.words],
                "change": [word.change for word in self.words],
                "error": [word.error for word in self.words],
            }
        )

    # As with an Explanation, the pictures are loaded only when asked for.
    def _page(self) -> str:
        from piste.render.diff_html import page

        return page(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure, also written to `path` (.png, .svg or .pdf) when given."""
        from piste.render.diff_figure import draw

        return draw(self, path)

    def _repr_html_(self) -> str:
        from piste.render.diff_html import fragment

        return fragment(self)

    def __repr__(self) -> str:
        return f"<Diff: {self.headline}>"

    def __str__(self) -> str:
        from piste.render.diff_terminal import as_text

        return as_text(self)


def _change(
    before: Explanation, after: Explanation, kind: str, old: Sequence[int], new: Sequence[int]
) -> WordChange:
    was, was_error = _worth(before, old)
    now, now_error = _worth(after, new)
    errors = (was_error, now_error)
    known = [error for error in errors if error is not None]
    error = math.hypot(*known) if len(known) == len(errors) else None
    return WordChange(kind, tuple(old), tuple(new), was, now, error)


def _worth(explanation: Explanation, players: Sequence[int]) -> tuple[float, float | None]:
    """The players' scores together, and a bound on the standard error of the sum.

    Errors within one explanation go together in ways that it does not tell: they are added.
    """
    name, chosen = explanation.primary, list(players)
    worth = math.fsum(explanation.scores[name][chosen].tolist())
    if not chosen:
        return 0.0, 0.0
    if name not in explanation.errors:
        return worth, None
    return worth, math.fsum(explanation.errors[name][chosen].tolist())


def _written(explanation: Explanation, players: Iterable[int]) -> str:
    """The text from the first of the players to the last."""
    some = [explanation.players[index] for index in players]
    if not some:
        return ""
    return explanation.text[some[0].start : some[-1].end]
