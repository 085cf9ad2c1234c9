"""A causal language model as a zero-shot classifier: how probable each label is after a prompt."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from piste.arrays import FloatArray, IntArray
from piste.errors import ModelError, SettingError, percent
from piste.models import loading_errors
from piste.models.backends.next_tokens import NextTokens
from piste.models.backends.pretrained import (
    NO_CODE,
    array,
    check_device,
    check_tokenizer,
    evaluating,
    given_tokenizer,
    limit_of,
    load_tokenizer,
    loading_type,
    quiet,
    read,
)
from piste.models.backends.prompt import Prompt, check_answers, read_prompt
from piste.models.backends.reading import plain
from piste.models.protocol import Outputs, described
from piste.text.encoding import Encoding
from piste.threads import lock_for

LITTLE = 0.1  # of the probability on all labels together: the model would say something else


@dataclass(frozen=True, repr=False)
class LanguageModelClassifier:
    """A causal language model asked which label follows a prompt. Build it with `from_llm`."""

    model: Any  # PreTrainedModel
    prompt: Prompt
    labels: tuple[str, ...]
    answers: tuple[tuple[int, ...], ...]  # the tokens of each label
    name: str
    outputs: Outputs = "classes"

    def __repr__(self) -> str:
        return described(self)

    @property
    def backend(self) -> str:
        return f"torch {torch.__version__} on {self.model.device}"

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        with quiet, lock_for(self.prompt.tokenizer):
            return self.prompt.encode(text, pair)

    def logits(self, ids: IntArray) -> FloatArray:
        """The log-probability of each label [rows, labels]."""
        with torch.inference_mode(), evaluating(self.model):
            return array(self._scores(self._tensor(plain(ids))))

    def notes(self, may_ask: bool = True, whole: FloatArray | None = None) -> tuple[str, ...]:
        share = 1.0 if whole is None else float(np.exp(whole).sum())
        if share >= LITTLE:
            return ()
        return (
            f"For the whole text all labels together have {percent(share, 1)} of the"
            " probability: the model would rather say something else, and this explains the odds"
            " between the labels only. Another prompt, or labels spelled as the model answers,"
            " may help.",
        )

    def show(self, ids: IntArray) -> str:
        with lock_for(self.prompt.tokenizer):
            return str(self.prompt.tokenizer.decode(plain(ids).tolist()))

    def _scores(self, rows: torch.Tensor) -> torch.Tensor:
        """The log-probabilities of each label's tokens, added up.

        One pass for each label of several tokens; each tells the first token's too.
        """
        summed: dict[int, torch.Tensor] = {}
        first = None
        for index, answer in enumerate(self.answers):
            if len(answer) > 1:
                every = self._after(rows, answer)
                steps = torch.arange(len(answer), device=rows.device)
                summed[index] = every[:, steps, self._tensor(answer)].sum(dim=1)
                first = every[:, 0]
        first = self._after(rows, self.answers[0][:1])[:, 0] if first is None else first
        columns = [summed.get(i, first[:, answer[0]]) for i, answer in enumerate(self.answers)]
        return torch.stack(columns, dim=1)

    def _after(self, rows: torch.Tensor, answer: tuple[int, ...]) -> torch.Tensor:
        """Log-probabilities of every token in each place of an answer [rows, places, tokens]."""
        given = self._tensor(answer[:-1]).expand(len(rows), -1)
        return self._next.log_probabilities(torch.cat([rows, given], dim=1), len(answer))

    @cached_property
    def _next(self) -> NextTokens:
        return NextTokens(self.model, self.prompt.beginning)

    def _tensor(self, numbers: IntArray | Sequence[int]) -> torch.Tensor:
        return torch.from_numpy(np.array(numbers, dtype=np.int64)).to(self.model.device)


def from_llm(
    model: str | os.PathLike[str] | Any,
    labels: Sequence[str],
    prompt: str,
    tokenizer: Any = None,
    *,
    device: str | None = None,
    name: str | None = None,
) -> LanguageModelClassifier:
    """A classifier from a causal language model that runs here, without training.

    A label's score is the log-probability that the model continues the prompt with it.

    model: a hub name, a directory, a .gguf file or a `PreTrainedModel`.
    prompt: the question, with {text} where the text stands (and {pair} for a second text). Where
    the tokenizer has a chat template it is the user's message. Only the text's words are scored.
    """
    if isinstance(labels, str):
        raise SettingError("labels is one string.", f"Pass a list, such as [{labels!r}, ...].")
    names = tuple(map(str, labels))
    check_device(device)
    loaded, tokenizer = _loaded(model, tokenizer, device)
    check_tokenizer(tokenizer)
    if device is not None:
        loaded.to(device)
    with quiet:
        asked = read_prompt(tokenizer, prompt)
        answers = tuple(asked.answer(label) for label in names)
    check_answers(names, answers)
    limit = limit_of(loaded, tokenizer) - max(map(len, answers)) + 1
    known = int(loaded.get_input_embeddings().num_embeddings)
    asked = replace(asked, limit=limit, vocabulary=known)
    named = name or _name(model)
    return LanguageModelClassifier(loaded, asked, names, answers, named)


def _loaded(model: Any, tokenizer: Any, device: str | None) -> tuple[Any, Any]:
    if not isinstance(model, str | os.PathLike):
        _check_kind(model)
        return model, given_tokenizer(tokenizer, model)
    source, file = _source(os.fspath(model))
    loaded = _load_model(source, file, device)
    if tokenizer is not None:
        return loaded, load_tokenizer(tokenizer)
    make = partial(AutoTokenizer.from_pretrained, trust_remote_code=False, **file)
    return loaded, read(loading_errors.TOKENIZER, source, make)


def _source(name: str) -> tuple[str, dict[str, str]]:
    """Where the model is; a file of llama.cpp's by its folder and its name."""
    path = Path(name).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return str(path.parent), {"gguf_file": path.name}
    return loading_errors.model_source(name), {}


