"""Which contenders run, how they are set, and how much of the time each may take."""

from collections.abc import Sequence
from dataclasses import dataclass

from contenders import CONTENDERS, Contender

LONG = 60  # minutes from which lime's own 5,000 samples are worth trying


@dataclass(frozen=True)
class Run:
    """One contender with one setting. Neither samples nor budget: the library's defaults."""

    name: str
    seconds: float  # its allowance, before it is scaled to the minutes given
    samples: int | None = None
    budget: int | None = None  # tokens through the model / tokens of the text

    @property
    def contender(self) -> Contender:
        return CONTENDERS[self.name]

    @property
    def key(self) -> str:
        """The name of its file of results."""
        if self.budget is not None:
            return f"{self.name}-fe{self.budget}"
        return self.name if self.samples is None else f"{self.name}-{self.samples}"

    @property
    def title(self) -> str:
        if self.budget is not None:
            return f"{self.contender.title}, budget {self.budget}"
        return self.contender.title + (f", {self.samples:,} samples" if self.samples else "")

    @property
    def options(self) -> list[str]:
        size = ["--samples", str(self.samples)] if self.samples else []
        return size + (["--budget", str(self.budget)] if self.budget else [])


FIRST = Run("piste", 90)  # everybody is compared with it, and its cost is the equal budget


def full(budget: int, minutes: float) -> list[Run]:
    long = [Run("lime", 400)] if minutes >= LONG else []
    return [
        *_ours(budget),
        Run("slalom", 90),
        Run("slalom", 150, samples=5000),
        Run("lime", 220, samples=1000),
        Run("shap-kernel", 260),
        Run("shap-kernel-all", 260),
        Run("shap-partition", 140),
        Run("captum-lime", 50),
        Run("captum-kernel", 50),
        Run("interpreto-lime", 90),
        Run("interpreto-kernel", 90),
        Run("interpreto-occlusion", 90),
        *(Run(name, 70, budget=budget) for name in SAMPLING),
        *long,
    ]


def full_embedded(budget: int, minutes: float) -> list[Run]:
    """The small model: fewer contenders, each at its defaults and at the equal budget.

    slalom-explanations is left out: it writes BERT's special ids 101 and 102 around every
    sequence, and to this tokenizer those are other words.
    """
    return [
        Run("piste-token", 20),
        Run("piste-ana", 20),
        Run("lime", 40, samples=1000),
        Run("shap-kernel-all", 40),
        Run("shap-partition", 40),
        Run("interpreto-occlusion", 20),
        *(Run(name, 20, budget=budget) for name in ("lime", "shap-kernel", "captum-lime")),
    ]


def quick(budget: int, minutes: float) -> list[Run]:
    """Every library once, with few samples: shows that all of it works."""
    return [
        Run("piste-token", 10),
        Run("piste-ana", 10),
        Run("slalom", 10, samples=200),
        *(Run(name, 10, budget=20) for name in ("lime", "shap-kernel", "shap-partition")),
        Run("captum-lime", 10),
        Run("interpreto-occlusion", 10),
    ]


def quick_embedded(budget: int, minutes: float) -> list[Run]:
    return [Run("lime", 10, budget=20)]


def scaled(runs: Sequence[Run], minutes: float) -> list[tuple[Run, float]]:
    """Every run with its seconds, so that all together take the minutes."""
    total = sum(run.seconds for run in runs)
    return [(run, run.seconds * 60 * minutes / total) for run in runs]


def _ours(budget: int) -> list[Run]:
    smaller = [Run("piste", 80, budget=part) for part in (budget // 4, budget // 2)]
    others = [Run("piste-token", 90), Run("piste-torch", 90), Run("piste-context", 240)]
    return [*others, Run("piste-ana", 30), *smaller]


# shap's Kernel needs more samples than words once it may score them all: at an equal budget it
# has fewer, its equations are singular, and only the default that keeps ten words is sensible.
SAMPLING = (
    "slalom",
    "lime",
    "shap-kernel",
    "shap-partition",
    "captum-lime",
    "captum-kernel",
    "interpreto-lime",
    "interpreto-kernel",
)
