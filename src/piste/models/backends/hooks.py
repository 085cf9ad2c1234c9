"""Hooks that a question leaves on the user's model, taken off again."""

import contextlib
from collections.abc import Iterator
from typing import Any

INSTALLED = "_output_capturing_hooks_installed"  # how transformers knows that it has been here


@contextlib.contextmanager
def unhooked(model: Any) -> Iterator[None]:
    """Without the hooks that transformers adds to tell attention weights, and leaves.

    They are local functions: a model that keeps them can no longer be pickled.
    """
    before = [(part, set(part._forward_hooks), INSTALLED in vars(part)) for part in model.modules()]
    try:
        yield
    finally:
        for part, known, marked in before:
            for key in set(part._forward_hooks) - known:
                del part._forward_hooks[key]
            if not marked:
                vars(part).pop(INSTALLED, None)