def _load_model(source: str, file: dict[str, str], device: str | None) -> Any:
    if not file:  # what is missing is told apart from what is damaged
        read(loading_errors.CONFIGURATION, source, partial(AutoConfig.from_pretrained, **NO_CODE))
    make = partial(
        AutoModelForCausalLM.from_pretrained,
        output_loading_info=True,
        dtype=loading_type(device),
        trust_remote_code=False,  # left unsaid, transformers asks on standard input
        **file,
    )
    # The reader of GGUF files has a progress bar that no setting turns off.
    with contextlib.redirect_stderr(io.StringIO()) if file else contextlib.nullcontext():
        model, report = read(
            loading_errors.WEIGHTS if not file else "the GGUF file of", source, make
        )
    kinds = model.config.architectures or []
    trained_for = [kind for kind in kinds if "MaskedLM" in kind or "Classification" in kind]
    if report["missing_keys"] or trained_for:
        raise _no_language_model(", ".join(kinds) or source)
    return model


def _check_kind(model: Any) -> None:
    if not isinstance(model, transformers.PreTrainedModel):
        raise ModelError(
            f"Cannot use a {type(model).__name__} as a language model.",
            "Give a name, a directory or a transformers model.",
        )
    if not model.can_generate() or getattr(model.config, "is_encoder_decoder", False):
        raise _no_language_model(type(model).__name__)


def _no_language_model(kind: str) -> ModelError:
    return ModelError(
        f"{kind} is not a causal language model: it was not trained to continue a text.",
        "Load it with AutoModelForCausalLM; for a text classifier use piste.load(model).",
    )


def _name(model: Any) -> str:
    if isinstance(model, str | os.PathLike):
        return os.fspath(model)
    return str(model.config.name_or_path or type(model).__name__)
