"""The papers' tables and figures, one module each, run by `piste reproduce`."""

from __future__ import annotations

import importlib

from piste.errors import choices
from piste.experiments.base import Context, Experiment, Outcome

__all__ = ["EXPERIMENTS", "Context", "Experiment", "Outcome", "run"]

EXPERIMENTS: dict[str, Experiment] = {
    "fig3": Experiment("growing runs of one word", "A, Figure 3", "fig3"),
    "appendix-a": Experiment("KernelSHAP on growing runs", "A, Appendix A", "appendix_a"),
    "table2a": Experiment("Spearman with Naive Bayes", "A, Table 2a", "table2a", ("imdb",)),
    "table2b": Experiment("human attention", "A, Table 2b", "table2b", ("yelp", "yelp_hat")),
    "table2c": Experiment("deletion", "A, Table 2c", "table2c", ("yelp", "yelp_hat")),
    "table6": Experiment("linear, GAM and SLALOM surrogates", "A, Table 6", "table6"),
    "table7-8": Experiment("recovery of a known SLALOM", "A, Tables 7 and 8", "table7_8"),
    "fig9": Experiment("closed form against sampling", "A, Figure 9", "fig9"),
    "table9": Experiment("insertion", "A, Table 9", "table9", ("yelp", "yelp_hat")),
    "table10": Experiment("a model that is no transformer", "A, Table 10", "table10", ("imdb",)),
    "table11": Experiment("seconds per explanation", "A, Table 11", "table11", ("yelp",)),
    "table12": Experiment(
        "deletion by number of samples", "A, Table 12", "table12", ("yelp", "yelp_hat")
    ),
    "table13": Experiment(
        "human attention, BLOOM and Mamba", "A, Table 13", "table13", ("yelp", "yelp_hat")
    ),
    "multi-removal": Experiment(
        "predicting many removals", "A, camera-ready", "multi_removal", ("yelp", "yelp_hat")
    ),
    "fig5": Experiment(
        "value against importance", "A, Figures 5 and 11", "fig5", ("yelp", "yelp_hat")
    ),
    "fig10": Experiment(
        "highlighted text beside the human map", "A, Figure 10", "fig10", ("yelp", "yelp_hat")
    ),
    "attention-heads": Experiment(
        "attention of each head", "B, Figure 2", "attention_heads", ("imdb",)
    ),
    "seven-methods": Experiment(
        "seven explanations of one sentence", "B, Figure 1", "seven_methods", ("imdb",)
    ),
    "lime-boxplots": Experiment(
        "LIME runs and their closed form", "B, Figures 5-6", "lime_boxplots", ("imdb",)
    ),
    "gradient-check": Experiment(
        "gradients: autograd and closed form", "B, Figure 4", "gradient_check", ("imdb",)
    ),
}


def run(name: str, context: Context) -> Outcome:
    """Run one experiment."""
    if name not in EXPERIMENTS:
        raise choices("experiment", name, list(EXPERIMENTS))
    module = importlib.import_module(f"piste.experiments.{EXPERIMENTS[name].module}")
    outcome: Outcome = module.run(context)
    return outcome
