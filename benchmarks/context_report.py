"""From the figures of single texts to Markdown tables and a picture of the curve."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from context_rivals import PASSES

Figures = list[dict[str, Any]]  # of the texts of a section
Results = dict[str, Figures]
CLOSE = 0.1  # in logarithms: so near to a point of the grid is on it
COLUMNS = ("parts", "all parts", "halves", "removals", "deletion")


def report(results: Results, picture: Path) -> str:
    """Everything that was measured."""
    results = {name: [row for row in rows if row] for name, rows in results.items()}
    curves = {
        name.split("-")[1]: rows for name, rows in results.items() if "curve" in name and rows
    }
    if curves:
        draw(curves, picture)
    blocks = [
        _goals(results),
        _quality(results),
        _shapley(results.get("shapley", [])),
        _interactions(results.get("interactions", [])),
        _people(results),
        *(_curve(name, rows) for name, rows in curves.items()),
    ]
    return "\n\n".join(block for block in blocks if block)


def median(rows: Figures, name: str) -> float:
    known = [row[name] for row in rows if row.get(name) is not None]
    return float(np.median(known)) if known else float("nan")


def worst(rows: Figures, name: str) -> float:
    return min((row[name] for row in rows if row.get(name) is not None), default=float("nan"))


def share(rows: Figures, part: str, whole: str) -> float:
    total = sum(row[whole] for row in rows)
    return sum(row[part] for row in rows) / total if total else float("nan")


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "–" if np.isnan(value) else f"{value:.3f}" if abs(value) < 10 else f"{value:.0f}"
    return str(value)


def _pair(*values: float) -> str:
    return " / ".join(_cell(value) for value in values)


def _goals(results: Results) -> str:
    """One line a goal: the least, the aim, and what was measured."""
    lines = [
        (title, least, aim, measured(results[section]), len(results[section]))
        for title, least, aim, section, measured in GOALS
        if results.get(section)
    ]
    header = ("goal (medians)", "at least", "aim", "measured", "texts")
    return f"### Goals\n\n{table(header, lines)}" if lines else ""


def _agreement(*names: str) -> Callable[[Figures], str]:
    return lambda rows: (
        f"{_pair(*(median(rows, n) for n in names))} at {median(rows, 'passes'):.0f}"
    )


def _with_worst(rows: Figures) -> str:
    return f"{_agreement('parts')(rows)}; worst {_cell(worst(rows, 'parts'))}"


def _against_lin(rows: Figures) -> str:
    gain = np.mean([row["deletion"] - row["slalom deletion"] for row in rows])
    return f"{gain:+.3f} (mean); {_cell(median(rows, 'removals'))}"


def _others(rows: Figures) -> str:
    counts = (sum(row[name] for row in rows) for name in ("context", "slalom"))
    return "{} (slalom {})".format(*counts)


def _saved(rows: Figures) -> str:
    """The error at 64 questions, and how many times as many others need for it."""
    error = _errors(rows, "context")[64]
    shapiq = [name for name in rows[0] if name.startswith("shapiq")]
    ours = _cell(_needed(rows, "kernel-shap", error) / 64)
    best = min((_needed(rows, name, error) / 64 for name in shapiq), default=float("nan"))
    return f"{_cell(error)}; {ours}× kernel-shap, {_cell(best)}× shapiq's best"


def _strongest(rows: Figures) -> str:
    found = _pair(median(rows, "told 50"), median(rows, "told 100"))
    return f"{found}; {_cell(float(np.mean([row['told signs 100'] for row in rows])))}"


def _effects_covered(rows: Figures) -> str:
    few, usual = (share(rows, f"covered {name}", f"of {name}") for name in ("64", "normal"))
    return f"{few:.0%} at 64 questions, {usual:.0%} by default"


def _overhead(rows: Figures) -> str:
    return f"{median(rows, 'everything'):.0%} (fit {median(rows, 'fit'):.0%})"


def _best_for_people(rows: Figures) -> str:
    names = [name for name in rows[0] if not name.startswith("context")]
    best = max(names, key=lambda name: _mean(rows, name))
    ours = _pair(*(_mean(rows, name) for name in RATED))
    return f"{ours}; best other {best} {_cell(_mean(rows, best))}"


RATED = ("context relevance", "context effect, its size", "context effect")
Goal = tuple[str, str, str, str, Callable[[Figures], str]]
GOALS: Sequence[Goal] = (
    (
        "TREC, 7–14 words: R² on parts, ≤ 60 passes; worst",
        ".90; .6",
        ".95; .8",
        "trec",
        _with_worst,
    ),
    ("TREC: deletion", ".82", ".84", "trec", lambda rows: _cell(median(rows, "deletion"))),
    (
        "Yelp, 70–100 words: R² on parts / halves, ≤ 75 passes",
        ".66 / .60",
        ".78 / .70 at 60",
        "yelp",
        _agreement("parts", "halves"),
    ),
    (
        "Yelp: deletion less that of `lin`; error of small removals",
        "−.01; .75",
        "+.01; .50",
        "yelp",
        _against_lin,
    ),
    ("SNLI pairs: R² on parts, ≤ 75 passes", ".80", ".88", "snli", _agreement("parts")),
    ("SST as a number: R² on parts, ≤ 75 passes", ".85", ".92", "sst", _agreement("parts")),
    ("IMDB, 210–310 words: R² on parts, ≤ 75 passes", ".40", ".55", "imdb", _agreement("parts")),
    ("the same, thorough, ≤ 200 passes", ".55", ".70", "thorough", _agreement("parts")),
    ("explanations that name another class", "0", "0", "classes", _others),
    ("Shapley error at 64 questions; passes saved", ".14; 2×", ".09; 3×", "shapley", _saved),
    ("90 % intervals of effects cover", "80–97 %", "85–95 %", "shapley", _effects_covered),
    *(
        (
            f"90 % intervals of parts cover, {name}",
            "80–97 %",
            "85–95 %",
            name,
            lambda rows: f"{share(rows, 'covered', 'of parts'):.0%}",
        )
        for name in ("trec", "yelp", "snli", "sst", "imdb")
    ),
    (
        "interactions: correlation at 50 / 100 questions; sign of the six strongest",
        ".88 / .92; .95",
        ".93 / .96; 1.0",
        "interactions",
        _strongest,
    ),
    *(
        (
            f"AUROC of relevance / size of effect / effect, {name} (means)",
            "best of ours",
            "best of all",
            name,
            _best_for_people,
        )
        for name in ("people-sst", "people-dynasent", "people-yelp")
    ),
    (
        "planted SLALOM: r of value / importance",
        "> .999",
        "> .999",
        "planted",
        lambda rows: _pair(worst(rows, "value"), worst(rows, "importance")),
    ),
    ("time outside the model, 100 words", "15 %", "8 %", "time", _overhead),
)


def _quality(results: Results) -> str:
    """Context and SLALOM on the same texts."""
    lines = []
    for name in ("trec", "yelp", "snli", "sst", "imdb", "thorough"):
        rows = results.get(name, [])
        for method, prefix in (("context", ""), ("slalom", "slalom ")):
            if rows and f"{prefix}parts" in rows[0]:
                cells = [median(rows, f"{prefix}{column}") for column in ("passes", *COLUMNS)]
                low = worst(rows, f"{prefix}parts")
                claimed = median(rows, "claimed") if not prefix else float("nan")
                lines.append((name, method, len(rows), *cells[:2], low, *cells[2:], claimed))
    header = ("texts", "method", "n", "passes", "parts", "worst", *COLUMNS[1:], "own estimate")
    note = (
        "R² on 150 parts of 30–100 % that were not asked (parts), on all of them, on 100 halves;"
        " error of 1–5 removed words relative to no change; deletion by `effect`, and by `lin`;"
        " `own estimate`: the R² that the explanation gives itself."
    )
    return f"### Parts of the text\n\n{note}\n\n{table(header, lines)}" if lines else ""


def _errors(rows: Figures, name: str) -> dict[int, float]:
    """Medians over texts and seeds, by the number of questions."""
    budgets = rows[0][name]
    return {
        int(n): float(np.median(np.concatenate([row[name][n] for row in rows]))) for n in budgets
    }


def _needed(rows: Figures, name: str, error: float) -> float:
    """How many questions bring the error down to this; NaN where none that were tried do."""
    errors = _errors(rows, name)
    logs = np.log(np.maximum(np.minimum.accumulate(list(errors.values())), 1e-6))
    if np.log(error) < logs[-1]:
        return float("nan")
    # np.interp wants rising values
    return float(np.exp(np.interp(np.log(error), logs[::-1], np.log(list(errors))[::-1])))


def _shapley(rows: Figures) -> str:
    if not rows:
        return ""
    names = [name for name, figure in rows[0].items() if isinstance(figure, dict)]
    budgets = [int(n) for n in rows[0]["kernel-shap"]]
    lines = []
    for name in names:
        errors = _errors(rows, name)
        lines.append((name, *(errors.get(n, float("nan")) for n in budgets)))
    note = f"Slalom {_cell(median(rows, 'slalom'))}, context by default"
    return (
        "### Shapley values: relative error by the number of questions\n\n"
        f"{table(('estimator', *map(str, budgets)), lines)}\n\n"
        f"{note} {_cell(median(rows, 'normal'))}; {len(rows)} texts."
    )


def _interactions(rows: Figures) -> str:
    if not rows:
        return ""
    titles = {
        "told": "context, `pairs`",
        "same": "context, least squares on its predictions",
        "ridge": "ridge + pairs, least squares on its predictions",
    }
    lines = [
        (
            title,
            *(median(rows, f"{name} {n}") for n in (50, 100)),
            *(float(np.mean([row[f"{name} signs {n}"] for row in rows])) for n in (50, 100)),
        )
        for name, title in titles.items()
    ]
    header = ("", "r at 50", "r at 100", "signs at 50", "signs at 100")
    return f"### Interactions, {len(rows)} sentences\n\n{table(header, lines)}"


def _mean(rows: Figures, name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _people(results: Results) -> str:
    found = {name: rows for name, rows in results.items() if "people" in name and rows}
    if not found:
        return ""
    names = next(iter(found.values()))[0]
    lines = [(name, *(_with_error(rows, name) for rows in found.values())) for name in names]
    header = ("score", *(f"{name} ({len(rows)})" for name, rows in found.items()))
    return f"### Words that people marked: AUROC ± standard error\n\n{table(header, lines)}"


def _with_error(rows: Figures, name: str) -> str:
    values = [row[name] for row in rows]
    return f"{np.mean(values):.3f} ± {np.std(values) / np.sqrt(len(values)):.3f}"


def interpolated(rows: Figures, name: str) -> list[float]:
    """The median over texts of R² at the passes of the grid; NaN where a method asks more."""
    found = []
    for row in rows:
        at = np.log(PASSES[: len(row[name])])
        where, r2 = np.array([(np.log(x), y) for x, y in row[name] if y is not None]).T
        order = np.argsort(where)
        # To the right: a method that has asked all there is learns no more.
        inside = np.interp(at, where[order], r2[order])
        found.append(np.where(at < where.min() - CLOSE, np.nan, inside))
    return [float(value) for value in np.median(found, axis=0)]


def _curve(task: str, rows: Figures) -> str:
    lines = [(name, *interpolated(rows, name)) for name in rows[0]]
    tried = PASSES[: len(lines[0]) - 1]
    header = ("surrogate", *(f"{passes} passes" for passes in tried))
    return f"### R² on parts by cost, {task}, {len(rows)} texts\n\n{table(header, lines)}"


def draw(curves: Results, picture: Path) -> None:
    """R² on parts against forward passes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(curves), figsize=(5 * len(curves), 3.6), squeeze=False)
    for axis, (task, rows) in zip(axes[0], curves.items(), strict=True):
        for name in rows[0]:
            strong = {"linewidth": 2.5} if name == "context" else {"alpha": 0.8}
            r2 = interpolated(rows, name)
            axis.plot(PASSES[: len(r2)], r2, marker="o", label=name, **strong)
        axis.set(xscale="log", ylim=(-0.1, 1), title=f"{task}, {len(rows)} texts")
        axis.set(xlabel="forward passes of the whole text", ylabel="R² on parts")
        axis.set_xticks(PASSES, [str(passes) for passes in PASSES])
        axis.minorticks_off()
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    pyplot.close(figure)
