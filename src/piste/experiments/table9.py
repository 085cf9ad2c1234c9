"""Paper A, Table 9: insertion of the highest-scored words first."""

from piste.experiments.base import Context, Outcome
from piste.experiments.review_tables import Paper, tabled

PAPER: Paper = {
    "DistilBERT": (0.041, 0.442, 0.040, 0.041, 0.044, 0.439, 0.343),
    "BERT": (0.011, 0.293, 0.010, 0.009, 0.010, 0.482, 0.497),
    "GPT-2": (0.088, 0.531, 0.088, 0.089, 0.100, 0.617, 0.559),
}


def run(context: Context) -> Outcome:
    """Mean of what is missing with only the highest-scored words; lower is better."""
    return tabled(context, "insertion", "Insertion, Yelp-HAT", PAPER)
