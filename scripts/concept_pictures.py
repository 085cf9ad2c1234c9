"""Draw the pictures of the first pages with the embedded model, and print what they show.

python scripts/concept_pictures.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image

import piste
from piste.files import cache_directory
from piste.models.protocol import Classifier
from piste.result.explanation import Explanation
from piste.result.formula import Formula

IMAGES = Path(__file__).parents[1] / "docs" / "images"
TEXT = (
    "This film is not the masterpiece they promised. The plot is thin and the jokes are tired, "
    "but the acting is superb and the last ten minutes are simply beautiful. I left the cinema "
    "smiling."
)
SHORT = "The plot is thin, but the acting is superb."
QUESTION = "How many people live in the city where Mozart was born ?"
QUESTIONS = cache_directory() / "input-kinds" / "trec"  # where benchmarks/input_kinds.py keeps it
WORD = "superb"
COLOURS = 64
TIMES = (1, 2, 4, 8, 16, 32)
FOR, AGAINST, QUIET = "#1f77d6", "#de6800", "#6b6b6b"
ASIDE = {"plot": (-28, -2), "thin": (-28, 0), "left": (-25, 0), "simply": (5, -6), "the": (6, -9)}
CORNERS = {  # what it means to stand there: x, y, alignment, words
    (0.02, 0.97): ("left", "top", "against, and it decides"),
    (0.98, 0.97): ("right", "top", "for, and it decides"),
    (0.02, 0.03): ("left", "bottom", "against, but drowned out"),
    (0.98, 0.03): ("right", "bottom", "for, but drowned out"),
}


def plane(axes: Axes, explanation: Explanation) -> None:
    """Every distinct word at its value and importance."""
    rows = explanation.top(14)
    for row in rows:
        value, importance = row.scores["value"], row.scores["importance"]
        colour = FOR if value > 0 else AGAINST
        axes.plot(value, importance, "o", color=colour, markersize=5)
        word = row.player.text
        shift = ASIDE.get(word, (5, 3))
        axes.annotate(word, (value, importance), shift, textcoords="offset points", color=colour)
    axes.axvline(0, color=QUIET, linewidth=0.8)
    axes.axhline(0, color=QUIET, linewidth=0.8, linestyle=":")
    for (x, y), (side, height, words) in CORNERS.items():
        axes.text(
            x, y, words, transform=axes.transAxes, ha=side, va=height, color=QUIET, style="italic"
        )
    axes.margins(0.18)
    axes.set_xlabel(f"value: against “{explanation.target.label}”  ←  →  for it")
    axes.set_ylabel("importance: the weight it takes")


def answers(classifier: Classifier) -> list[float]:
    """The model's log-odds for runs of the word."""
    runs = [" ".join([WORD] * times) for times in TIMES]
    found = [piste.explain(run, classifier, "occlusion", target="positive") for run in runs]
    return [explanation.target.score for explanation in found]


def predicted(classifier: Classifier) -> dict[str, list[float]]:
    """What explanations of the short text say of such runs."""
    lime = piste.explain(SHORT, classifier, "lime", target="positive")
    index = [player.text for player in lime.players].index(WORD)
    weight = float(lime.scores["weight"][index])
    fits = {
        "SLALOM as in the paper": piste.Slalom.paper("eff"),
        "SLALOM with a frame player": piste.Slalom(),
    }
    said = {f"LIME: {weight:.2f} each": [weight * times for times in TIMES]}
    for name, method in fits.items():
        formula = piste.explain(SHORT, classifier, method, target="positive").formula
        assert formula is not None
        said[name] = of_runs(formula, index)
    return said


def of_runs(formula: Formula, index: int) -> list[float]:
    """What SLALOM says of runs of one word: a part has it once, so it is summed up here."""
    weights, frame_weight, frame_value = formula.weights()
    times = np.array(TIMES)
    weight = times * weights[index] + frame_weight
    worth = times * weights[index] * formula.values[index] + frame_weight * frame_value
    return [float(score) for score in formula.ratio(times, weight, worth)]


def runs(axes: Axes, model: list[float], said: dict[str, list[float]]) -> None:
    styles = [(AGAINST, "--"), (FOR, "-"), (FOR, ":")]
    for (name, scores), (colour, line) in zip(said.items(), styles, strict=True):
        axes.plot(TIMES, scores, line, color=colour, label=name)
    axes.plot(TIMES, model, "o", color="black", label="the model")
    axes.set_xticks(TIMES)
    axes.set_xlabel(f"times “{WORD}” is said")
    axes.set_ylabel("log-odds of positive")
    axes.legend(frameon=False)


def saved(name: str) -> Axes:
    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    figure.set_label(name)
    return axes


def plotted(explanation: Explanation, name: str) -> None:
    """Draw the explanation, in few enough colours that the file is small."""
    explanation.plot(IMAGES / name)
    with Image.open(IMAGES / name) as image:
        flat = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    flat.save(IMAGES / name, optimize=True)


def question() -> None:
    """A question whose words act together, by a model that hears what kind it is."""
    if not QUESTIONS.exists():
        print(f"No {QUESTIONS}: context.png stays (benchmarks/input_kinds.py fine-tunes the model)")
        return
    explanation = piste.explain(QUESTION, piste.load(str(QUESTIONS), backend="torch"))
    plotted(explanation, "context.png")
    print(explanation)


def main() -> None:
    question()
    classifier = piste.load(backend="torch")
    review = piste.explain(TEXT, classifier)
    plotted(review, "demo.png")
    plotted(piste.explain(SHORT, classifier), "explanation.png")
    plane(saved("plane.png"), review)
    model, said = answers(classifier), predicted(classifier)
    runs(saved("runs.png"), model, said)
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.savefig(IMAGES / str(figure.get_label()), dpi=150)
    for name, scores in {"the model": model, **said}.items():
        print(name, np.round(scores, 2).tolist())


if __name__ == "__main__":
    main()
