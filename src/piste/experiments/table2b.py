"""Paper A, Table 2b: do the scores single out the words that people marked?"""

from piste.experiments.base import Context, Outcome
from piste.experiments.review_tables import Paper, tabled

PAPER: Paper = {
    "DistilBERT": (0.68, 0.73, 0.71, 0.67, 0.69),
    "BERT": (0.57, 0.72, 0.64, 0.63, 0.68),
    "GPT-2": (0.67, 0.67, 0.67, 0.64, 0.60),
}


def run(context: Context) -> Outcome:
    """AUROC of absolute scores against the annotators' consensus; higher is better."""
    return tabled(context, "human-auroc", "Human-attention AUROC, Yelp-HAT", PAPER)
