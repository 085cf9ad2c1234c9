"""Hugging Face classifiers in torch: loaded from a name or a directory, or taken as objects."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from piste.errors import ModelError, OutputError
from piste.explanation import FloatArray
from piste.models.protocol import Outputs
from piste.ragged import IntArray
from piste.text.encoding import Encoding, Frame


@dataclass(frozen=True, repr=False)
class HuggingFaceClassifier:
    """A sequence classifier and its tokenizer. The model is used as it is, in evaluation mode."""

    model: Any  # PreTrainedModel
    tokenizer: Any  # PreTrainedTokenizerFast
    name: str
    notice: str = ""  # something the user should know with every explanation

    def __repr__(self) -> str:
        return f"<{self.name}: {', '.join(self.labels)}; {self.backend}>"

    @property
    def backend(self) -> str:
        return f"torch {torch.__version__} on {self.model.device}"

    @property
    def labels(self) -> tuple[str, ...]:
        names = self.model.config.id2label
        return tuple(str(names[index]) for index in sorted(names))

    @property
    def outputs(self) -> Outputs:
        config = self.model.config
        if config.problem_type == "multi_label_classification":
            return "labels"
        is_regression = config.num_labels == 1 or config.problem_type == "regression"
        return "raw" if is_regression else "classes"

    @cached_property
    def limit(self) -> int:
        """The longest sequence the model reads, special tokens included."""
        stated = int(self.tokenizer.model_max_length)
        return min(stated, _positions(self.model) or stated)

    def encode(self, text: str) -> Encoding:
        with quiet():
            encoded = self.tokenizer(
                text, return_offsets_mapping=True, return_special_tokens_mask=True
            )
        ids, spans = encoded["input_ids"], encoded["offset_mapping"]
        body = np.flatnonzero(np.array(encoded["special_tokens_mask"]) == 0).tolist()
        self._check_ids(ids)
        _check_types(encoded.get("token_type_ids", ()))
        frame = _frame(ids, body)
        used = body[: max(0, self.limit - frame.size)]
        kept = tuple(ids[i] for i in used)
        notes = _truncation(text, len(body), len(used), spans[used[-1]][1] if used else 0)
        notes += self._unknown(kept) + ((self.notice,) if self.notice else ())
        return Encoding(text, kept, tuple(tuple(spans[i]) for i in used), kept, frame, notes)

    def logits(self, ids: IntArray) -> FloatArray:
        inputs = torch.from_numpy(np.ascontiguousarray(ids)).to(self.model.device)
        try:
            with torch.inference_mode(), evaluating(self.model), unpadded(self.model):
                logits = self.model(input_ids=inputs, attention_mask=torch.ones_like(inputs)).logits
        except (ValueError, IndexError) as error:
            raise OutputError(
                f"The model refuses {self.show(ids[0])[:80]!r} and its like: {_first_line(error)}.",
                "Some models count special tokens: take them out of the text.",
            ) from error
        return np.asarray(logits.float().cpu().numpy(), dtype=np.float64)

    def _check_ids(self, ids: list[int]) -> None:
        known = self.model.get_input_embeddings().num_embeddings
        if max(ids, default=0) >= known:
            raise ModelError(
                f"The tokenizer gives id {max(ids)}, but the model knows only {known} tokens.",
                "They do not belong together: pass the tokenizer the model was trained with.",
            )

    def _unknown(self, ids: tuple[int, ...]) -> tuple[str, ...]:
        unknown = ids.count(self.tokenizer.unk_token_id)
        if not unknown:
            return ()
        token = self.tokenizer.unk_token
        return (
            f"{unknown:,} of {len(ids):,} tokens are unknown to the model: it reads each as"
            f" {token}, and cannot tell them apart.",
        )

    def show(self, ids: IntArray) -> str:
        return str(self.tokenizer.decode(ids.tolist()))


def load_huggingface(
    model: Any, tokenizer: Any = None, *, device: str | None = None
) -> HuggingFaceClassifier:
    """The torch classifier behind `piste.load`."""
    _check_device(device)
    if isinstance(model, str | os.PathLike):
        source = _source(os.fspath(model))
        loaded, name = _load_model(source, device), str(model)
        tokenizer = _load_tokenizer(source if tokenizer is None else tokenizer)
    else:
        loaded, name = _given_model(model), model.config.name_or_path or type(model).__name__
        tokenizer = _given_tokenizer(tokenizer, loaded)
    if device is not None:
        loaded.to(device)
    _check_tokenizer(tokenizer)
    return HuggingFaceClassifier(loaded, tokenizer, name)


def _source(name: str) -> str:
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


def _load_model(source: str, device: str | None) -> Any:
    config = _read("the configuration of", source, AutoConfig.from_pretrained)
    # Half precision is slow and coarse on a CPU; on an accelerator the checkpoint decides.
    dtype = torch.float32 if torch.device(device or "cpu").type == "cpu" else "auto"
    model, report = _read(
        "the weights of",
        source,
        lambda path: AutoModelForSequenceClassification.from_pretrained(
            path, config=config, output_loading_info=True, dtype=dtype
        ),
    )
    _check_head(source, config, report)
    return model


def _load_tokenizer(source: Any) -> Any:
    if not isinstance(source, str | os.PathLike):
        return source
    return _read("the tokenizer of", str(source), AutoTokenizer.from_pretrained)


def _read(what: str, source: str, reader: Any) -> Any:
    """Call a `from_pretrained`, and say in one line what it could not find."""
    try:
        with quiet():
            return reader(source)
    except Exception as error:  # a damaged file fails in a way of its own in every reader
        raise ModelError(
            f"Cannot load {what} {source!r}: {_first_line(error)}.",
            "Give a directory that holds config.json, model.safetensors and a tokenizer,"
            " or the name of a text classifier on the Hugging Face hub (needs a connection).",
        ) from error


def _check_head(source: str, config: Any, report: dict[str, Any]) -> None:
    missing = sorted(report["missing_keys"])
    if missing:
        kind = ", ".join(config.architectures or ["unknown"])
        raise ModelError(
            f"{source!r} ({kind}) has no trained classification head: {', '.join(missing[:3])}"
            " would be random, and its scores noise.",
            "Fine-tune it as a sequence classifier first, or name one that is.",
        )


def _given_model(model: Any) -> Any:
    if not isinstance(model, transformers.PreTrainedModel):
        raise ModelError(
            f"Cannot use a {type(model).__name__} as a model.",
            "Give a name, a directory or a transformers model; for a function of texts,"
            " piste.from_function(fn).",
        )
    if "SequenceClassification" not in type(model).__name__:
        raise ModelError(
            f"A {type(model).__name__} has no classification head.",
            "Load it with AutoModelForSequenceClassification, or wrap what turns it into scores"
            " with piste.from_function(fn).",
        )
    return model


def _given_tokenizer(tokenizer: Any, model: Any) -> Any:
    if tokenizer is not None:
        return _load_tokenizer(tokenizer)
    if not model.config.name_or_path:
        raise ModelError("A model object needs its tokenizer.", "Pass load(model, tokenizer).")
    return _load_tokenizer(model.config.name_or_path)


def _check_tokenizer(tokenizer: Any) -> None:
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


def _first_line(error: Exception) -> str:
    lines = str(error).strip().split("\n")
    return lines[0].rstrip(".:") or type(error).__name__


def _check_device(device: str | None) -> None:
    """Find out before anything is loaded whether the device is there."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(
            f"Cannot use device {device!r}: {_first_line(error)}.",
            'Give "cpu", or "cuda" or "mps" if you have it.',
        ) from error


