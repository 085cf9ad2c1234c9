"""All checks of the papers' claims, and all measurements of their open questions."""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch

from papers.tables import Finding, Table
from papers.theory import checks_attention, checks_slalom
from papers.theory.attention_and_removal import attention_and_depth, attention_and_values
from papers.theory.lime_in_depth import lime_in_depth
from papers.theory.subwords import conjunctions, subwords

Check = Callable[[], Finding]
CHECKS: tuple[Check, ...] = (*checks_slalom.CHECKS, *checks_attention.CHECKS)


def run_checks(checks: Sequence[Check] = CHECKS) -> Iterator[Finding]:
    """Every claim, as it is checked."""
    with one_thread():
        for check in checks:
            yield check()


def open_questions() -> Iterator[Table]:
    """What the papers left open, measured: a minute or two."""
    with one_thread():
        yield lime_in_depth()
        yield attention_and_values()
        yield attention_and_depth()
        yield conjunctions()
        yield from subwords()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread: on models this small, several only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
