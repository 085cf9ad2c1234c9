"""Fingerprints that tell models of the same name apart.

A model that runs here is known by digests of its weights, its configuration and its tokenizer: they
are equal or they are not. A function or an endpoint shows nothing but its answers, so it is known
by those to a few texts. They are compared with a tolerance, because the same model rounds
otherwise on another machine, and a server does so from one batch to the next.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from piste.errors import SettingError, few
from piste.lexicon import Lexicon
from piste.models.protocol import Classifier
from piste.models.query import Query
from piste.text.encoding import texts, truncated
from piste.text.players import split

if TYPE_CHECKING:
    from piste.models.backends.endpoint import RemoteLabels

SAMPLES = 8  # texts whose answers are kept
ROUNDING = 1e-3  # of an answer: float32 on another machine or backend
SERVER_NOISE = 5e-2  # of a log-probability: servers compute in 16 bits, in batches of strangers
ANSWERS, WITHIN = "answers", "within"
# Where a model came from and who wrote the file says nothing of what it computes.
INCIDENTAL = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype")
DIGITS = 32  # of a digest
MOST_READ = 2 << 30  # bytes of weights that an explanation takes a digest of: seconds, once a model
CHUNK = 1 << 24  # bytes of a file read at once

Fingerprint = dict[str, Any]
Sample = tuple[str, str | None]  # a text, and the second one of a pair

Glance = tuple[float, ...]

# Of each lexicon, the models that it was found to be of, with a glance at their weights then.
_accepted: weakref.WeakKeyDictionary[Lexicon, list[tuple[weakref.ref[Any], Glance]]]
_accepted = weakref.WeakKeyDictionary()
# Of the models that were explained, with a glance at their weights then.
_identities: list[tuple[weakref.ref[Any], Glance, Fingerprint]] = []
_lock = threading.Lock()


def fingerprint(classifier: Classifier, samples: Iterable[Sample]) -> Fingerprint:
    """Digests of a model that runs here; of any other model the answers to the samples.

    The first sample must be answered; others that the model fails on are left out. The result is
    plain data, ready for JSON.
    """
    parts = digests(classifier)
    if "weights" not in parts or not (_is_own(classifier) and _is_ours(classifier)):
        parts[ANSWERS] = dict(_answers(classifier, samples))
        parts[WITHIN] = rounding(classifier)
    # A function may not know its labels before its first answer.
    return parts | {"labels": list(classifier.labels or ()), "outputs": classifier.outputs}


def rounding(classifier: Classifier) -> float:
    """How far two answers of the same model may differ, absolutely and relatively."""
    return SERVER_NOISE if _remote(classifier) is not None else ROUNDING


def _remote(classifier: Any) -> RemoteLabels | None:
    """The function that asks an endpoint, of a classifier that has one."""
    function = getattr(classifier, "function", None)
    if function is None:
        return None  # without importing what speaks to servers
    from piste.models.backends.endpoint import RemoteLabels

    return function if isinstance(function, RemoteLabels) else None


def identity(classifier: Classifier) -> tuple[Fingerprint, str | None]:
    """What tells the model from others without a question, and why that is no digest of weights.

    Digests are kept for as long as a glance at the weights shows no change: every text asks.
    """
    parts = _kept_digests(classifier) | {
        "labels": list(classifier.labels or ()),
        "outputs": classifier.outputs,
    }
    if "weights" in parts:
        return parts, None
    if _size(classifier) > MOST_READ:
        return parts, "the weights are too large to read for every explanation"
    if _remote(classifier) is not None:
        return parts, "the model runs on a server, which shows nothing but answers"
    return parts, "the model is a function, which shows nothing but answers"


def _kept_digests(classifier: Classifier) -> Fingerprint:
    if _size(classifier) > MOST_READ:
        return {}
    glance = _glance(classifier)
    if not glance:  # nothing to read, or known since it was loaded
        return digests(classifier)
    with _lock:
        _identities[:] = [kept for kept in _identities if kept[0]() is not None]
        for model, seen, parts in _identities:
            if model() is classifier and seen == glance:
                return dict(parts)
        parts = digests(classifier)
        with contextlib.suppress(TypeError):  # an object without room for references to it
            _identities.append((weakref.ref(classifier), glance, parts))
        return dict(parts)


def _size(classifier: Any) -> int:
    """Bytes of the weights of a torch model in memory; 0 where there is none to read."""
    model = _torch_model(classifier)
    return 0 if model is None else sum(w.numel() * w.element_size() for w in model.parameters())


def difference(before: Any, now: Fingerprint) -> str | None:
    """How the models of two fingerprints differ, in words; None where they do not."""
    if not isinstance(before, Mapping):
        return "nothing is known of the model before"
    names = sorted((before.keys() | now.keys()) - {ANSWERS, WITHIN})
    other = [name for name in names if before.get(name) != now.get(name)]
    if other:
        pairs = [(name, _short(before.get(name)), _short(now.get(name))) for name in other]
        return "; ".join(f"{name} {one} before, {two} now" for name, one, two in pairs)
    return _other_answers(before.get(ANSWERS, {}), now.get(ANSWERS, {}), now.get(WITHIN, 0.0))


def merged(before: Fingerprint, now: Fingerprint) -> Fingerprint:
    """The new fingerprint with the older answers kept, so that the reference does not drift."""
    if ANSWERS not in now:
        return now
    return now | {ANSWERS: now[ANSWERS] | before.get(ANSWERS, {})}


def answer(classifier: Classifier, text: str, pair: str | None = None) -> list[float]:
    """The model's outputs for one whole text, or for a pair."""
    encoding = truncated(classifier.encode(*texts(text, pair)))
    players = split(encoding, "word")
    query = Query(classifier, encoding.frame)
    outputs: list[float] = query.logits(players.tokens(players.whole))[0].tolist()
    return outputs


