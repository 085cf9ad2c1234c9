"""The result of the pipeline: who the players are, what they score, and how far to trust it."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from piste.arrays import BoolArray, FloatArray
from piste.errors import FileError, SettingError, printable, several
from piste.files import as_path
from piste.options import WORDS_SHOWN, whole_number
from piste.result.basics import Player, Row, Target, read_as
from piste.result.facts import Cost, Fidelity, FitReport, Record, Stopped
from piste.result.format import jsonable
from piste.result.formula import Formula
from piste.result.parts import Pair, PartAnswers, PlayerSet, Prediction, unknown_parts
from piste.result.scores import Errors, Scores, score
from piste.result.written import AsJson, AsPage

if TYPE_CHECKING:
    import pandas

    from piste.surrogates.parts import PartSurrogate

__all__ = ["Explanation", "Player", "Row", "Target"]
SCHEMA = 2
MANY_PAIRS = 50
ROUNDING = 1e-9  # of the strongest effect: an interaction that is smaller is none


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(AsJson, AsPage):
    """Scores for every player of one text, towards one target.

    `scores[name][i]` belongs to `players[i]`; positive speaks for `target.label`, except for
    importances, which are weights. `primary` names the score that ranks players and colours text.
    `errors` holds the scores' standard errors, in the same form; it is empty for methods without.
    """

    text: str
    players: tuple[Player, ...]
    scores: dict[str, FloatArray]
    primary: str
    target: Target
    cost: Cost
    method: str
    settings: dict[str, Any]
    unit: str
    repeats: str
    seed: int
    budget: int | None
    model: str
    backend: str
    versions: dict[str, str]
    errors: dict[str, FloatArray] = field(default_factory=dict)
    fidelity: Fidelity | None = None
    fit: FitReport | None = None
    surrogate_score: float | None = None  # what the surrogate says of the whole text
    frame_share: float | None = None  # of the surrogate's attention, on special tokens
    tolerance: float | None = None  # as asked for; the one that held is in `stopped`
    stopped: Stopped | None = None  # None where the method does not sample in rounds
    formula: Formula | None = None  # SLALOM itself, where it was fitted
    parts: PartAnswers | None = None  # what was asked about parts of the text, and fitted to it
    base: float | None = None  # the model's score of the empty text, where it was asked
    flip: PlayerSet | None = None  # the fewest players found whose removal turns the decision
    core: PlayerSet | None = None  # the fewest found that keep the decision by themselves
    second: int | None = None  # where in `text` the second text of a pair begins
    notes: tuple[str, ...] = field(default=())
    record: Record | None = None  # when, by which model and with which options; None in old files

    def __post_init__(self) -> None:
        """Names that do not exist get an answer, and sets of players their words."""
        words = [player.text for player in self.players]
        own: dict[str, Any] = {"scores": Scores(self.scores), "errors": Errors(self.errors)}
        for name in ("flip", "core"):
            some: PlayerSet | None = getattr(self, name)
            own[name] = some and some.told([words[index] for index in some.players])
        for name, value in own.items():
            object.__setattr__(self, name, value)

    @property
    def headline(self) -> str:
        """The answer in a sentence: what was decided, because of which words, what turns it."""
        from piste.render.answer import sentence

        return sentence(self)

    def top(self, n: int = WORDS_SHOWN, by: str | None = None) -> list[Row]:
        """The `n` players with the strongest score (absolute value), strongest first.

        Equal players are one row: their scores are summed where they add up, and else those of the
        strongest, unless the method scores their places apart. Errors of what is summed are summed
        too: the bound that holds however the errors of equal players go together.
        """
        name = by or self.primary
        n = whole_number("n", n, 0)
        rows = [self._row(members) for members in self._together(name)]
        rows.sort(key=lambda row: -abs(row.scores[name]))
        return rows[:n]

    def _together(self, name: str) -> list[list[int]]:
        """Which players stand in one row of `top`, the strongest of them first."""
        members: dict[int, list[int]] = {}
        for index in np.argsort(-np.abs(self.scores[name]), kind="stable").tolist():
            members.setdefault(self.players[index].group, []).append(index)
        rows = []
        for indices in members.values():
            values = self.scores[name][indices]
            same = np.ptp(values) <= 1e-9 * np.abs(self.scores[name]).max()
            summed = "effect" in self.scores  # of places, which add up
            rows += [indices] if same or summed else [[index] for index in indices]
        return rows

    def _row(self, members: list[int]) -> Row:
        def told(name: str, values: FloatArray) -> float:
            summed = "effect" in self.scores and score(name).adds_up
            return float(values[members].sum() if summed else values[members[0]])

        texts = list(dict.fromkeys(self.players[index].text for index in sorted(members)))
        return Row(
            self.players[members[0]],
            len(members),
            {name: told(name, values) for name, values in self.scores.items()},
            {name: told(name, values) for name, values in self.errors.items()},
            tuple(texts) if len({text.casefold() for text in texts}) > 1 else (),
        )

    def predict(self, kept: Iterable[int]) -> Prediction:
        """The target's score of the text with only these players (indices), as predicted.

        Of a part that was asked it is the model's own answer, with an error of 0.
        """
        part = self._part(kept, "kept")
        if self._surrogate is not None:
            score, error = self._surrogate.predict(part)[0, 0], self._surrogate.errors(part)[0, 0]
            return Prediction(float(score), float(error))
        if self.formula is not None:
            return Prediction(float(self.formula.scores(part)[0]), None)
        raise unknown_parts("what the model says of parts of the text", self.method, self.settings)

    def pairs(self, n: int = 10) -> list[Pair]:
        """The `n` pairs of players that act together most strongly, strongest first.

        Raises a `SettingError` where too little was asked to tell them, as with effort="quick" for
        a text of more than 40 words.
        """
        n = whole_number("n", n, 0)
        if self.parts is None:
            raise unknown_parts("which words act together", self.method, self.settings)
        if len(self.players) < 2:
            return []  # a single word has no other
        if not self.parts.tells_pairs:
            raise SettingError(
                "Too little was asked of the model to tell which words act together.",
                'Use effort="normal", or a larger budget.',
            )
        return self._strongest[:n] if n <= MANY_PAIRS else self._pairs(n)

    @cached_property
    def _strongest(self) -> list[Pair]:
        """As many pairs as renderings want; they ask several times."""
        return self._pairs(MANY_PAIRS)

    def _pairs(self, n: int) -> list[Pair]:
        if self._surrogate is None:
            return []
        places, effects, errors = self._surrogate.strongest_pairs(n)
        largest = np.abs([*self.scores[self.primary], *effects[:1]]).max(initial=0.0)
        effects = np.where(np.abs(effects) > ROUNDING * largest, effects, 0.0)
        found = zip(places.tolist(), effects.tolist(), errors.tolist(), strict=True)
        pairs = [Pair(first, second, effect, error) for (first, second), effect, error in found]
        return [
            pair.told([self.players[index].text for index in (pair.first, pair.second)])
            for pair in pairs
        ]

    @cached_property
    def _surrogate(self) -> PartSurrogate | None:
        """The surrogate, from what was kept of it."""
        if self.parts is None:
            return None
        from piste.surrogates.parts import PartSurrogate  # lies to the right of this room

        groups = np.array([player.group for player in self.players], dtype=np.int64)
        return PartSurrogate.of(self.parts, self.formula, groups, read_as(self.players))

    def _part(self, players: Iterable[int], name: str) -> BoolArray:
        """A mask [1, players] of these players, after checks."""
        if isinstance(players, str) or not isinstance(players, Iterable):
            raise SettingError(f"{name} is {players!r}.", "Give indices of players: [3], [1, 2].")
        indices = sorted({whole_number("a player's index", index, 0) for index in players})
        if indices and indices[-1] >= len(self.players):
            raise SettingError(
                f"There is no player {indices[-1]}.", f"The last is {len(self.players) - 1}."
            )
        part = np.zeros((1, len(self.players)), dtype=bool)
        part[0, indices] = True
        return part

    def change(self, removed: Sequence[int]) -> float:
        """How far the target's score falls without these players, as the explanation predicts it.

        By the surrogate where there is one, else the sum of the players' own scores: those named
        `removal`, or the primary ones.
        """
        gone = self._part(removed, "removed")
        if self._surrogate is not None:
            whole, rest = self._surrogate.predict(np.vstack([gone | True, ~gone]))[:, 0]
            return float(whole - rest)
        if self.formula is not None:
            return self.formula.change(np.flatnonzero(gone[0]).tolist())
        own = "removal" if "removal" in self.scores else self.primary
        if not score(own).predicts:
            raise SettingError(
                f"The scores of {self.method} order {self.unit}s, and predict no change.",
                "Use context, slalom, lime, kernel-shap or occlusion.",
            )
        return float(self.scores[own][gone[0]].sum())

    @property
    def elsewhere(self) -> bool:
        """Whether another library made the scores: what that cost is not in `cost`."""
        return "adapted" in self.settings

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; `from_dict` gives the same explanation back."""
        data = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        plain: dict[str, Any] = json.loads(json.dumps(data, default=jsonable, allow_nan=False))
        return {"schema": SCHEMA, **plain}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Explanation:
        """The inverse of `to_dict`. Raises a `FileError` on anything that is not an explanation."""
        from piste.result.from_json import explanation_from_dict  # long, and most never read

        return explanation_from_dict(data)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Explanation:
        """Read what `to_json` wrote."""
        try:
            data = json.loads(as_path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise FileError(
                f"Cannot read {str(path)[:200]}: {error.strerror}.",
                "Check the path. (In Python, JSON that is text already is read by from_dict.)",
            ) from error
        except (ValueError, RecursionError) as error:
            raise FileError(
                f"{path} is not JSON: {error}.", "Give a file written by to_json()."
            ) from error
        return cls.from_dict(data)

    # Other libraries' forms, and the pictures of `render`, lie to the right of this room: they are
    # loaded only when asked for.
    def to_pandas(self) -> pandas.DataFrame:
        """A data frame, one row a player in reading order.

        Of any method: `word` (the player's text), `start`, `end`, `group`, `segment`, `score` (the
        one that ranks) and `score_error`. Then each of its scores by name, with `name_error`; NaN
        where the method knows none. So the primary score is there twice: of context, `score` and
        `effect` are the same. It is the player's score, not the model's, which is `target.score`.
        """
        from piste.result.exports import to_pandas

        return to_pandas(self)

    def to_shap(self, score: str | None = None) -> Any:
        """A `shap.Explanation` for shap's text plot.

        By default of the scores that add up, `effect`, `shapley` or `removal`, else of the primary
        ones. The base value is the score of the empty text for effects, and else what the scores
        leave of the model's score.
        """
        from piste.result.exports import to_shap

        return to_shap(self, score)

    def token_scores(
        self, tokenizer: Any, score: str | None = None, spread: str = "split", **options: Any
    ) -> FloatArray:
        """One score for every token that a tokenizer makes of this text [tokens].

        tokenizer: any, of transformers or the library tokenizers; or the name or folder of a model,
        whose tokenizer is loaded: that of this explanation's model is `explanation.model` by name.
        score: a name of `scores`; None: the primary one.
        spread: "split" divides a player's score equally among its tokens, so that sums stay the
        same; "repeat" gives each of them the whole score. A token over two players has its shares
        of both, or the score of the one that it covers more of.
        options: for the tokenizer, as you call it: truncation=True, max_length=128.

        Special tokens and padding get 0; words that are cut off give no token their score. Tokens
        and players are matched by the characters that they cover; a slow tokenizer has no offsets,
        and its tokens are looked for in the text.

            scores = explanation.token_scores(tokenizer)
            assert len(scores) == len(tokenizer(explanation.text)["input_ids"])
        """
        from piste.text.token_scores import token_scores

        if isinstance(tokenizer, str | os.PathLike):
            from piste.models.backends.pretrained import named_tokenizer

            tokenizer = named_tokenizer(tokenizer)
        return token_scores(self, tokenizer, score or self.primary, spread, options)

    def _page(self) -> str:
        from piste.render.html import page

        return page(self)

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "waterfall") -> Any:
        """A figure ("waterfall" or "plane"), also written to `path` (.png, .svg, .pdf) if given."""
        from piste.render.figure import draw

        return draw(self, path, kind)

    def _repr_html_(self) -> str:
        from piste.render.html import fragment

        return fragment(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explanation) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def __repr__(self) -> str:
        what = f"{self.target.title!r}, {self.target.scale} {self.target.score:+.2f}"
        return printable(
            f"<Explanation of {what}: {several(len(self.players), self.unit)}, {self.method}>"
        )

    def __str__(self) -> str:
        from piste.render.terminal import as_text

        return as_text(self)
