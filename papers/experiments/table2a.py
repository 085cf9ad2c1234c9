"""Paper A, Table 2a: do the scores order the words as Naive Bayes does?"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from papers.experiments.base import Context, Outcome
from papers.experiments.charts import SCORES, score_bars
from papers.experiments.reviews import TRAINING, ReviewTraining, accuracies, review_models
from papers.tables import Table
from piste import Example, Slalom, evaluate
from piste.files import write_atomic
from piste.runs import Evaluation, View, interval

PAPER = {"DistilBERT": (0.69, 0.32, 0.70), "BERT": (0.75, 0.43, 0.77), "GPT-2": (0.70, 0.40, 0.70)}


@dataclass(frozen=True)
class Table2aSettings:
    """How many reviews are explained and counted, and with how many samples."""

    training: ReviewTraining
    texts: int
    counted: int  # reviews of the Naive Bayes reference
    words: int  # of an explained review, at most; the rest is cut
    samples: int


SETTINGS = {
    "tiny": Table2aSettings(TRAINING["tiny"], texts=3, counted=60, words=12, samples=60),
    "small": Table2aSettings(TRAINING["small"], texts=12, counted=4000, words=100, samples=1000),
    "paper": Table2aSettings(TRAINING["paper"], texts=200, counted=25_000, words=400, samples=5000),
}


def run(context: Context, settings: Table2aSettings) -> Outcome:
    """Spearman's correlation by text, means; importances against the size of the reference."""
    examples = cut(context.examples("imdb", "test", settings.texts), settings.words)
    evaluations, facts = {}, {}
    for name, (classifier, fact) in review_models(context, settings.training, "imdb").items():
        facts[name] = fact
        context.say(f"explaining with {name}")
        evaluations[name] = evaluate(
            examples,
            classifier,
            views(settings.samples),
            ["naive-bayes"],
            train=reference(context, settings),
            unit="token",
            seed=context.seed,
        )
    sizes = asdict(settings)
    del sizes["training"]
    return Outcome(
        (_table(evaluations),),
        {"naive-bayes": score_bars(evaluations, "naive-bayes", PAPER, "Spearman's correlation")},
        sizes | {"unit": "token", "accuracy": accuracies(facts)},
        _findings(evaluations),
    )


def cut(examples: list[Example], words: int) -> list[Example]:
    """The first words of each text: a model of few positions reads no more."""
    return [replace(e, text=" ".join(e.text.split()[:words])) for e in examples]


def views(samples: int) -> list[View]:
    """The paper's SLALOM, by value, importance and lin."""
    paper = replace(Slalom.paper("eff"), samples=samples)
    return [View(f"slalom:{score}", paper, score) for score in SCORES]


def reference(context: Context, settings: Table2aSettings) -> Path:
    """The counted reviews as a file, which `evaluate` reads."""
    path = context.cache / f"naive-bayes-imdb-{settings.counted}.jsonl"
    if not path.exists():
        rows = context.examples("imdb", "train", settings.counted)
        lines = [json.dumps({"text": row.text, "label": row.label}) for row in rows]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, "\n".join(lines) + "\n")
    return path


def _table(evaluations: dict[str, Evaluation]) -> Table:
    rows = []
    for model, evaluation in evaluations.items():
        ours = [str(interval(evaluation.values(view, "naive-bayes"))) for view in evaluation.views]
        rows.append((model, *(f"{a} ({b:g})" for a, b in zip(ours, PAPER[model], strict=True))))
    title = "Spearman with Naive Bayes, IMDB: ours (the paper's)"
    return Table(title, ("model", "v", "s", "lin"), tuple(rows))


def _findings(evaluations: dict[str, Evaluation]) -> tuple[str, ...]:
    sentences = []
    for model, evaluation in evaluations.items():
        value, importance, lin = (
            interval(evaluation.values(view, "naive-bayes")).mean for view in evaluation.views
        )
        if importance < min(value, lin):
            sentences.append(
                f"{model}: values and lin order words like Naive Bayes ({value:.2f}, {lin:.2f}),"
                f" importances less so ({importance:.2f}), as in the paper."
            )
        else:
            sentences.append(
                f"{model}: importances ({importance:.2f}) order words no worse than values"
                f" ({value:.2f}) and lin ({lin:.2f}), unlike the paper."
            )
    return tuple(sentences)