def weights_digest(model: Any) -> str:
    """A digest of a torch model's architecture, configuration and weights, whatever their type.

    Weights that share memory are read once. As fast as the processor computes SHA-256.
    """
    return content_digest([_configuration(model), _tensors(model)])


def file_digest(path: Path) -> str:
    """A digest of an exported graph and of the files beside it that hold its weights.

    ONNX graphs above 2 GB keep their weights in other files, which they name.
    """
    graph = path.read_bytes()
    digest = hashlib.sha256(graph)
    for beside in sorted(path.parent.rglob("*")):
        name = beside.relative_to(path.parent).as_posix().encode()
        if beside != path and name in graph and beside.is_file():
            digest.update(name)
            with beside.open("rb") as stream:
                while chunk := stream.read(CHUNK):
                    digest.update(chunk)
    return digest.hexdigest()[:DIGITS]


def content_digest(content: object) -> str:
    """A short digest of plain data."""
    plain = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(plain.encode()).hexdigest()[:DIGITS]


def word_samples(words: Sequence[str]) -> list[Sample]:
    """The samples by which the model of a lexicon is known again: its first words."""
    written = [word for word in words[: 4 * SAMPLES] if word.strip()]
    return [(word, None) for word in written[:SAMPLES]]


def check_lexicon(lexicon: Lexicon, classifier: Classifier) -> None:
    """Refuse a lexicon that was built with another model.

    A model object is compared in full once, and again when a glance at its weights shows that it
    was trained on: every text of a run asks.
    """
    glance = _glance(classifier)
    with _lock:
        known = _accepted.get(lexicon, [])
        if any(model() is classifier and seen == glance for model, seen in known):
            return
        now = fingerprint(classifier, word_samples(lexicon.words))
        problem = difference(lexicon.fingerprint, now)
        if problem is not None:
            raise SettingError(
                f"The lexicon was built with another model called {lexicon.model!r}: {problem}.",
                f"Use it with the model it was built for, or build one for {classifier.name!r}.",
            )
        with contextlib.suppress(TypeError):  # an object without room for references to it
            _accepted[lexicon] = [*known, (weakref.ref(classifier), glance)]


def _glance(classifier: Any) -> Glance:
    """The first number of every weight of a torch model: training changes most of them."""
    model = _torch_model(classifier)
    if model is None:
        return ()
    weights = (weight for weight in model.parameters() if weight.numel())
    return tuple(float(weight.detach()[(0,) * weight.dim()]) for weight in weights)


def _torch_model(classifier: Any) -> Any | None:
    """The torch model of a classifier; None where it has none, or one that is not loaded yet."""
    origin = getattr(classifier, "origin", classifier)
    model = None if _has_facts(origin) else getattr(origin, "model", None)
    return model if hasattr(model, "state_dict") else None


def _is_ours(classifier: Any) -> bool:
    """Whether piste read the model from files; hooks of an owner show in its answers only."""
    origin = getattr(classifier, "origin", classifier)
    return bool(getattr(origin, "owned", True))


