"""Summarise a run or a lexicon by words: mean scores, changes of sign, wrong predictions, and
which words act together.

Values are told towards one label, the last of two that exclude each other; of others every word is
told for each label (or contrast of two) that it was explained towards.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from piste.errors import FileError
from piste.files import as_path
from piste.lexicon import Lexicon
from piste.result.basics import mirrored
from piste.result.exports import data_frame
from piste.result.written import AsJson, AsPage
from piste.runs.class_summary import ClassCounts, Mistakes
from piste.runs.pair_summary import Joiner, WordPair
from piste.runs.word_tally import FEW_TEXTS, ONE_SIDED, Word

if TYPE_CHECKING:
    import pandas

STRONG = 0.5  # of the strongest pair: weaker ones with a punctuation mark are left out
FEW_LISTED = 3  # texts among whose strongest a pair is: one or two may be chance
FEW_PAIRS = 5  # that are listed in texts enough: where there are fewer, others are shown too
UNRELATED = 0.2  # of the labels' share: a word that surely lifts it by less is unrelated
HEAVY = 0.5  # importance above the average
FELT = 0.1  # of the strongest word's effect: what is named spurious, or on both sides, does as much
SPURIOUS_TEXTS = 20  # labelled texts that a candidate for a spurious word is in, at least
LISTED, LISTED_PAIRS = 1500, 500  # rows that have example texts


@dataclass(frozen=True)
class Summary(AsJson, AsPage):
    """The words of a run or a lexicon, strongest first."""

    source: str
    model: str
    labels: tuple[str, ...]
    texts: int
    failed: int
    right: float | None  # share of the labelled texts that the model predicts as labelled
    strange: tuple[str, ...]  # labels of the data that the model does not know
    ended: bool  # False: the run was stopped, and there will be more texts
    words: list[Word] = field(repr=False)
    pairs: list[WordPair] = field(default_factory=list, repr=False)
    joiners: list[Joiner] = field(default_factory=list, repr=False)
    classes: list[ClassCounts] = field(default_factory=list, repr=False)
    mistakes: list[Mistakes] = field(default_factory=list, repr=False)
    outputs: str | None = None  # of the model: "classes", "labels", "raw"; None: not known
    sides: dict[str, str] = field(default_factory=dict, repr=False)  # what words are told for, and
    # the label that it is: of "NUM rather than LOC", NUM

    @property
    def mirrored(self) -> bool:
        """Whether what speaks against one label speaks for the other."""
        return mirrored(self.labels, self.outputs)

    @property
    def side(self) -> str | None:
        """The label (or contrast) towards which all scores are told; None where that differs."""
        if len(self.labels) < 2 or self.mirrored:
            return self.labels[-1] if self.labels else None
        told = {word.label for word in self.words}
        return told.pop() if len(told) == 1 else None

    @property
    def least(self) -> int:
        """In how many texts a word must be for its means to say something.

        A tenth of a small run's, a few of a large one's.
        """
        return min(FEW_TEXTS, max(1, self.texts // 10))

    @property
    def least_listed(self) -> int:
        """Among the strongest pairs of how many texts a pair must be."""
        return min(FEW_LISTED, self.least)

    @property
    def felt(self) -> float:
        """The least effect that is worth a remark: a tenth of the strongest word's."""
        return FELT * max((abs(word.strength) for word in self.words), default=0.0)

    @property
    def checked(self) -> int:
        """Texts whose prediction can be compared with their label: `right` is a share of these."""
        return sum(one.checked for one in self.classes)

    def listed(self, most: int = LISTED) -> list[Word]:
        """The words for tables: those that stand out in some way, then the strongest."""
        notable = (self.spurious(), self.spoiling(), self.turning())
        chosen = [word for words in notable for word in words[: most // 5]]
        by_id = {id(word): word for word in [*chosen, *self.strongest()]}
        return sorted(list(by_id.values())[:most], key=lambda word: -abs(word.strength))

    def strongest(self, label: str | None = None, least: int | None = None) -> list[Word]:
        """Words by the size of their mean effect (or lin).

        least: texts that hold the word, at least. None: as in the printed summary, a tenth of all
        texts, at most 5; 1: all words.
        """
        least = self.least if least is None else least
        chosen = [w for w in self.words if w.texts >= least and label in (None, w.label)]
        return sorted(chosen, key=lambda word: -abs(word.strength))

    def together(self, least: int | None = None) -> list[WordPair]:
        """Pairs of words that surely act together, those that do most in all texts first.

        Punctuation is left out, unless the pair does half of what the strongest does.

        least: texts among whose strongest the pair is, at least. None: as in the printed summary,
        a tenth of all texts, at most 3; 1: all pairs.
        """
        least = self.least_listed if least is None else least
        sure = [pair for pair in self.pairs if pair.is_sure]
        strong = STRONG * max((abs(pair.effect) for pair in sure), default=0.0)
        read = [pair for pair in sure if pair.is_of_words or abs(pair.effect) >= strong]
        return [pair for pair in read if pair.listed >= least]

    def paired(self) -> list[WordPair]:
        """The pairs for tables: those of texts enough; where they are few, the strongest others."""
        often = self.together()
        rare = [pair for pair in self.together(1) if pair.listed < self.least_listed]
        return often + rare[: max(0, FEW_PAIRS - len(often))]

    def acting(self, least: int | None = None) -> list[Joiner]:
        """Words that surely act with others, whichever, those that do most in all texts first.

        least: texts in which they do, at least. None: as for pairs.
        """
        least = self.least_listed if least is None else least
        return [joiner for joiner in self.joiners if joiner.texts >= least]

    def mean_effect(self, word: str, label: str) -> tuple[float, float] | None:
        """Mean effect of a word in any capitals, and its standard error; None where it has none."""
        spelt = [
            (one.occurrences, one.effect, one.effect_error or 0.0)
            for one in self._spelt.get((word.lower(), label), ())
            if one.effect is not None
        ]
        if not spelt:
            return None
        counts, effects, errors = np.array(spelt).T
        shares = counts / counts.sum()
        return float(shares @ effects), float(np.sqrt(shares**2 @ errors**2))

    @cached_property
    def _spelt(self) -> dict[tuple[str, str], list[Word]]:
        """The words by their small letters, as pairs name them."""
        spelt: dict[tuple[str, str], list[Word]] = {}
        for word in self.words:
            spelt.setdefault((word.word.lower(), word.label), []).append(word)
        return spelt

    def turning(self) -> list[Word]:
        """Words whose scores surely change sign between texts, the most even first.

        On both sides they do a tenth of what the strongest word does, at least.
        """
        least = self.felt
        turning = [
            word
            for word in self.words
            if word.turns and (word.lesser is None or word.lesser >= least)
        ]
        return sorted(turning, key=lambda word: (-word.flips, -word.sided))

    def spoiling(self) -> list[Word]:
        """Words that decided wrong predictions, most frequent first."""
        return sorted(
            (w for w in self.words if w.wrong), key=lambda w: (-w.wrong, -abs(w.strength))
        )

    def spurious(self) -> list[Word]:
        """Heavy words on one side, in enough texts, whose labels show no such effect.

        They move the score: by a tenth of what the strongest word does, at least.
        """
        least = self.felt
        spurious = [w for w in self.words if abs(w.strength) >= least and _is_spurious(w)]
        return sorted(spurious, key=lambda word: -abs(word.strength))

    def to_pandas(self) -> pandas.DataFrame:
        """One row a word, strongest first."""
        rows = [vars(word) for word in self.strongest(least=1)]
        names = [name for name in Word.__annotations__ if name != "examples"]
        return data_frame({name: [row[name] for row in rows] for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)

    # As with an Explanation, text and pictures are loaded only when asked for.
    def _page(self) -> str:
        from piste.render.corpus_html import page

        return page(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure, also written to `path` (.png, .svg or .pdf) when given."""
        from piste.render.corpus import draw

        return draw(self, path)

    def __str__(self) -> str:
        from piste.render.corpus import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from piste.render.corpus_html import fragment

        return fragment(self)


def _is_spurious(word: Word) -> bool:
    if word.lift is None or word.lift_error is None or word.importance < HEAVY:
        return False
    if word.labelled < SPURIOUS_TEXTS:
        return False
    most = float(np.sign(word.strength)) * word.lift + ONE_SIDED * word.lift_error
    return word.is_sure and most < UNRELATED


def summarise(source: str | os.PathLike[str]) -> Summary:
    """The words of a run or of a lexicon: what each is worth, where it turns, what it spoils.

    source: a folder of `run`, or a lexicon's file.
    """
    path = as_path(source)
    if not path.exists():
        raise FileError(
            f"There is no file or folder {str(source)[:200]!r}.",
            "Give a folder that `piste run` wrote, or a lexicon's file.",
        )
    if path.is_dir():
        from piste.runs.run_summary import summarise_run  # it makes what this module defines

        return summarise_run(path)
    return _of_lexicon(Lexicon.load(path), str(source))


def _of_lexicon(lexicon: Lexicon, source: str) -> Summary:
    labels = lexicon.labels
    told = [labels[-1]] if lexicon.values.shape[1] == 1 and labels else list(labels)
    weights = np.exp(lexicon.importances)[:, None]
    alone, share = lexicon.values, np.ones_like(weights)
    if lexicon.frame is not None:  # what the model would say of the word alone
        alone = (weights * lexicon.values + lexicon.frame) / (weights + 1)
        share = weights / (weights + 1)
    level = lexicon.importances - lexicon.importances.mean()
    words = [
        Word(
            word=lexicon.words[index],
            label=label,
            occurrences=int(lexicon.counts[index]),
            texts=int(lexicon.counts[index]),
            value=float(alone[index, column]),
            importance=float(level[index]),
            lin=float(alone[index, column] * np.exp(level[index])),
            value_error=float(share[index, 0] * lexicon.value_errors[index, column]),
            importance_error=float(lexicon.importance_errors[index]),
        )
        for column, label in enumerate(told)
        for index in range(len(lexicon))
    ]
    texts = int(lexicon.facts.get("texts", 0))
    outputs = lexicon.fingerprint.get("outputs")
    return Summary(source, lexicon.model, labels, texts, 0, None, (), True, words, outputs=outputs)
