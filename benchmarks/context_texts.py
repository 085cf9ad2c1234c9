"""What benchmarks/context.py explains: models, and the texts of each section."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path

import input_kinds
import numpy as np

import piste
from piste.arrays import BoolArray, FloatArray, Ragged
from piste.data import Example, read_examples
from piste.decision import Decision
from piste.files import cache_directory
from piste.models.protocol import Classifier

YELP_SENTENCES = (
    "The food was not good at all, but the waiter was very friendly and the room was clean.",
    "I have never had a bad meal here, the staff are kind and the prices are fair.",
    "Nothing about this place was great. The soup was cold and the service lacked any charm.",
    "I expected to hate it, but I could not stop laughing and I would go again.",
    "It is hard to believe that such a lovely building houses such a terrible kitchen.",
)
TREC_SENTENCES = (
    "How many people live in the city where Mozart was born ?",
    "What does the abbreviation NASA stand for ?",
    "Who was the first man on the moon ?",
    "How far is it from Denver to Aspen ?",
    "What county is Modesto , California in ?",
)


@dataclass(frozen=True, eq=False)
class Subject:
    """One text in front of one model; its decision remembers every answer."""

    example: Example
    classifier: Classifier

    @cached_property
    def decision(self) -> Decision:
        return Decision.on(self.example.text, self.classifier, pair=self.example.pair)

    def explain(self, method: str | piste.Method = "context", **more: object) -> piste.Explanation:
        return piste.explain(
            self.example.text, self.classifier, method, pair=self.example.pair, **more
        )

    def answers(self, parts: BoolArray) -> FloatArray:
        """The model's own scores of parts [parts]."""
        return self.decision.margins(Ragged.masked(parts))

    @property
    def players(self) -> int:
        return len(self.decision.players)

    @property
    def tokens(self) -> int:
        """Of the whole text, special tokens included."""
        players = self.decision.players
        return int(players.ids.lengths.sum()) + players.frame.size

    def passes(self, explanation: piste.Explanation) -> float:
        """The cost, in forward passes of the whole text."""
        return explanation.cost.tokens / self.tokens


@dataclass(frozen=True)
class Source:
    """Texts of a file that a model is asked about: the first that fit."""

    model: str
    file: str
    count: int
    words: tuple[int, int] = (0, 10**6)  # of both texts of a pair, separated by spaces
    fits: Callable[[Subject], bool] = lambda subject: True

    def subjects(self, data: Path, count: int | None) -> Iterator[Subject]:
        """So many texts, or the usual number."""
        least, most = self.words
        classifier = model(self.model, data)
        examples = read_examples(data / self.file)
        right = (one for one in examples if least <= _words(one) <= most)
        fitting = filter(self.fits, (Subject(one, classifier) for one in right))
        return islice(fitting, self.count if count is None else count)


def _words(example: Example) -> int:
    return len(f"{example.text} {example.pair or ''}".split())


def _few_distinct(subject: Subject) -> bool:
    """Short enough to ask about every part, and no word twice: some methods score words."""
    return 8 <= subject.players <= 10 and len(subject.decision.players.first) == subject.players


def _agrees(subject: Subject) -> bool:
    """Whether the model says what people have given their reasons for."""
    return subject.decision.target.index == subject.example.label


SOURCES = {
    "trec": Source("trec", "trec/test.jsonl.gz", 16, (7, 14)),
    "yelp": Source("yelp", "yelp/test.jsonl.gz", 10, (70, 100)),
    "snli": Source("snli", "snli/test.jsonl.gz", 12, (20, 27)),
    "sst": Source("sst", "sst/test.jsonl.gz", 12, (12, 30)),
    "imdb": Source("yelp", "imdb/test.jsonl.gz", 8, (210, 310)),
    "questions": Source("trec", "trec/test.jsonl.gz", 40),
    "short": Source("trec", "trec/test.jsonl.gz", 16, fits=_few_distinct),
    "people-sst": Source("yelp", "rationales/sst.jsonl.gz", 40, fits=_agrees),
    "people-dynasent": Source("yelp", "rationales/dynasent.jsonl.gz", 40, fits=_agrees),
    "people-yelp": Source("yelp", "yelp_hat/hat.jsonl.gz", 20, (30, 60), fits=_agrees),
    "hundred": Source("yelp", "yelp/test.jsonl.gz", 5, (95, 105)),
    "curve-trec": Source("trec", "trec/test.jsonl.gz", 6, (7, 14)),
    "curve-yelp": Source("yelp", "yelp/test.jsonl.gz", 4, (70, 100)),
}


def sentences(data: Path, count: int | None) -> Iterator[Subject]:
    """The ten sentences with negation, contrast and questions, of both models in turn."""
    for index, pair in enumerate(zip(YELP_SENTENCES, TREC_SENTENCES, strict=True)):
        for name, text in zip(("yelp", "trec"), pair, strict=True):
            if count is None or index < (count + 1) // 2:
                yield Subject(Example(f"{name} {index}", text), model(name, data))


class Planted:
    """A function of texts that is exactly a SLALOM: no word acts with another."""

    def __init__(self, seed: int, words: int = 30) -> None:
        rng = np.random.default_rng(seed)
        self.words = [f"w{index}" for index in range(words)]
        self.values = dict(zip(self.words, rng.normal(size=words), strict=True))
        self.importances = dict(zip(self.words, rng.normal(size=words), strict=True))

    def __call__(self, texts: list[str]) -> FloatArray:
        return np.array([self.score(text.split()) for text in texts])

    def score(self, words: list[str]) -> float:
        weights = np.exp([self.importances[word] for word in words])
        return float(weights @ [self.values[word] for word in words] / weights.sum())


def planted(_: Path, count: int | None) -> Iterator[Subject]:
    for seed in range(count or 3):
        game = Planted(seed)
        yield Subject(Example(str(seed), " ".join(game.words)), piste.from_function(game))


@cache
def model(name: str, data: Path) -> Classifier:
    """The fine-tuned MiniLM, trained where it is not in the cache yet."""
    if name != "yelp":
        return piste.load(str(input_kinds.trained(input_kinds.TASKS[name], data)))
    folder = cache_directory() / "minilm-yelp"
    if not (folder / "model.safetensors").exists():
        script = Path(__file__).with_name("train_minilm.py")
        subprocess.run([sys.executable, script, data / "yelp" / "train.jsonl.gz"], check=True)
    return piste.load(str(folder))