def _positions(model: Any) -> int | None:
    """How many positions the model has, less those that its padding scheme keeps for itself."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions <= 0:
        return None
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            return positions - (0 if module.padding_idx is None else module.padding_idx + 1)
    return positions


def _check_types(types: Sequence[int]) -> None:
    """Segment numbers other than 0 are not sent yet: better refused than explained wrongly."""
    if any(types):
        raise ModelError(
            "This tokenizer marks a single text with segment numbers, which piste does not send.",
            "Use a model whose tokenizer does not.",
        )


def _frame(ids: list[int], body: list[int]) -> Frame:
    if not body:
        return Frame(tuple(ids))
    return Frame(tuple(ids[: body[0]]), tuple(ids[body[-1] + 1 :]))


def _truncation(text: str, tokens: int, used: int, end: int) -> tuple[str, ...]:
    if used == tokens:
        return ()
    return (
        f"The text has {tokens:,} tokens, more than the model reads: only the first {used:,}"
        f" (up to character {end:,} of {len(text):,}) were used and explained.",
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the libraries' progress bars and notices; their settings come back as they were."""
    settings = transformers.utils.logging
    hub = logging.getLogger("huggingface_hub")
    verbosity, bars, level = settings.get_verbosity(), settings.is_progress_bar_enabled(), hub.level
    settings.set_verbosity(settings.CRITICAL)
    settings.disable_progress_bar()
    hub.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        settings.set_verbosity(verbosity)
        hub.setLevel(level)
        if bars:
            settings.enable_progress_bar()


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Dropout off while we ask; a model in training comes back in training."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


@contextlib.contextmanager
def unpadded(model: Any) -> Iterator[None]:
    """Decoders look for the last token that is not padding; ours are never padded.

    An impossible padding id makes that the last token, whatever the text holds.
    """
    config = model.config
    decoder = hasattr(config, "pad_token_id") and _reads_last_token(model)
    before = config.pad_token_id if decoder else None
    if decoder:
        config.pad_token_id = -1
    try:
        yield
    finally:
        if decoder:
            config.pad_token_id = before


def _reads_last_token(model: Any) -> bool:
    """Decoder classifiers name their head `score`; encoders `classifier`."""
    return isinstance(getattr(model, "score", None), torch.nn.Linear)
