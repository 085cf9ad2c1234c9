"""The tools behind the protocol: explanations of recent texts, and what is asked about them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from piste.arrays import Ragged
from piste.compare import SEVEN, Comparison, compare
from piste.decision import Decision
from piste.errors import InputError, SettingError, choices, few
from piste.explain import explain
from piste.models.protocol import Classifier
from piste.options import Options
from piste.progress import Progress
from piste.result.explanation import Explanation

KEPT = 64  # explanations: tools are asked about one text several times
Load = Callable[[], Classifier]


@dataclass(frozen=True)
class Question:
    """A text in front of a model, and how it is explained."""

    text: str
    pair: str | None = None
    target: str | None = None
    against: str | None = None
    effort: str | None = None
    model: str | None = None

    def options(self, classifier: Classifier) -> Options:
        """How it is explained; "all" is a label where the model has one of that name."""
        options = Options.of(target=self.target, against=self.against, effort=self.effort)
        if options.means_every_class(classifier.labels):
            raise SettingError("A tool speaks of one label.", "Name the label in target.")
        return options


@dataclass(frozen=True)
class Trial:
    """What the model says without some words."""

    score: float
    before: str  # its decision on the whole text
    after: str
    asked: int  # sequences


@dataclass
class Tools:
    """The models by name, each loaded when it is first asked, and recent explanations."""

    load: Mapping[str, Load]
    loaded: dict[str, Classifier] = field(default_factory=dict)
    recent: OrderedDict[Question, Explanation] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def classifier(self, name: str | None) -> Classifier:
        """The model of this name, or the first."""
        name = next(iter(self.load)) if name is None else name
        if name not in self.load:
            raise choices("model", name, list(self.load))
        with self.lock:
            if name not in self.loaded:
                self.loaded[name] = self.load[name]()
            return self.loaded[name]

    def explained(self, question: Question, progress: Progress | None = None) -> Explanation:
        """The explanation by `context`, from the recent ones if it is there."""
        with self.lock:
            known = self.recent.get(question)
            if known is not None:
                self.recent.move_to_end(question)  # it is asked about: others are forgotten first
                return known
        classifier = self.classifier(question.model)
        explanation = explain(
            question.text,
            classifier,
            pair=question.pair,
            progress=progress,
            **question.options(classifier).named(),
        )
        with self.lock:
            self.recent[question] = explanation
            while len(self.recent) > KEPT:
                self.recent.popitem(last=False)
        return explanation

    def answer_without(
        self, question: Question, explanation: Explanation, removed: Sequence[int]
    ) -> Trial:
        """The model's own answer without these words, beside that to the whole text."""
        classifier = self.classifier(question.model)
        decision = Decision.on(
            question.text, classifier, question.options(classifier), question.pair
        )
        players = decision.players
        kept = [index for index in range(len(players)) if index not in set(removed)]
        if not kept:
            raise SettingError("Every word is removed.", "Leave at least one to ask about.")
        logits = decision.logits(Ragged.of([list(range(len(players))), kept]))
        score = float(decision.target_scores(logits)[1])
        before, after = map(decision.said, logits)
        return Trial(score, before, after, decision.query.forwards)

    def compared(
        self,
        question: Question,
        methods: Sequence[str] | None,
        measure: bool,
        progress: Progress | None = None,
    ) -> Comparison:
        classifier = self.classifier(question.model)
        return compare(
            question.text,
            classifier,
            methods or SEVEN,
            pair=question.pair,
            measure=measure,
            progress=progress,
            **question.options(classifier).named(),
        )


def places(explanation: Explanation, words: Sequence[str | int]) -> list[int]:
    """The places of these words, every occurrence of each; a number is a place itself."""
    if not words:
        raise InputError("No word is named.", 'Give words of the text: ["superb"].')
    found: set[int] = set()
    for word in words:
        found.update(_places(explanation, word))
    return sorted(found)


def _places(explanation: Explanation, word: str | int) -> list[int]:
    players = explanation.players
    if isinstance(word, bool) or not isinstance(word, str | int):
        raise InputError(f"{word!r} is neither a word nor a number.", 'Give ["superb"] or [3].')
    if isinstance(word, int):
        if not 0 <= word < len(players):
            raise InputError(f"There is no word number {word}.", f"The last is {len(players) - 1}.")
        return [word]
    same = [i for i, player in enumerate(players) if player.text == word]
    alike = [i for i, player in enumerate(players) if player.text.casefold() == word.casefold()]
    if not (same or alike):
        names = few(list(dict.fromkeys(player.text for player in players)))
        raise InputError(f"{word!r} is not a word of the text.", f"Its words are: {names}.")
    return same or alike
