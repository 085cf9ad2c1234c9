"""What can be said of a model's name, its tokenizer and its weights without torch."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from piste.arrays import IntArray
from piste.errors import ModelError, few
from piste.models.loading_errors import first_line as first_line

_LAYER = re.compile(r"(.*?\.\d+)\.")  # such as bert.encoder.layer.7


def model_source(name: str) -> str:
    """The embedded model, a directory, or a name for the hub."""
    if name == "demo":
        return str(files("piste.models") / "demo")
    path = Path(name).expanduser()
    if path.is_dir():
        return str(path)
    if path.exists():
        raise ModelError(f"{name} is a file, not a model directory.", "Give its directory.")
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1 or not name:
        raise ModelError(
            f"There is no directory {name!r}.",
            "Give a directory saved with save_pretrained(), or a name on the Hugging Face hub.",
        )
    _guess(name)
    return name


def _guess(name: str) -> None:
    """A near miss of "demo" should not wait for the hub."""
    if name != "demo" and sorted(name) == sorted("demo"):
        raise ModelError(f"There is no model {name!r}.", 'Did you mean "demo"?')


def check_head(source: str, config: Any, report: dict[str, Any]) -> None:
    """Refuse a model whose last layer was not among the loaded weights."""
    missing = sorted(report["missing_keys"])
    if missing:
        kind = ", ".join(config.architectures or ["unknown"])
        raise ModelError(
            f"{source!r} ({kind}) has no trained classification head: {', '.join(missing[:3])}"
            " would be random, and its scores noise.",
            "Fine-tune it as a sequence classifier first, or name one that is.",
        )


def unused_layers(report: dict[str, Any]) -> str:
    """The notice on numbered layers that are among the weights but not in the configuration."""
    layers = sorted({match[1] for key in report["unexpected_keys"] if (match := _LAYER.match(key))})
    if not layers:
        return ""
    return (
        f"The weights hold layers that config.json does not name ({few(layers, 3)}), and the model"
        " runs without them. If that is not meant, correct the number of layers in config.json."
    )


def check_tokenizer(tokenizer: Any) -> None:
    """Refuse a tokenizer without offsets, or without words."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"The tokenizer {type(tokenizer).__name__} cannot tell where its tokens stand.",
            "Use the fast tokenizer of this model (tokenizer.json).",
        )
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        # transformers makes an empty tokenizer when it finds no files for one
        raise ModelError(
            f"The tokenizer of {tokenizer.name_or_path!r} knows no words.",
            "Put the model's tokenizer.json beside its weights, or pass load(model, tokenizer).",
        )


def check_types(types: Sequence[int], known: int) -> None:
    """Refuse token types that the model has no embedding for."""
    if max(types, default=0) >= known:
        raise ModelError(
            f"The tokenizer gives token type {max(types)}, but the model knows only {known}.",
            "They do not belong together: pass the tokenizer the model was trained with.",
        )


def check_ids(ids: Sequence[int], known: int | None) -> None:
    """Refuse ids that the model has no embedding for."""
    if known is not None and max(ids, default=0) >= known:
        raise ModelError(
            f"The tokenizer gives id {max(ids)}, but the model knows only {known} tokens.",
            "They do not belong together: pass the tokenizer the model was trained with.",
        )


def unknown(ids: tuple[int, ...], tokenizer: Any) -> tuple[str, ...]:
    """The note on tokens that the model cannot tell apart."""
    found = ids.count(tokenizer.unk_token_id)
    if not found:
        return ()
    return (
        f"{found:,} of {len(ids):,} tokens are unknown to the model: it reads each as"
        f" {tokenizer.unk_token}, and cannot tell them apart.",
    )


def no_embeddings(name: str, why: str) -> ModelError:
    """The error for a model that cannot be entered behind its tokens."""
    return ModelError(
        f"{name} does not take embeddings in place of tokens: {why}.",
        "Explain it by a method that asks for answers only, such as slalom.",
    )


def square(weights: Any, tokens: int) -> Any:
    """Attention weights of every layer [rows, heads, tokens, tokens], or why they are none."""
    shapes = {tuple(layer.shape[2:]) for layer in weights or () if layer is not None}
    if shapes != {(tokens, tokens)} or any(layer is None or layer.min() < 0 for layer in weights):
        raise ModelError(
            "The model does not tell how much each token attends to each other one.",
            "Explain it by a method that does without attention, such as slalom or gradients.",
        )
    return weights


def only_position(used: IntArray | None) -> int:
    """The one position that the classification is read from."""
    if used is None or len(used) != 1:
        where = "an unknown position" if used is None or not len(used) else f"{len(used)} positions"
        raise ModelError(
            f"The model reads its answer from {where}: there is no one token whose attention"
            " would explain it.",
            "Explain it by a method that does without attention, such as slalom or gradients.",
        )
    return int(used[0])
