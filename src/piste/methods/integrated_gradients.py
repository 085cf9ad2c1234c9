"""Integrated gradients (arXiv 1703.01365): gradients along the way from a baseline to the text."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.decision import Decision
from piste.errors import SettingError, choices
from piste.methods.base import Attribution, Method
from piste.methods.gradients import by_player, differing
from piste.models.protocol import WithGradients
from piste.models.query import Query
from piste.options import whole_number
from piste.result.explanation import Target
from piste.result.facts import Agreement, Fidelity
from piste.text.players import Players

TOKENS = ("pad", "mask", "unk")  # what "auto" tries, in this order
BASELINES = ("auto", *TOKENS, "zero")
SLACK = 0.05  # of the difference to explain: a larger error of the integral is told
NEGLIGIBLE = 1e-4  # in log-odds: an error that no score would show


@dataclass(frozen=True)
class IntegratedGradients(Method):
    """What each word adds to the log-odds of an empty text, by gradients along the way (IG).

    1. The baseline is the text with every token's embedding replaced by that of a neutral token;
       special tokens around the text keep theirs.
    2. The gradients at points between baseline and text, weighed by Gauss-Legendre quadrature,
       times the difference of the embeddings: the score of a token.
    3. A word's score is the sum over its tokens; words that share a score get their mean.

    The scores add up to the log-odds of the text less those of the baseline; by how much they
    miss that is reported as the convergence error.
    """

    name: ClassVar[str] = "integrated-gradients"
    needs: ClassVar[tuple[type, ...]] = (WithGradients,)

    baseline: Literal["auto", "pad", "mask", "unk", "zero"] = "auto"  # auto: the first there is
    # Points of the quadrature. The way is smooth, so Gauss-Legendre converges fast: with 50 points
    # its error on six layers of BERT is rounding, and 240 times less than that of a Riemann sum.
    steps: int = 50

    def __post_init__(self) -> None:
        whole_number("steps", self.steps, 1)
        if self.baseline not in BASELINES:
            raise choices("baseline", self.baseline, BASELINES)

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players, target = decision.query, decision.players, decision.target
        self._check_budget(query)
        query.plan(self.steps + 2)
        tokens = query.sequence(players.tokens(players.whole))
        whole = query.embed(tokens)[0]
        name, neutral = self._neutral(query, whole.shape[1])
        baseline = _replaced(whole, neutral, players)
        path = Path(baseline, whole, tokens)
        ends, gradient = integrate(query, path, self.steps, target)
        scores = np.einsum("tw,tw->t", gradient, whole - baseline)
        difference = ends[1] - ends[0]
        error = abs(float(scores.sum()) - difference)
        return Attribution(
            primary="ig",
            scores={"ig": by_player(scores, players)},
            fidelity=Fidelity({"convergence": Agreement(None, error, self.steps)}),
            notes=(
                f"The scores add up to the difference from a text of {name} only, which has"
                f" {target.scale} {ends[0]:+.2f}.",
                *self._imprecise(error, difference),
                *differing(ends[1], target),
            ),
        )

    def _check_budget(self, query: Query) -> None:
        needed = self.steps + 2
        if query.left is not None and query.left < needed:
            raise SettingError(
                f"Integrated gradients with {self.steps} steps need {needed} sequences.",
                f"Give a budget of at least {query.forwards + needed}, or fewer steps.",
            )

    def _neutral(self, query: Query, width: int) -> tuple[str, FloatArray]:
        """The name and the embedding [width] that stand in every token's place."""
        names = {"auto": TOKENS, "zero": ()}.get(self.baseline, (self.baseline,))
        for token in map(query.token_id, names):
            if token is not None:
                ids = np.array([[token]], dtype=np.int64)
                return query.classifier.show(ids[0]), query.embed(ids)[0, 0]
        if self.baseline in TOKENS:
            raise SettingError(
                f"The model has no {self.baseline!r} token to start from.",
                'Use baseline="zero", or "auto" for what the model has.',
            )
        return "zero embeddings", np.zeros(width)

    def _imprecise(self, error: float, difference: float) -> tuple[str, ...]:
        if error <= max(SLACK * abs(difference), NEGLIGIBLE):
            return ()
        return (
            f"The scores miss the difference they should add up to, {difference:+.2f}, by"
            f" {error:.2g}: take more steps than {self.steps}.",
        )


@dataclass(frozen=True)
class Path:
    """The straight line between two texts' embeddings [tokens, width]."""

    baseline: FloatArray
    whole: FloatArray
    ids: IntArray  # [1, tokens]: of the whole

    def at(self, points: FloatArray) -> FloatArray:
        """Embeddings [points, tokens, width] at these fractions of the way."""
        return np.asarray(self.baseline + points[:, None, None] * (self.whole - self.baseline))


def integrate(
    query: Query, path: Path, steps: int, target: Target
) -> tuple[tuple[float, float], FloatArray]:
    """The margins at both ends, and the mean gradient [tokens, width] on the line between.

    The ends are asked along with the points between; their gradients have no weight.
    """
    points, weights = np.polynomial.legendre.leggauss(steps)  # on -1..1, where weights sum to 2
    points = np.concatenate([[0.0], (points + 1) / 2, [1.0]])
    weights = np.concatenate([[0.0], weights / 2, [0.0]])
    mean, margins = np.zeros_like(path.whole), np.empty(0)
    while len(margins) < len(points):
        # A batch at a time: all gradients of a long text are more than one wants to hold.
        now = slice(len(margins), len(margins) + query.gradient_rows(len(path.whole)))
        answers, gradients = query.gradients(
            path.at(points[now]), target.index, path.ids, target.against_index
        )
        mean += np.tensordot(weights[now], gradients, axes=1)
        margins = np.append(margins, answers)
    return (float(margins[0]), float(margins[-1])), mean


def _replaced(whole: FloatArray, neutral: FloatArray, players: Players) -> FloatArray:
    """Embeddings [tokens, width] with those of the text replaced, and the frame's kept."""
    baseline = whole.copy()
    baseline[players.positions] = neutral
    return baseline
