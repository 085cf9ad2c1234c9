"""Paper A, camera-ready, F.7: a model that is known by its API only.

The paper asks GPT-4. Here any OpenAI-compatible API with log-probabilities will do: a local model
is put behind one on loopback, explained through it, and once more directly. Both must agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from papers.arrays import rank_correlation
from papers.experiments.base import Context, Outcome
from papers.experiments.charts import COLOURS
from papers.experiments.loopback import LABELS, PROMPT, serving
from papers.experiments.reviews import REVIEW_SETTINGS, ReviewSettings, hat_reviews
from papers.tables import Table
from piste import Explanation, Slalom, explain, from_endpoint, load, predict
from piste.models import Classifier

SCORES = ("value", "importance", "lin")


@dataclass(frozen=True)
class EndpointSettings:
    """Which reviews are explained, and how many questions the API is asked for each."""

    reviews: ReviewSettings
    texts: int
    budget: int


SETTINGS = {
    "tiny": EndpointSettings(REVIEW_SETTINGS["tiny"], texts=1, budget=60),
    "small": EndpointSettings(REVIEW_SETTINGS["small"], texts=5, budget=300),
    "paper": EndpointSettings(REVIEW_SETTINGS["paper"], texts=100, budget=5000),
}
Pair = tuple[Explanation, Explanation]  # through the API, or with another seed; and directly


def run(context: Context, settings: EndpointSettings) -> Outcome:
    """SLALOM by API and directly, on the same reviews."""
    classifier = load()
    positive = classifier.labels.index("positive")

    def log_odds(text: str) -> float:
        return float(predict([text], classifier, "log-odds")[0, positive])

    pairs: list[Pair] = []
    seeds: list[Pair] = []
    with serving(log_odds) as url:
        remote = from_endpoint(url, LABELS, PROMPT)
        for example in hat_reviews(context, settings.reviews)[: settings.texts]:
            context.say(f"asking about review {example.id}")
            api = _explained(example.text, remote, settings, context.seed)
            direct, again = (
                _explained(example.text, classifier, settings, context.seed + more)
                for more in (0, 1)
            )
            pairs.append((api, direct))
            seeds.append((again, direct))
    return Outcome(
        (_table(pairs),),
        {"agreement": draw(pairs)},
        {
            "API": "a server on loopback in front of the model that piste embeds",
            "prompt": PROMPT.replace("\n", " / "),
            "method": "slalom, piste's fit",
            "questions a review": f"at most {settings.budget}",
            "target": "positive, on log-odds",
        },
        findings(pairs, seeds),
    )


def _explained(
    text: str, classifier: Classifier, settings: EndpointSettings, seed: int
) -> Explanation:
    return explain(text, classifier, Slalom(), target="positive", seed=seed, budget=settings.budget)


def agreement(pair: Pair, score: str) -> float:
    """The rank correlation of a score through the API and directly."""
    return rank_correlation(pair[0].scores[score], pair[1].scores[score])


def agreements(pairs: list[Pair]) -> str:
    """The means over reviews of each score's agreement."""
    means = {score: np.mean([agreement(pair, score) for pair in pairs]) for score in SCORES}
    return ", ".join(f"{score} {mean:.2f}" for score, mean in means.items())


def findings(pairs: list[Pair], seeds: list[Pair]) -> tuple[str, ...]:
    """Whether the API changes the explanation, and whether another seed does."""
    apart = max(abs(api.target.score - direct.target.score) for api, direct in pairs)
    asked = np.mean([api.cost.forwards for api, _ in pairs])
    return (
        f"Through the API and directly the log-odds differ by at most {apart:.0e}. The words' order"
        f" correlates: {agreements(pairs)}; of two direct runs with other seeds:"
        f" {agreements(seeds)} (means of {len(pairs)} reviews).",
        f"A review costs {asked:.0f} questions on average; the paper's SLALOM asks 5,000.",
        "Another API needs another address, model name and key only: `piste.from_endpoint(URL,"
        " labels, prompt, model=NAME)`.",
    )


def draw(pairs: list[Pair]) -> Figure:
    """Each word's value and importance, through the API and directly."""
    figure = Figure(figsize=(7.5, 3.4), layout="constrained")
    for axes, score in zip(figure.subplots(1, 2), SCORES[:2], strict=True):
        for index, (api, direct) in enumerate(pairs):
            colour = COLOURS[index % len(COLOURS)]
            axes.plot(direct.scores[score], api.scores[score], ".", color=colour, alpha=0.7)
        axes.axline((0, 0), slope=1, color="#999999", linewidth=0.7)
        axes.set(xlabel=f"{score}, directly", ylabel=f"{score}, through the API")
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _table(pairs: list[Pair]) -> Table:
    rows = tuple(
        (
            str(number),
            str(len(api.players)),
            f"{api.cost.forwards:,}",
            f"{api.target.score:+.2f}",
            f"{direct.target.score:+.2f}",
            *(f"{agreement((api, direct), score):.2f}" for score in SCORES),
            ", ".join(row.player.text for row in api.top(3, "lin")),
        )
        for number, (api, direct) in enumerate(pairs, start=1)
    )
    columns = (
        "review", "words", "questions", "log-odds by API", "directly", "v: rank correlation", "s",
        "lin", "strongest by lin",
    )  # fmt: skip
    return Table("SLALOM through an API and directly", columns, rows)
