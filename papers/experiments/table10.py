"""Paper A, Table 10: SLALOM explains a model that is no transformer (TF-IDF, three layers)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, product

from papers.experiments.base import Context, Outcome
from papers.experiments.charts import paired_bars
from papers.experiments.equal_budgets import CHANCE, EFF, LIME, OURS, SHAP, MethodFigures, measure
from papers.experiments.reviews import labelled
from papers.experiments.tfidf import Network, NetworkPlan, kept
from papers.tables import Table
from piste import Example, from_function
from piste.errors import FileError
from piste.models import Classifier
from piste.runs import Interval, interval
from piste.text import word_spans

PAPER_INSERTION = {SHAP: 0.0120, LIME: 0.0053, EFF: 0.0039}
PAPER_DELETION = {SHAP: 0.8022, LIME: 0.9481, EFF: 0.9601}
PAPER_FIGURES = {"insertion": PAPER_INSERTION, "deletion": PAPER_DELETION}
LABELS = ("negative", "positive")
BOOTSTRAP_DRAWS = 2000  # of piste's intervals


@dataclass(frozen=True)
class Table10Settings:
    """How much is read, explained and asked."""

    training: int | None  # reviews; None: all there are
    testing: int | None  # reviews that the accuracy is measured on
    explained: int  # test reviews that are explained
    fewest: int = 20  # words and marks of an explained review: more than SHAP enumerates
    most: int = 150
    budget: int = 1000  # sequences through the model for each explanation
    steps: int = 25  # points of a curve at most
    plan: NetworkPlan = NetworkPlan()


SETTINGS = {
    "tiny": Table10Settings(
        training=None, testing=None, explained=2, fewest=14, most=40, budget=150, steps=5,
        plan=NetworkPlan(vocabulary=50, widths=(8, 4), epochs=5, rate=0.01, batch=8),
    ),
    "small": Table10Settings(training=None, testing=5000, explained=20),
    "paper": Table10Settings(
        training=None, testing=None, explained=100, budget=5000, steps=150
    ),
}  # fmt: skip


def run(context: Context, settings: Table10Settings) -> Outcome:
    """Train or load the network, explain test reviews, measure the explanations."""
    settings = replace(settings, plan=replace(settings.plan, seed=context.seed))
    train = usable(context.examples("imdb", "train", settings.training))
    test = usable(context.examples("imdb", "test", settings.testing))
    network = kept(context.cache, *labelled(train), settings.plan, context.say)
    accuracy = network.accuracy(*labelled(test))
    chosen = short_enough(test, settings)
    measured = measure(
        as_classifier(network), chosen, settings.budget, settings.steps, context.seed, context.say
    )
    differences = _differences(measured)
    return Outcome(
        tables=(_figures(measured), _difference_table(differences)),
        figures={"curves": paired_bars(measured.intervals, PAPER_FIGURES)},
        settings=_reported(settings, len(train), len(test), len(chosen), accuracy),
        findings=findings(measured, differences, accuracy),
    )


def usable(examples: Sequence[Example]) -> list[Example]:
    """Rows with a text and a label 0 or 1, without the line breaks that IMDB keeps as tags."""
    rows = [row for row in examples if row.problem is None and row.label in (0, 1)]
    return [replace(row, text=row.text.replace("<br />", " ")) for row in rows]


def short_enough(examples: Sequence[Example], settings: Table10Settings) -> list[str]:
    """The first texts of a length that is explained."""
    sizes = range(settings.fewest, settings.most + 1)
    fits = (row.text for row in examples if len(word_spans(row.text)) in sizes)
    chosen = list(islice(fits, settings.explained))
    if not chosen:
        raise FileError(f"No review has {settings.fewest} words or so.", "Check --data.")
    return chosen


def as_classifier(network: Network) -> Classifier:
    """The network as piste sees any function of texts: by its answers alone."""
    return from_function(network.log_odds, LABELS, name="TF-IDF and three layers")


@dataclass(frozen=True)
class MethodDifference:
    """SLALOM less another method on the same texts."""

    figure: str
    slalom: str
    other: str
    interval: Interval

    @property
    def paper(self) -> float:
        """The paper has one SLALOM; both of ours stand beside it."""
        return PAPER_FIGURES[self.figure][EFF] - PAPER_FIGURES[self.figure][self.other]

    @property
    def verdict(self) -> str:
        """Whether SLALOM is better: insertion falls, deletion rises."""
        if self.interval.low <= 0 <= self.interval.high:
            return "no clear difference"
        return "better" if (self.interval.mean > 0) == (self.figure == "deletion") else "worse"


def _differences(measured: MethodFigures) -> list[MethodDifference]:
    """Both SLALOMs against both others, on both figures."""
    return [
        MethodDifference(figure, slalom, other, interval(curves[slalom] - curves[other]))
        for slalom, other in product((EFF, OURS), (SHAP, LIME))
        for figure, curves in measured.curves.items()
    ]


def _figures(measured: MethodFigures) -> Table:
    rows = [
        (
            name,
            _cell(interval(measured.insertion[name])),
            _known(PAPER_INSERTION, name),
            _cell(interval(measured.deletion[name])),
            _known(PAPER_DELETION, name),
            f"{interval(measured.normalised[name])}",
            f"{measured.forwards[name].mean():,.0f}",
        )
        for name in measured.insertion
    ]
    title = (
        "Insertion (lower is better), deletion and normalised deletion (higher is better): means"
        f" of {len(measured.certainty)} reviews with 95 % bootstrap intervals"
    )
    columns = ("method", "insertion", "paper's", "deletion", "paper's", "NAOPC", "sequences")
    return Table(title, columns, tuple(rows))


def _cell(span: Interval, sign: str = "") -> str:
    mean, low, high = (f"{value:{sign}.4f}" for value in (span.mean, span.low, span.high))
    return f"{mean} [{low}, {high}]"


def _known(figures: Mapping[str, float], name: str) -> str:
    return f"{figures[name]:.4f}" if name in figures else "–"


def _difference_table(differences: Sequence[MethodDifference]) -> Table:
    rows = [
        (
            f"{d.slalom} less {d.other}",
            d.figure,
            _cell(d.interval, "+"),
            f"{d.paper:+.4f}",
            d.verdict,
        )
        for d in differences
    ]
    columns = ("difference", "figure", "ours", "paper's", "SLALOM is")
    return Table("Paired differences on the same reviews", columns, tuple(rows))


def findings(
    measured: MethodFigures, differences: Sequence[MethodDifference], accuracy: float
) -> tuple[str, ...]:
    """What the numbers say of the model, of SLALOM on it, and of the paper's order."""
    return (
        f"The model has {accuracy:.1%} test accuracy; its decisions on the explained reviews have"
        f" probability {measured.certainty.mean():.3f} on average. Both figures are differences of"
        " probabilities, so their level depends on how sure a model is: only methods on one model"
        " compare.",
        _against_chance(measured),
        *_surer(measured),
        *(_against_others(differences, name) for name in (EFF, OURS)),
    )


