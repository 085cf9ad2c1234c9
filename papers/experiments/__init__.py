"""The papers' tables and figures, run by `python -m papers run NAME`."""

from __future__ import annotations

import importlib

from papers.experiments.base import Context, Experiment, Outcome, default_cache
from piste.errors import choices

__all__ = ["EXPERIMENTS", "Context", "Experiment", "Outcome", "default_cache", "run"]

IMDB, YELP = ("imdb",), ("yelp", "yelp_hat")
EXPERIMENTS: dict[str, Experiment] = {
    "fig3": Experiment("growing runs of one word", "A, Figure 3", "fig3"),
    "appendix-a": Experiment("KernelSHAP on growing runs", "A, Appendix A", "appendix_a"),
    "table2a": Experiment("Spearman with Naive Bayes", "A, Table 2a", "table2a", IMDB),
    "table2b": Experiment("human attention", "A, Table 2b", "review_tables", YELP, "table2b"),
    "table2c": Experiment("deletion", "A, Table 2c", "review_tables", YELP, "table2c"),
    "table6": Experiment("linear, GAM and SLALOM surrogates", "A, Table 6", "table6"),
    "table7-8": Experiment("recovery of a known SLALOM", "A, Tables 7 and 8", "table7_8"),
    "fig9": Experiment("closed form against sampling", "A, Figure 9", "fig9"),
    "table9": Experiment("insertion", "A, Table 9", "review_tables", YELP, "table9"),
    "table10": Experiment("a model that is no transformer", "A, Table 10", "table10", IMDB),
    "table11": Experiment("seconds per explanation", "A, Table 11", "table11", ("yelp",)),
    "table12": Experiment("deletion by number of samples", "A, Table 12", "table12", YELP),
    "table13": Experiment("human attention, BLOOM and Mamba", "A, Table 13", "table13", YELP),
    "multi-removal": Experiment(
        "predicting many removals", "A, camera-ready", "multi_removal", YELP
    ),
    "eff-and-fidel": Experiment(
        "both SLALOMs side by side",
        "A, camera-ready, Tables 1a-1c",
        "camera_ready",
        ("imdb", "yelp", "yelp_hat"),
    ),
    "runtime": Experiment("seconds by samples", "A, camera-ready, Table 2", "runtime", ("yelp",)),
    "endpoint": Experiment(
        "a model known by its API", "A, camera-ready, F.7", "endpoint", ("yelp_hat",)
    ),
    "case-study": Experiment(
        "a few edits of a long document", "A, camera-ready, F.8", "case_study", IMDB
    ),
    "fig5": Experiment("value against importance", "A, Figures 5 and 11", "fig5", YELP),
    "fig10": Experiment("highlighted text beside the human map", "A, Figure 10", "fig10", YELP),
    "attention-heads": Experiment("attention of each head", "B, Figure 2", "attention_heads", IMDB),
    "seven-methods": Experiment(
        "seven explanations of one sentence", "B, Figure 1", "seven_methods", IMDB
    ),
    "lime-boxplots": Experiment(
        "LIME runs and their closed form", "B, Figures 5-6", "lime_boxplots", IMDB
    ),
    "gradient-check": Experiment(
        "gradients: autograd and closed form", "B, Figure 4", "gradient_check", IMDB
    ),
    "deeper": Experiment(
        "LIME's closed forms under six layers", "B, open question", "deeper_imdb", IMDB
    ),
}


def run(name: str, context: Context) -> Outcome:
    """Run one experiment with the settings of the context's scale."""
    if name not in EXPERIMENTS:
        raise choices("experiment", name, list(EXPERIMENTS))
    experiment = EXPERIMENTS[name]
    module = importlib.import_module(f"papers.experiments.{experiment.module}")
    outcome: Outcome = getattr(module, experiment.function)(context, module.SETTINGS[context.scale])
    return outcome
