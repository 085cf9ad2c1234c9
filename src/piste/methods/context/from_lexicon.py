"""Context on words that are known before: the lexicon is the mean, a few parts tell the rest.

With a lexicon no word is asked alone or in threes: SLALOM of this text is looked up. What is asked
are parts of the text, and the process is fitted to how far the lexicon is off on them. The lexicon
has seen none of these answers, so leave-one-out on them is honest as it is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from piste.arrays import BoolArray, FloatArray
from piste.decision import Decision
from piste.design.parts import left_out, paired_parts, whole_and_empty
from piste.lexicon import Lexicon
from piste.methods.base import Attribution, Method
from piste.methods.context import attributed
from piste.methods.context.asked import Asked
from piste.methods.context.asking import POOL, VERIFIED, Plan
from piste.methods.context.fit import Fit, fit_on
from piste.methods.sampling import check_size
from piste.methods.slalom.fit import Fit as SlalomFit
from piste.methods.slalom.from_lexicon import FromLexicon, TextByLexicon, check_words
from piste.options import Effort, whole_number
from piste.result.explanation import Target
from piste.result.facts import Fidelity
from piste.surrogates import algebra
from piste.surrogates.context import distinct

# forward passes of the whole text
PASSES: dict[Effort, float] = {"quick": 6.0, "light": 12.0, "normal": 20.0, "thorough": 60.0}
FIRST = 0.6  # of the parts, before the process chooses
ENDS = 2  # the whole text and the empty one are asked on top of `refine` parts


def with_words(lexicon: Lexicon, refine: int | None, effort: Effort) -> Method:
    """Context by a lexicon; with refine=0 nothing is known of the context, and SLALOM is left."""
    if refine == 0:
        return FromLexicon(lexicon, 0)
    return ContextFromLexicon(lexicon, refine, effort)


@dataclass(frozen=True)
class ContextFromLexicon(Method):
    """Values and importances from a lexicon, what words do in this text from a few parts of it.

    1. Look up the words. Those that the lexicon does not know are asked about, in company.
    2. Ask some parts of the text, then those from which the process learns most.
    3. Effects, interactions and their errors follow from the process, as without a lexicon.
    """

    name: ClassVar[str] = "context"

    lexicon: Lexicon
    refine: int | None = None  # parts of the text to ask; None: by the effort
    effort: Effort = "normal"

    def __post_init__(self) -> None:
        if self.refine is not None:
            whole_number("refine", self.refine, 1)

    def settings(self) -> dict[str, Any]:
        words = f"{len(self.lexicon):,} words"
        return {"lexicon": words, "refine": self.refine, "effort": self.effort}

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query = decision.query
        started, asking = time.perf_counter(), query.away
        check_size(decision.players)
        check_words(self.lexicon, query, decision.players)
        text = TextByLexicon.of(self.lexicon, decision)
        slalom, new_words = _slalom(text, rng)
        asked = OnLexiconScale(decision, text=text)
        attribution = attributed(asked, self._fitted(asked, slalom, rng), rng)
        errors = dict(attribution.errors)
        if not new_words:
            of_words = text.errors(rng)
            errors |= {name: of_words[name] for name in ("value", "importance", "lin")}
        return replace(
            attribution,
            errors=errors,
            fidelity=attribution.fidelity or Fidelity({"text": text.gap}),
            fit_seconds=time.perf_counter() - started - (query.away - asking),
            notes=(*text.unknown_note(new_words), *attribution.notes),
        )

    def _fitted(self, asked: OnLexiconScale, slalom: SlalomFit, rng: np.random.Generator) -> Fit:
        """Ask parts, more where the process is least sure, and fit."""
        plan = self._plan(asked)
        asked.query.plan(plan.expected)
        asked.ask(_first(plan, rng))
        with algebra.one_thread:  # small matrices: several threads wait for each other
            fit = fit_on(asked, slalom, None)
            more = plan.next(rng, fit.process, 1.0) if plan.left >= 1 else None
        if more is not None and asked.ask(more):
            with algebra.one_thread:
                fit = fit_on(asked, slalom, fit)
        return fit

    def _plan(self, asked: OnLexiconScale) -> Plan:
        """What may be asked: so many parts, or as many tokens as the effort allows."""
        left = asked.query.left
        most = None if left is None else left - min(VERIFIED, left // 10)
        if self.refine is None and most is None:
            whole = float(asked.tokens(whole_and_empty(len(asked.players)))[0])
            return Plan(asked, PASSES[self.effort] * whole, False)
        wanted = ENDS + (int(2 * PASSES[self.effort]) if self.refine is None else self.refine)
        return Plan(asked, wanted if most is None else min(wanted, most), True)


@dataclass
class OnLexiconScale(Asked):
    """Parts of the text, with the answers on the lexicon's scale."""

    text: TextByLexicon = field(kw_only=True)

    def scores(self, logits: FloatArray) -> FloatArray:
        return self.text.of_outputs(logits)[:, None]

    @property
    def target(self) -> Target:
        return self.text.target


def _slalom(text: TextByLexicon, rng: np.random.Generator) -> tuple[SlalomFit, bool]:
    """The lexicon's SLALOM of the text, and whether new words had to be asked about."""
    left = text.decision.query.left
    wanted = text.for_unknown if len(text.players.first) > 1 else 0
    if not wanted or (left is not None and left < 2 * wanted):
        return text.known, False
    return text.refitted(rng, wanted)[0], True


def _first(plan: Plan, rng: np.random.Generator) -> BoolArray:
    """The parts to begin with: both ends, in short texts every word left out, then any."""
    count = len(plan.asked.players)
    parts = [whole_and_empty(count)]
    if plan.leaves_out:
        parts.append(left_out(count))
    parts.append(paired_parts(rng, count, 2 * POOL, plan.asked.players.ids.lengths))
    kept = plan.cut(distinct(np.vstack(parts), []), FIRST)
    return kept if len(kept) >= ENDS else parts[0]