def _is_own(classifier: Any) -> bool:
    """Whether the class is one of piste's; those of others may do more than their parts show."""
    return type(classifier).__module__.startswith("piste.")


def _has_facts(origin: Any) -> bool:
    """Whether its digests were taken when it was first loaded: nobody has its weights to change."""
    return _is_own(origin) and hasattr(origin, "facts")


def digests(classifier: Any) -> Fingerprint:
    """Digests that need no question to the classifier."""
    if not _is_own(classifier):
        return _of_torch(getattr(classifier, "model", None))
    origin = getattr(classifier, "origin", classifier)  # what a compiled model was made from
    if _has_facts(origin):
        return dict(origin.facts.fingerprint)
    parts = _of_torch(getattr(origin, "model", None))
    if getattr(classifier, "precision", ""):  # compiled, it computes in less than its weights
        parts["precision"] = classifier.precision
    prompt, tokenizer = getattr(origin, "prompt", None), _tokenizer_of(origin)
    if tokenizer is not None:
        parts["tokenizer"] = tokenizer_digest(tokenizer)
    if prompt is not None:
        parts["prompt"] = content_digest([prompt.parts, prompt.begin, origin.answers])
    remote = _remote(origin)
    if remote is not None:
        parts["prompt"] = content_digest([remote.endpoint.prompt, remote.endpoint.api])
    return parts


def _of_torch(model: Any) -> Fingerprint:
    if not (hasattr(model, "state_dict") and hasattr(model, "config")):
        return {}
    try:
        weights = _tensors(model)
    except (NotImplementedError, RuntimeError, TypeError):
        return {}  # weights that are kept elsewhere, or packed: the answers tell
    return {
        "weights": weights,
        "precision": str(model.dtype),
        "configuration": _configuration(model),
    }


def _configuration(model: Any) -> str:
    return configuration_digest(type(model).__name__, model.config)


def configuration_digest(kind: str, config: Any) -> str:
    """A digest of a model's settings, and of what kind it is."""
    given = config.to_diff_dict()  # without defaults: new versions add some
    told = {name: value for name, value in given.items() if name not in INCIDENTAL}
    plain = json.loads(json.dumps(told, default=str))  # keys become strings, which have an order
    return content_digest([kind, plain])


def _tensors(model: Any) -> str:
    digest, known = hashlib.sha256(), dict[Any, bytes]()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        place = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())
        if place not in known:
            known[place] = hashlib.sha256(_bytes(tensor)).digest()
        digest.update(known[place])
    return digest.hexdigest()[:DIGITS]


def _bytes(tensor: Any) -> Any:
    """The tensor's memory as bytes: numpy has no name for some types, such as bfloat16."""
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data


def _tokenizer_of(origin: Any) -> Any | None:
    holders = (origin, getattr(origin, "prompt", None), getattr(origin, "reader", None))
    return next(filter(None, (getattr(one, "tokenizer", None) for one in holders)), None)


def tokenizer_digest(tokenizer: Any) -> str:
    """A digest of a fast tokenizer's rules and limits."""
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    for changing in ("truncation", "padding"):  # set by whoever called the tokenizer last
        rules.pop(changing, None)
    return content_digest([rules, tokenizer.model_max_length, tokenizer.special_tokens_map])


def _answers(classifier: Classifier, samples: Iterable[Sample]) -> Iterator[tuple[str, Any]]:
    for number, (text, pair) in enumerate(samples):
        try:
            yield content_digest([text, pair]), answer(classifier, text, pair)
        except Exception:  # the text becomes a row with its error; here it tells nothing
            if number == 0:
                raise


def _other_answers(before: Any, now: Mapping[str, list[float]], within: float) -> str | None:
    """How the answers to the same texts differ by more than rounding; None where they do not."""
    common = [name for name in now if isinstance(before, Mapping) and name in before]
    if now and not common:
        return "none of the texts that it was known by is left"
    for name in common:
        one, other = np.array(before[name]), np.array(now[name])
        if one.shape != other.shape or not np.allclose(one, other, rtol=within, atol=within):
            shown = (few([f"{value:.4g}" for value in row], 4) for row in (one.flat, other.flat))
            return "a text was answered with [{}], now [{}]".format(*shown)
    return None


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return few([str(one) for one in value] or ["none"], 4)
    return "none" if value is None else str(value)[:16]
