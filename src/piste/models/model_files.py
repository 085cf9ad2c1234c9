"""The files of a model: where they are, and a digest by which a change is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from piste.models.loading_errors import FORMATS, model_source
from piste.threads import Switch

# What neither a model nor its tokenizer is read from. What is unknown counts as one of theirs.
BESIDE = (".md", ".h5", ".msgpack", ".ot", ".onnx", ".onnx_data", ".pt", ".pth", ".tflite")
BESIDE_NAMES = ("training_args.bin", ".gitattributes", ".DS_Store")
CONFIGURATION = "config.json"
ADAPTER = "adapter_config.json"  # its weights are added to those of a model that lies elsewhere
CODE = "auto_map"  # names Python code that comes with the model


def local_folder(model: str) -> Path | None:
    """The folder that the model is read from; None where none of this machine holds it all.

    The hub is asked, as transformers would, whether there is a newer version of its model.
    """
    source = model_source(model)
    return Path(source) if Path(source).is_dir() else _snapshot(source)


def _snapshot(name: str) -> Path | None:
    """The folder of the hub's cache that holds the newest version of this model."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    try:
        if not isinstance(try_to_load_from_cache(name, CONFIGURATION), str):
            return None  # it was never loaded here
        with _no_bars:
            return Path(hf_hub_download(name, CONFIGURATION)).parent
    except Exception:  # no connection, no such model, no permission: transformers says which
        return None


def _without_bars() -> Callable[[], object]:
    hub: Any = import_module("huggingface_hub.utils")
    if hub.are_progress_bars_disabled():
        return lambda: None
    hub.disable_progress_bars()
    show: Callable[[], object] = hub.enable_progress_bars
    return show


_no_bars = Switch(_without_bars)


def files_digest(folder: Path) -> str | None:
    """Changes with every file that the model is read from; None where some lie elsewhere."""
    files = list(_files(folder))
    if not _is_whole(folder, {file.name for file in files}):
        return None
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        with file.open("rb") as stream:
            content = hashlib.file_digest(stream, "blake2b").hexdigest()
        digest.update(f"{file.name}\0{content}\n".encode())
    return digest.hexdigest()


def has_weights(folder: Path) -> bool:
    """Whether torch finds weights in the folder."""
    return any(next(folder.glob(kind), None) is not None for kind in FORMATS)


def _files(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.iterdir()):
        beside = file.suffix in BESIDE or file.name in BESIDE_NAMES
        if not beside and file.is_file():
            yield file


def _is_whole(folder: Path, names: set[str]) -> bool:
    """Whether these files are all that the model consists of."""
    if ADAPTER in names:
        return False
    settings = [_json(folder / name) for name in names if name.endswith("config.json")]
    if any(not isinstance(one, dict) or CODE in one for one in settings):
        return False
    indices = [_json(folder / name) for name in names if name.endswith(".index.json")]
    try:
        return all(set(index["weight_map"].values()) <= names for index in indices)
    except (AttributeError, KeyError, TypeError):
        return False


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except ValueError:
        return None
