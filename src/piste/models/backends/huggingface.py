"""Hugging Face classifiers in torch: loaded from a name or a directory, or taken as objects."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForSequenceClassification

from piste.arrays import FloatArray, IntArray
from piste.errors import ModelError, OutputError, kind_of
from piste.models import loading_errors
from piste.models.backends.pretrained import (
    QuietReader,
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
from piste.models.backends.reading import (
    ANY_TYPE,
    Reader,
    labels_of,
    outputs_of,
    plain,
    types_of,
)
from piste.models.protocol import Outputs, described
from piste.text.encoding import Encoding

INSTALLED = "_output_capturing_hooks_installed"  # how transformers marks a model that has its hooks


@dataclass(frozen=True, repr=False)
class HuggingFaceClassifier:
    """A sequence classifier and its tokenizer. The model is used as it is, in evaluation mode."""

    model: Any  # PreTrainedModel
    tokenizer: Any  # PreTrainedTokenizerFast
    name: str
    notice: str = ""  # something the user should know with every explanation
    owned: bool = False  # piste read the model from files: nobody else changes its weights

    def __repr__(self) -> str:
        return described(self)

    @property
    def backend(self) -> str:
        return f"torch {torch.__version__} on {self.model.device}"

    @property
    def labels(self) -> tuple[str, ...]:
        return labels_of(self.model.config)

    @property
    def outputs(self) -> Outputs:
        return outputs_of(self.model.config)

    @cached_property
    def limit(self) -> int:
        """The longest sequence the model reads, special tokens included."""
        return limit_of(self.model, self.tokenizer)

    @cached_property
    def reader(self) -> Reader:
        known = int(self.model.get_input_embeddings().num_embeddings)
        takes = "token_type_ids" in inspect.signature(self.model.forward).parameters
        # Some (XLNet) take types without saying how many they know.
        types = getattr(self.model.config, "type_vocab_size", ANY_TYPE) if takes else 0
        return QuietReader(self.tokenizer, self.limit, known, int(types or 0), self.notice)

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        return self.reader.encode(text, pair)

    def logits(self, ids: IntArray) -> FloatArray:
        inputs, kinds = self._tensor(plain(ids)), self._kinds(types_of(ids))
        try:
            with torch.inference_mode(), evaluating(self.model), unpadded(self.model):
                mask = torch.ones_like(inputs)
                logits = self.model(input_ids=inputs, attention_mask=mask, **kinds).logits
        except (ValueError, IndexError) as error:
            why = loading_errors.first_line(error)
            raise OutputError(
                f"The model refuses {self.show(ids[0])[:80]!r} and its like: {why}.",
                "Some models count special tokens: take them out of the text.",
            ) from error
        return array(logits)

    def embed(self, ids: IntArray) -> FloatArray:
        with torch.inference_mode():
            return array(self.model.get_input_embeddings()(self._tensor(plain(ids))))

    def gradients(
        self,
        embeddings: FloatArray,
        index: int,
        types: IntArray | None = None,
        against: int | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        with differentiable(self.model):
            given, answer = self._answer(embeddings, types)
            margins = _margins(answer.logits, index, self.outputs, against)
            # Rows do not see each other, so the gradient of the sum holds that of each row.
            (gradients,) = torch.autograd.grad(margins.sum(), given)
        return array(margins), array(gradients)

    def attentions(self, ids: IntArray) -> tuple[FloatArray, int]:
        embeddings = self.embed(ids)
        with differentiable(self.model), step_by_step(self.model), unhooked(self.model):
            wanted = {"output_attentions": True, "output_hidden_states": True}
            _, answer = self._answer(embeddings, types_of(ids), **wanted)
            weights = _square(getattr(answer, "attentions", None), ids.shape[1])
            used = _positions_used(answer)
        return array(torch.stack(weights)), _only_position(used)

    def _tensor(self, numbers: IntArray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self.model.device)

    def _kinds(self, types: IntArray | None) -> dict[str, torch.Tensor]:
        return {} if types is None else {"token_type_ids": self._tensor(types)}

    def _answer(
        self, embeddings: FloatArray, types: IntArray | None, **wanted: bool
    ) -> tuple[torch.Tensor, Any]:
        """The embeddings as a leaf of torch's graph, and all that the model says to them."""
        given = torch.from_numpy(embeddings).to(self.model.device, self.model.dtype)
        given = given.clone().requires_grad_()
        mask = torch.ones(given.shape[:2], dtype=torch.int64, device=given.device)
        try:
            kinds = self._kinds(types)
            answer = self.model(inputs_embeds=given, attention_mask=mask, **kinds, **wanted)
        except (NotImplementedError, TypeError, ValueError) as error:
            raise _no_embeddings(self.name, loading_errors.first_line(error)) from error
        if not answer.logits.requires_grad:
            raise _no_embeddings(self.name, "torch sees no way from them to the answer")
        return given, answer

    def token_id(self, name: str) -> int | None:
        return self.reader.token_id(name)

    def show(self, ids: IntArray) -> str:
        return self.reader.show(ids)


