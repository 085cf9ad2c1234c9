"""Words that act together over the texts of a run: which pairs, how often, how strongly.

A run keeps the strongest pairs of each text only. A mean over the texts in which a pair is among
them would be that of its strongest cases: the mean here is over all texts that hold both words,
and where the pair is not among the strongest it counts as 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from piste.result.parts import has_letters, is_sure
from piste.runs.excerpts import Excerpt, Place

EXAMPLES = 3
PARTNERS = 5  # of a word that acts with others
Key = tuple[str, str, str]  # first word, second word, both in small letters, and label


@dataclass
class WordPair:
    """Two words, in the order of the text, and what they do together (towards one label).

    Texts may differ in capitals: the words are spelt as in most of them.

    `effect` is the mean over all `texts` with both words, `error` its standard error over these;
    `listed_effect` that of the `listed` texts in which the two are among the strongest pairs.
    """

    first: str
    second: str
    label: str
    texts: int
    listed: int
    effect: float
    error: float
    listed_effect: float
    examples: list[Excerpt] = field(default_factory=list, repr=False)

    @property
    def is_sure(self) -> bool:
        return is_sure(self.effect, self.error)

    @property
    def is_of_words(self) -> bool:
        """Whether neither is a punctuation mark."""
        return has_letters(self.first) and has_letters(self.second)

    @property
    def strength(self) -> float:
        """What they do together in all texts: what is frequent counts more than what is rare."""
        return self.texts * abs(self.effect)


@dataclass
class Joiner:
    """A word that surely acts with others: in how many texts, how strongly, and with which.

    A run of a few hundred texts seldom has a pair twice, and yet *not* acts with some word in many.
    """

    word: str
    label: str
    texts: int  # in which one of the strongest pairs is surely the word's
    size: float  # of its strongest interaction in these, whichever way: the mean
    partners: list[tuple[str, int]]  # words, and in how many of the texts; the commonest first

    @property
    def strength(self) -> float:
        return self.texts * self.size


@dataclass(frozen=True)
class _Listed:
    """A pair among the strongest of a text, as it is spelt there."""

    words: tuple[str, str]
    effect: float
    variance: float
    place: Place

    @property
    def is_sure(self) -> bool:
        return is_sure(self.effect, float(np.sqrt(self.variance)))


@dataclass
class _Joined:
    """What one word does together with others."""

    spelt: Counter[str] = field(default_factory=Counter)
    partners: Counter[str] = field(default_factory=Counter)
    sizes: dict[int, float] = field(default_factory=dict)  # by text

    def add(self, listed: _Listed, mine: int) -> None:
        text = listed.place.text
        self.spelt[listed.words[mine]] += 1
        self.partners[listed.words[1 - mine].lower()] += 1
        self.sizes[text] = max(self.sizes.get(text, 0.0), abs(listed.effect))

    def joiner(self, label: str) -> Joiner:
        ((word, _),) = self.spelt.most_common(1)
        size = sum(self.sizes.values()) / len(self.sizes)
        return Joiner(word, label, len(self.sizes), size, self.partners.most_common(PARTNERS))


@dataclass
class PairTally:
    """The interactions of word pairs, text by text; "Not good" and "not good" are one pair."""

    listed: dict[Key, list[_Listed]] = field(default_factory=dict)
    texts: dict[Key, int] = field(default_factory=lambda: defaultdict(int))  # with both words
    seconds: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, pairs: Sequence[Mapping[str, Any]], text: int, label: str, sign: float) -> None:
        """Add the pairs of one text; words that meet several times in it count once, by the sum."""
        of_text: dict[Key, _Listed] = {}
        for pair in pairs:
            words = (pair["first_word"], pair["second_word"])
            key = _key(*words, label)
            place = Place(text, (pair["first"], pair["second"]))
            before = of_text.get(key, _Listed(words, 0.0, 0.0, place))
            of_text[key] = _Listed(
                before.words,
                before.effect + sign * pair["effect"],
                before.variance + pair["error"] ** 2,
                before.place,
            )
        for key, listed in of_text.items():
            if key not in self.listed:
                self.seconds[key[0], label].append(key[1])
            self.listed.setdefault(key, []).append(listed)

    def meet(self, words: Sequence[str], label: str) -> None:
        """Count a text whose pairs are known for all pairs of its words; after the last `add`."""
        small = [word.lower() for word in words]
        last = {word: place for place, word in enumerate(small)}
        seen: set[str] = set()
        for place, word in enumerate(small):
            if word in seen:
                continue
            seen.add(word)
            for second in self.seconds.get((word, label), ()):
                if last.get(second, -1) > place:
                    self.texts[word, second, label] += 1

    def pairs(self) -> list[WordPair]:
        """All pairs, those that do most together first."""
        pairs = [_mean(key, told, self.texts.get(key, 0)) for key, told in self.listed.items()]
        return sorted(pairs, key=lambda pair: -pair.strength)

    def joiners(self) -> list[Joiner]:
        """Every word that surely acts with another one in a text, those that do most first."""
        tallies: dict[tuple[str, str], _Joined] = defaultdict(_Joined)
        for (first, second, label), listed in self.listed.items():
            told = [one for one in listed if one.is_sure and all(map(has_letters, one.words))]
            for small, mine in {first: 0, second: 1}.items():
                for one in told:
                    tallies[small, label].add(one, mine)
        joiners = [joined.joiner(label) for (_, label), joined in tallies.items() if joined.sizes]
        return sorted(joiners, key=lambda joiner: -joiner.strength)

    def places(self, pair: WordPair) -> list[Place]:
        """Texts in which the two do most together."""
        listed = self.listed[_key(pair.first, pair.second, pair.label)]
        strongest = sorted(listed, key=lambda one: -abs(one.effect))
        return [one.place for one in strongest[:EXAMPLES]]


def _key(first: str, second: str, label: str) -> Key:
    return first.lower(), second.lower(), label


def _mean(key: Key, listed: Sequence[_Listed], texts: int) -> WordPair:
    texts = max(texts, len(listed))
    effects = np.zeros(texts)
    effects[: len(listed)] = [one.effect for one in listed]
    # Texts differ by at least as much as each is known: of one or two texts their spread says
    # little, and the errors of the fits stand in.
    between = float(np.var(effects, ddof=1)) if texts > 1 else 0.0
    within = float(np.mean([one.variance for one in listed]))
    error = float(np.sqrt(max(between, within) / texts))
    mean = float(effects.mean())
    ((words, _),) = Counter(one.words for one in listed).most_common(1)
    where_listed = mean * texts / len(listed)
    return WordPair(*words, key[2], texts, len(listed), mean, error, where_listed)
