"""Turns loading errors of transformers into ModelErrors, and checks what was loaded.

The readers below us fail in a hundred ways of their own; what they say is kept as the reason.
"""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from piste.errors import ModelError, few

CONFIGURATION, WEIGHTS, TOKENIZER = "the configuration of", "the weights of", "the tokenizer of"
FORMATS = ("model*.safetensors*", "pytorch_model*.bin*")
VOCABULARIES = ("tokenizer.json", "vocab*", "*.model", "merges.txt")
_LAYER = re.compile(r"(.*?\.\d+)\.")  # such as bert.encoder.layer.7
_NO_MEMORY = ("out of memory", "allocate memory", "enough memory", "bad_alloc", "bad alloc")
_WHOLE = (
    "Give a directory that holds config.json, model.safetensors and a tokenizer,"
    " or the name of a text classifier on the Hugging Face hub (needs a connection)."
)


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
    """Raise an error for a misspelt "demo" without asking the hub."""
    if name != "demo" and sorted(name) == sorted("demo"):
        raise ModelError(f"There is no model {name!r}.", 'Did you mean "demo"?')


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    lines = str(error).strip().split("\n")
    return lines[0].rstrip(".:") or type(error).__name__


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a smaller batch may help; torch and OpenVINO raise RuntimeErrors for it."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or any(sign in message for sign in _NO_MEMORY)


def loading_error(what: str, source: str, error: Exception) -> ModelError:
    """The error for a part of a model (`what`) that its reader gave up on."""
    if "trust_remote_code" in str(error):
        return _needs_code(source)
    if "CVE-2025-32434" in str(error):
        return _old_torch(source)
    if "weights_only" in str(error) or "Weights only" in str(error):
        return _unsafe_pickle(source)
    missing = _missing(what, source)
    if missing is not None:
        return missing
    if what == WEIGHTS and ("mismatched" in str(error) or "size mismatch" in str(error)):
        return ModelError(
            f"Cannot load the weights of {source!r}: they do not have the shapes of config.json.",
            "Take both from the same model.",
        )
    here = "" if Path(source).is_dir() else "there is no folder of that name here, and the hub: "
    cause = f"Cannot load {what} {source!r}: {here}{first_line(error)}."
    return ModelError(cause, _remedy(what, source, error))


def _needs_code(source: str) -> ModelError:
    return ModelError(
        f"{source!r} needs Python code that comes with it, and piste runs no such code unasked.",
        "Read that code first; then load it with trust_remote_code=True (--trust-remote-code).",
    )


def _old_torch(source: str) -> ModelError:
    return ModelError(
        f"Cannot load the weights of {source!r}: torch before 2.6 cannot read a pickle safely.",
        "Use a copy in the safetensors format, or install torch 2.6 or newer.",
    )


def _unsafe_pickle(source: str) -> ModelError:
    return ModelError(
        f"Cannot load the weights of {source!r}: its pickle holds more than weights, and could run"
        " code.",
        "Use a copy in the safetensors format; from a source you trust, save the model again with"
        " save_pretrained().",
    )


def _missing(what: str, source: str) -> ModelError | None:
    """The error for a directory that lacks the file; None where it is there, or on the hub."""
    folder = Path(source)
    if not folder.is_dir():
        return None
    # Some readers of weights say nothing of a missing configuration.
    if what in (CONFIGURATION, WEIGHTS) and not (folder / "config.json").exists():
        return ModelError(
            f"Cannot load the configuration of {source!r}: there is no config.json.",
            "Give the directory that save_pretrained() wrote, not one above or beside it.",
        )
    if what == WEIGHTS and not _has_any(folder, FORMATS):
        return ModelError(
            f"Cannot load the weights of {source!r}: there is no model.safetensors.",
            "Put the weights beside config.json; from a git clone, fetch them with git lfs pull.",
        )
    if what == TOKENIZER and not _has_any(folder, VOCABULARIES):
        return ModelError(
            f"The tokenizer of {source!r} knows no words.",
            "Put the model's tokenizer.json beside its weights, or pass load(model, tokenizer).",
        )
    return None


def _has_any(folder: Path, kinds: tuple[str, ...]) -> bool:
    return any(True for kind in kinds for _ in folder.glob(kind))


def _remedy(what: str, source: str, error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "It does not fit into memory: use a smaller model."
    if not Path(source).is_dir():
        return _WHOLE
    if what == WEIGHTS:
        return "The file is damaged or cut short: download or copy it again (or git lfs pull)."
    if what == TOKENIZER:
        return (
            "tokenizer.json or tokenizer_config.json is damaged: copy it again,"
            " or pass load(model, tokenizer)."
        )
    return "config.json is damaged or of a kind that this transformers does not know: check it."


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