def load_huggingface(
    model: Any, tokenizer: Any = None, *, device: str | None = None, trust_remote_code: bool = False
) -> HuggingFaceClassifier:
    """The torch classifier behind `piste.load`."""
    check_device(device)
    code = {"trust_remote_code": trust_remote_code}  # left unsaid, transformers asks on stdin
    owned, notice = isinstance(model, str | os.PathLike), ""
    if owned:
        source = loading_errors.model_source(os.fspath(model))
        (loaded, notice), name = _load_model(source, device, code), str(model)
        tokenizer = load_tokenizer(source if tokenizer is None else tokenizer, code)
    else:
        loaded, name = _given_model(model), model.config.name_or_path or type(model).__name__
        tokenizer = given_tokenizer(tokenizer, loaded, code)
    labels_of(loaded.config)  # refuses names with gaps
    if device is not None:
        loaded.to(device)
    check_tokenizer(tokenizer)
    return HuggingFaceClassifier(loaded, tokenizer, name, notice, owned)


def _load_model(source: str, device: str | None, code: dict[str, bool]) -> tuple[Any, str]:
    """The model, and a notice where the file holds layers that it does not use."""
    config = read(loading_errors.CONFIGURATION, source, partial(AutoConfig.from_pretrained, **code))
    reader = partial(
        AutoModelForSequenceClassification.from_pretrained,
        config=config,
        output_loading_info=True,
        dtype=loading_type(device),
        weights_only=True,  # a pickle may hold tensors and nothing that runs
        **code,
    )
    model, report = read(loading_errors.WEIGHTS, source, reader)
    loading_errors.check_head(source, config, report)
    return model, loading_errors.unused_layers(report)


def _given_model(model: Any) -> Any:
    if not isinstance(model, transformers.PreTrainedModel):
        raise ModelError(
            f"Cannot use {kind_of(model)} as a model.",
            "Give a name, a directory or a transformers model; for a function of texts,"
            " piste.from_function(fn); for the similarity of two texts, piste.from_embedding(fn).",
        )
    if "SequenceClassification" not in type(model).__name__:
        raise ModelError(
            f"A {type(model).__name__} has no classification head.",
            "Load it with AutoModelForSequenceClassification, or wrap what turns it into scores"
            " with piste.from_function(fn).",
        )
    return model


@contextlib.contextmanager
def unpadded(model: Any) -> Iterator[None]:
    """Decoders look for the last token that is not padding; ours are not padded.

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


@contextlib.contextmanager
def differentiable(model: Any) -> Iterator[None]:
    """Gradients of inputs, not of weights, wherever we are called from; flags come back."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    with (
        quiet,
        evaluating(model),
        unpadded(model),
        torch.inference_mode(False),
        torch.enable_grad(),
    ):
        for weight in trained:
            weight.requires_grad_(False)
        try:
            yield
        finally:
            for weight in trained:
                weight.requires_grad_(True)


@contextlib.contextmanager
def step_by_step(model: Any) -> Iterator[None]:
    """Attention in plain steps: the fused kernels that models load with keep no weights."""
    kind = "_attn_implementation_internal"
    configs = [getattr(part, "config", None) for part in model.modules()]
    before = [(config, getattr(config, kind)) for config in configs if hasattr(config, kind)]
    try:
        model.set_attn_implementation("eager")
        yield
    finally:
        for config, was in before:
            setattr(config, kind, was)


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


def _margins(
    logits: torch.Tensor, index: int, outputs: Outputs, against: int | None
) -> torch.Tensor:
    """As `decision.margins` has them, in torch [rows]."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if against is not None:
        return logits[:, index] - logits[:, against]
    if outputs != "classes":
        return logits[:, index]
    others = torch.cat([logits[:, :index], logits[:, index + 1 :]], dim=1)
    return logits[:, index] - others.logsumexp(dim=1)


def _positions_used(answer: Any) -> IntArray | None:
    """Where the head looks at the last hidden states: its gradient is 0 everywhere else."""
    states = (getattr(answer, "hidden_states", None) or [None])[-1]
    if states is None or not states.requires_grad:
        return None
    # Outputs of two classes are often opposites: a plain sum of them could be flat.
    outputs = torch.arange(1, answer.logits.shape[1] + 1, device=answer.logits.device).sqrt()
    (gradients,) = torch.autograd.grad((answer.logits * outputs).sum(), states, allow_unused=True)
    return None if gradients is None else np.unique(np.nonzero(array(gradients).any(axis=2))[1])


def _no_embeddings(name: str, why: str) -> ModelError:
    """The error for a model that cannot be entered behind its tokens."""
    return ModelError(
        f"{name} does not take embeddings in place of tokens: {why}.",
        "Explain it by a method that asks for answers only, such as slalom.",
    )


def _square(weights: Any, tokens: int) -> Any:
    """Attention weights of every layer [rows, heads, tokens, tokens], or why they are none."""
    shapes = {tuple(layer.shape[2:]) for layer in weights or () if layer is not None}
    if shapes != {(tokens, tokens)} or any(layer is None or layer.min() < 0 for layer in weights):
        raise ModelError(
            "The model does not tell how much each token attends to each other one.",
            "Explain it by a method that does without attention, such as slalom or gradients.",
        )
    return weights


def _only_position(used: IntArray | None) -> int:
    """The one position that the classification is read from."""
    if used is None or len(used) != 1:
        where = "an unknown position" if used is None or not len(used) else f"{len(used)} positions"
        raise ModelError(
            f"The model reads its answer from {where}: there is no one token whose attention"
            " would explain it.",
            "Explain it by a method that does without attention, such as slalom or gradients.",
        )
    return int(used[0])