def _against_chance(measured: MethodFigures) -> str:
    chance = measured.deletion[CHANCE].mean()
    falls = {name: measured.deletion[name].mean() for name in (EFF, OURS)}
    works = [name for name, fall in falls.items() if fall > chance]
    figures = ", ".join(f"{name} {fall:.3f}" for name, fall in falls.items())
    verdict = f"{' and '.join(works)} found" if works else "No SLALOM found"
    return (
        f"{verdict} what this model, which has no attention, decides by. Deletion: {figures},"
        f" random order {chance:.3f}."
    )


def _surer(measured: MethodFigures) -> tuple[str, ...]:
    """Why an insertion can lie below 0, where it does."""
    below = [name for name, values in measured.insertion.items() if values.mean() < 0]
    if not below:
        return ()
    return (
        f"Insertion is below 0 for {', '.join(below)}: the words they rank first make the model"
        " surer than the whole review does.",
    )


def _against_others(differences: Sequence[MethodDifference], name: str) -> str:
    own = [d for d in differences if d.slalom == name]
    verdicts = ", ".join(f"{d.verdict} in {d.figure} against {d.other}" for d in own)
    same = sum((d.interval.mean > 0) == (d.paper > 0) for d in own)
    return (
        f"{name}: {verdicts}. The sign of the difference is the paper's in {same} of {len(own)}"
        " cases."
    )


def _reported(
    settings: Table10Settings, training: int, testing: int, explained: int, accuracy: float
) -> dict[str, object]:
    sizes = {key: value for key, value in asdict(settings).items() if key != "plan"}
    return {
        **sizes,
        **{f"network {key}": value for key, value in asdict(settings.plan).items()},
        "training": training,
        "testing": testing,
        "explained": explained,
        "test accuracy": round(accuracy, 4),
        "bootstrap draws": BOOTSTRAP_DRAWS,
        "target": "the predicted class, in log-odds",
        "scores": "of one occurrence: removal for SHAP and LIME, lin for SLALOM",
        "removal": "words really deleted, one occurrence at a time",
        "NAOPC": "0 the worst, 1 the best order of a beam search, which an order may beat",
        "vectors": "lower-cased words, smoothed idf, length 1",
    }
