"""Paper A, Table 2c: deletion of the highest-scored words first."""

from piste.experiments.base import Context, Outcome
from piste.experiments.review_tables import Paper, tabled

PAPER: Paper = {
    "DistilBERT": (0.913, 0.249, 0.915, 0.892, 0.876, 0.360, 0.387),
    "BERT": (0.943, 0.262, 0.944, 0.939, 0.929, 0.093, 0.093),
    "GPT-2": (0.907, 0.294, 0.908, 0.905, 0.895, 0.378, 0.436),
}


def run(context: Context) -> Outcome:
    """AOPC, higher is better. The paper's gradients ranked by the label's sign (a fault)."""
    return tabled(context, "deletion", "Deletion AOPC, Yelp-HAT", PAPER)
