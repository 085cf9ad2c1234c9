"""The probabilities of label words, from the likeliest first tokens of an answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

import numpy as np

from piste.models.backends.transport import TransientError

# Rounding may lift a log-probability above 0. Much more is no log-probability.
MOST_LOG_PROBABILITY = 1e-3


def parsed(body: bytes) -> Any:
    """The JSON of an answer. A malformed one may pass."""
    try:
        return json.loads(body, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        problem = type(error).__name__
    # The parser's message would quote the answer.
    raise TransientError(f"an answer that is not JSON ({problem})")


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def top_tokens(answer: Any, api: str) -> dict[str, float]:
    """The likeliest first tokens and their log-probabilities. Malformed answers may pass."""
    try:
        logprobs = answer["choices"][0]["logprobs"]
        if api == "chat":
            entries = logprobs["content"][0]["top_logprobs"]
            pairs = [(entry["token"], entry["logprob"]) for entry in entries]
        else:
            pairs = list(logprobs["top_logprobs"][0].items())
        tokens = {str(token): float(value) for token, value in pairs}
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = type(error).__name__
    else:
        if are_log_probabilities(tokens):
            return tokens
        raise TransientError("an answer whose log-probabilities are not numbers up to 0")
    raise TransientError(f"an answer without log-probabilities ({problem})")


def are_log_probabilities(tokens: Any) -> TypeGuard[dict[str, float]]:
    """Whether these are tokens with finite log-probabilities."""
    return (
        isinstance(tokens, dict)
        and bool(tokens)
        and all(
            isinstance(value, float) and math.isfinite(value) and value <= MOST_LOG_PROBABILITY
            for value in tokens.values()
        )
    )


def label_scores(tokens: Mapping[str, float], labels: Sequence[str]) -> tuple[list[float], int]:
    """The log-probability of each label, and how many of them are bounds only.

    A token counts for the one label that it begins; one that begins several counts for none.
    """
    names = [bare(label) for label in labels]
    shares: list[list[float]] = [[] for _ in labels]
    for token, value in tokens.items():
        start = bare(token)
        fits = [index for index, name in enumerate(names) if start and name.startswith(start)]
        if len(fits) == 1:
            shares[fits[0]].append(value)
    left = math.log(max(1e-9, 1 - sum(math.exp(value) for value in tokens.values())))
    bound = min(left, min(tokens.values()))
    scores = [float(np.logaddexp.reduce(share)) if share else bound for share in shares]
    return scores, sum(not share for share in shares)


def bare(word: str) -> str:
    """A token or label without the marks around it, in one case."""
    return word.strip(" \t\n\"'.:Ġ▁").casefold()
