"""`piste.load`: the door to models. Torch is imported when it is walked through."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from piste.models.huggingface import HuggingFaceClassifier


def load(
    model: str | os.PathLike[str] | Any = "demo",
    tokenizer: Any = None,
    *,
    device: str | None = None,
    backend: str = "auto",
) -> HuggingFaceClassifier:
    """A Hugging Face text classifier: a hub name, a directory, or a `PreTrainedModel`.

    Without an argument it is the small sentiment model that ships with piste. A model object
    without a known origin needs its `tokenizer` (an object, a name or a directory).
    """
    from piste.models.huggingface import load_huggingface

    return load_huggingface(model, tokenizer, device=device, backend=backend)
