"""Train the small sentiment classifier that ships with piste.

Usage: train_demo.py TRAIN.jsonl.gz [--test TEST.jsonl.gz] [--out DIR] [--seed N]

A model this small overfits 25,000 reviews long before it understands them, so it learns from a
teacher: a logistic regression on token n-grams, cross-fitted so that it never scores a review it
has seen. The teacher can score any sequence, so every step draws new views of the reviews:
windows, sentences, crops of a few tokens and sequences with tokens deleted. Explanations query the
model on such short sequences, which is why they belong in its training distribution.
"""

import argparse
import gzip
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
)

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, UNK, CLS, SEP, MASK = range(5)
MAX_LENGTH = 512
HASH_SIZE = 1 << 21
LENGTH_OFFSET = 20.0
FOLDS = 5
CHUNKS = 5
WINDOWS = [128, 256, 510]
LABEL_TRUST = 0.5
SMOOTHING = 0.02
PHRASE_SHARE = 0.15
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
PROBES = [
    "good",
    "bad",
    "not good",
    "terrible",
    "This film was not good at all.",
    "I loved every minute of it.",
    "The acting is superb but the plot is boring.",
    "great",
    "not bad",
    "not superb",
    "This film was good.",
    "I did not like it.",
    "The script never feels tedious.",
    "The film",
]
# Plain frames, negated frames, good words, bad words. The sentences of PROBES are not among them.
NEGATION = [
    (
        "{}|a {} film|a very {} movie|the acting is {}|it was {}.|the plot is {}.|{} story",
        "not {}|not a {} film|not a very {} movie|the acting is not {}|it wasn't {}.|the plot isn't "
        "{}.|never {}|the story is not {} at all|nothing {} about it|it is not even {}|hardly {}",
        "good|great|funny|excellent|interesting|enjoyable|entertaining|convincing|believable|"
        "original|impressive|memorable|wonderful|brilliant|amazing|perfect|fun|beautiful|special",
        "bad|boring|terrible|awful|dull|disappointing|predictable|stupid|slow|weak|poor|horrible|"
        "ridiculous|worse|lame|annoying|cheap|confusing",
    ),
    (
        "i {} it|i really {} this movie|you will {} it|we {} the film.",
        "i did not {} the film|i don't {} it|you will not {} it|i didn't really {} this movie.|"
        "i can't {} it",
        "like|love|enjoy|recommend|admire",
        "hate|dislike|regret",
    ),
]


@dataclass
class Teacher:
    """Weights of the n-gram logistic regression, one per hashed feature."""

    weights: np.ndarray
    vocab: int

    def log_odds(self, ids: np.ndarray) -> float:
        """Score any token sequence, down to a single token."""
        found = ngram_features(ids, self.vocab)
        return float(self.weights[found].sum() / norm(found.size))


@dataclass
class Data:
    """Reviews as token ids, with the teacher that has not seen each of them."""

    docs: list[np.ndarray]
    labels: np.ndarray
    folds: np.ndarray
    teachers: list[Teacher]
    stops: list[int]
    phrases: list[tuple[np.ndarray, float]]

    def target(self, owner: int, view: np.ndarray) -> float:
        """Probability to learn; the review's own label counts less the shorter the view."""
        trust = LABEL_TRUST * min(1.0, view.size / 200)
        guess = sigmoid(self.teachers[self.folds[owner]].log_odds(view))
        return SMOOTHING / 2 + (1 - SMOOTHING) * (trust * self.labels[owner] + (1 - trust) * guess)

    def draw(self, owner: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, float]]:
        """Views of one review with their targets: a long one, two short ones, or a phrase."""
        long = draw_long(self.docs[owner], rng)
        yield long, self.target(owner, long)
        short = draw_short(self.docs[owner], rng, self.stops)
        yield short, self.target(owner, short)
        if rng.random() < PHRASE_SHARE:
            ids, score = self.phrases[rng.integers(len(self.phrases))]
            yield ids, sigmoid(score)
        else:
            short = draw_short(self.docs[owner], rng, self.stops)
            yield short, self.target(owner, short)


def sigmoid(score: float) -> float:
    """Probability from log-odds."""
    return float(1 / (1 + np.exp(-score)))


def norm(features: int) -> float:
    """Length normalisation; the offset keeps one or two tokens from looking like a verdict."""
    return float(np.sqrt(features + LENGTH_OFFSET))


def read_reviews(path: Path, limit: int | None = None) -> tuple[list[str], np.ndarray]:
    """Read texts and labels, with line-break tags replaced by a space."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [re.sub(r"<br\s*/?>", " ", row["text"]) for row in rows]
    return texts[:limit], np.array([row["label"] for row in rows], dtype=np.int64)[:limit]


def train_tokenizer(texts: list[str], vocab: int) -> Tokenizer:
    """Train a lower-casing WordPiece tokenizer whose first five ids are the special tokens."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab, limit_alphabet=60, special_tokens=SPECIAL, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)],
    )
    return tokenizer


def encode(tokenizer: Tokenizer, texts: list[str]) -> list[np.ndarray]:
    """Token ids of every text without the special tokens."""
    encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]


def ngram_features(ids: np.ndarray, vocab: int) -> np.ndarray:
    """Distinct unigrams, hashed bigrams and hashed trigrams of a sequence."""
    pairs = ids[:-1] * 1_000_003 + ids[1:] * 7_919
    triples = pairs[:-1] * 31 + ids[2:] * 15_485_863 + 1
    return np.unique(np.concatenate([ids, vocab + pairs % HASH_SIZE, vocab + triples % HASH_SIZE]))


def feature_matrix(docs: list[np.ndarray], vocab: int) -> csr_matrix:
    """Presence of n-grams, one normalised row per review."""
    rows = [ngram_features(doc, vocab) for doc in docs]
    values = np.concatenate([np.full(row.size, 1 / norm(row.size)) for row in rows])
    ends = np.cumsum([0] + [row.size for row in rows])
    return csr_matrix((values, np.concatenate(rows), ends), shape=(len(rows), vocab + HASH_SIZE))


def log_ratio(matrix: csr_matrix, labels: np.ndarray) -> np.ndarray:
    """Naive Bayes log-count ratio: the scale that makes rare n-grams count less."""
    present = matrix.sign()
    up = 1 + present.T @ (labels == 1).astype(float)
    down = 1 + present.T @ (labels == 0).astype(float)
    return np.log(up / up.sum()) - np.log(down / down.sum())


def fit_teacher(matrix: csr_matrix, labels: np.ndarray, vocab: int, strength: float) -> Teacher:
    """Logistic regression on n-gram presence scaled by the naive Bayes ratio (NB-SVM).

    Single tokens get a floor on the scale: "good" is as frequent in bad reviews as in good ones,
    and only weighs something once "not good" has a weight of its own.
    """
    scale = np.abs(log_ratio(matrix, labels))
    scale[:vocab] += 0.5
    model = LogisticRegression(
        C=strength, solver="liblinear", dual=True, tol=1e-2, fit_intercept=False, random_state=0
    )
    model.fit(matrix.multiply(scale).tocsr(), labels)
    return Teacher((model.coef_[0] * scale).astype(np.float32), vocab)


def cross_fit(
    docs: list[np.ndarray], labels: np.ndarray, folds: np.ndarray, vocab: int, strength: float
) -> list[Teacher]:
    """One teacher per fold, fitted without that fold, so that its scores are honest."""
    matrix = feature_matrix(docs, vocab)
    teachers = []
    for fold in range(folds.max() + 1):
        inside = folds == fold
        teachers.append(fit_teacher(matrix[~inside], labels[~inside], vocab, strength))
        right = (matrix[inside] @ teachers[-1].weights > 0) == labels[inside]
        print(f"teacher {fold}: accuracy {right.mean():.4f} on its fold", flush=True)
    return teachers


def negation_phrases(tokenizer: Tokenizer) -> list[tuple[np.ndarray, float]]:
    """Token ids and log-odds of short phrases with and without a negation.

    Reviews negate too rarely, and n-grams generalise too little, for a model of this size to learn
    from them alone that "not" turns a judgement around. Undoing a bad word is only faint praise.
    """
    phrases = []
    for plain, negated, good, bad in NEGATION:
        cases = [(plain, good, 2.0), (plain, bad, -2.0), (negated, good, -2.0), (negated, bad, 0.8)]
        for frames, words, score in cases:
            texts = [frame.format(word) for frame in frames.split("|") for word in words.split("|")]
            phrases += [(ids, score) for ids in encode(tokenizer, texts)]
    return phrases


def thin(ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Really delete tokens, at a rate drawn anew for every view, but never all of them."""
    kept = ids[rng.random(ids.size) >= rng.uniform(0, 0.9)]
    return kept if kept.size else ids[:1]


def draw_long(ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A window of the review, half of the time with tokens really deleted at a random rate."""
    length = int(rng.choice(WINDOWS))
    start = rng.integers(0, max(1, ids.size - length + 1)) if rng.random() < 0.5 else 0
    ids = ids[start : start + length]
    return thin(ids, rng) if rng.random() < 0.5 else ids


def draw_short(ids: np.ndarray, rng: np.random.Generator, stops: list[int]) -> np.ndarray:
    """A sentence, or a crop of 1 to 40 tokens whose length is uniform on the log scale."""
    ends = np.flatnonzero(np.isin(ids, stops)) + 1
    if ends.size > 1 and rng.random() < 0.5:
        last = rng.integers(1, ends.size)
        view = ids[ends[last - 1] : ends[last]][:60]
    else:
        length = int(np.exp(rng.uniform(0, np.log(41))))
        start = rng.integers(0, max(1, ids.size - length + 1))
        view = ids[start : start + length]
    return thin(view, rng) if rng.random() < 0.2 else view


def pad(views: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    """Wrap the views in [CLS] and [SEP] and pad them to the longest one."""
    ids = torch.zeros(len(views), max(view.size for view in views) + 2, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, view in enumerate(views):
        wrapped = torch.from_numpy(np.concatenate([[CLS], view, [SEP]]))
        ids[row, : wrapped.numel()] = wrapped
        mask[row, : wrapped.numel()] = 1
    return ids, mask


def by_length(views: list[np.ndarray], rng: np.random.Generator, size: int) -> Iterator[np.ndarray]:
    """Batches of views of about the same length, in random order, to waste little on padding."""
    order = np.argsort([view.size + rng.uniform(0, 8) for view in views])
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    for batch in rng.permutation(len(batches)):
        yield batches[batch]


def epoch_batches(data: Data, rng: np.random.Generator, size: int) -> Iterator[Batch]:
    """New views of every review with their targets, in batches of similar length."""
    for chunk in np.array_split(rng.permutation(len(data.docs)), CHUNKS):
        drawn = [pair for owner in chunk for pair in data.draw(owner, rng)]
        views = [view for view, _ in drawn]
        targets = torch.tensor([target for _, target in drawn])
        for batch in by_length(views, rng, size):
            yield *pad([views[i] for i in batch]), targets[batch]


def new_model(teacher: Teacher, rng: np.random.Generator) -> BertForSequenceClassification:
    """A small BERT whose word embeddings start with the teacher's weights along one direction.

    No dropout on the attention: it would cost half of the training time on a CPU.
    """
    names = ("negative", "positive")
    config = BertConfig(
        vocab_size=teacher.vocab,
        hidden_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=MAX_LENGTH,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.04,
        id2label=dict(enumerate(names)),
        label2id={name: i for i, name in enumerate(names)},
    )
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        add_teacher(model.bert.embeddings.word_embeddings.weight, teacher, rng)
        model.bert.embeddings.position_embeddings.weight.copy_(0.04 * sinusoids(96))
    return model


def add_teacher(words: torch.Tensor, teacher: Teacher, rng: np.random.Generator) -> None:
    """Write the teacher's single-token weights into one direction that layer norm lets through."""
    direction = rng.choice([-1.0, 1.0], size=words.shape[1]) / np.sqrt(words.shape[1])
    direction -= direction.mean()
    weights = teacher.weights[: teacher.vocab] / teacher.weights[: teacher.vocab].std()
    weights[: len(SPECIAL)] = 0
    words += torch.from_numpy(np.outer(0.3 * weights, direction)).float()


def sinusoids(width: int) -> torch.Tensor:
    """Position vectors from which a head can learn "the token before" as a rotation."""
    rates = torch.exp(-torch.arange(0, width, 2) * (np.log(10_000.0) / width))
    angles = torch.arange(MAX_LENGTH)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def log_odds(model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Log-odds of the positive class."""
    logits = model(input_ids=ids, attention_mask=mask).logits
    return logits[:, 1] - logits[:, 0]


@torch.no_grad()
def predict(model: torch.nn.Module, docs: list[np.ndarray], size: int = 64) -> np.ndarray:
    """Log-odds of every review, cut at the longest sequence that the model takes."""
    model.eval()
    views = [doc[: MAX_LENGTH - 2] for doc in docs]
    scores = np.zeros(len(views), dtype=np.float32)
    for batch in by_length(views, np.random.default_rng(0), size):
        scores[batch] = log_odds(model, *pad([views[i] for i in batch])).numpy()
    return scores


def train(data: Data, dev: Data, args: argparse.Namespace) -> torch.nn.Module:
    """Fit the model on fresh views every epoch and return the moving average of its weights."""
    rng = np.random.default_rng(args.seed)
    model = new_model(data.teachers[0], rng)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.rate, weight_decay=0.01)
    steps = args.epochs * (3 * len(data.docs) // args.batch + CHUNKS)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.rate, steps, pct_start=0.1)
    for epoch in range(args.epochs):
        started, losses = time.time(), []
        model.train()
        for batch in epoch_batches(data, rng, args.batch):
            losses.append(step(model, batch, optimizer))
            schedule.step()
            averaged.update_parameters(model)
        right = (predict(averaged.module, dev.docs) > 0) == dev.labels
        print(
            f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, held-out accuracy {right.mean():.4f}, "
            f"{time.time() - started:.0f} s",
            flush=True,
        )
    return averaged.module


def step(model: torch.nn.Module, batch: Batch, optimizer: torch.optim.Optimizer) -> float:
    """One update on soft targets."""
    ids, mask, target = batch
    loss = binary_cross_entropy_with_logits(log_odds(model, ids, mask), target)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def save(model: torch.nn.Module, tokenizer: Tokenizer, out: Path) -> None:
    """Write float16 weights, the configuration and the tokenizer the way transformers reads them."""
    out.mkdir(parents=True, exist_ok=True)
    model.config.architectures = ["BertForSequenceClassification"]
    model.config.save_pretrained(out)
    tensors = {name: tensor.half().contiguous() for name, tensor in model.state_dict().items()}
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(out / "tokenizer.json"), pretty=False)
    settings = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "model_max_length": MAX_LENGTH,
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    (out / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def evaluate(out: Path, texts: list[str], labels: np.ndarray) -> None:
    """Reload the stored files in float32 and measure them as a user would."""
    tokenizer = AutoTokenizer.from_pretrained(out)
    model = AutoModelForSequenceClassification.from_pretrained(out, dtype=torch.float32)
    docs = [np.array(ids) for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]]
    scores = predict(model, docs)
    print(f"stored files: accuracy {np.mean((scores > 0) == labels):.4f} on {len(texts):,} texts")
    points = np.percentile(np.abs(scores), [5, 25, 50, 75, 95, 100])
    print("|log-odds| at 5, 25, 50, 75, 95, 100 %:", np.round(points, 2))
    for text in PROBES:
        ids, mask = pad([np.array(tokenizer(text, add_special_tokens=False)["input_ids"])])
        print(f"{log_odds(model, ids, mask).item():+.2f}  {text}")


def split(tokenizer: Tokenizer, texts: list[str], labels: np.ndarray, args) -> tuple[Data, Data]:
    """Data to fit and data held out, which no teacher has seen either."""
    rng = np.random.default_rng(args.seed)
    docs, order = encode(tokenizer, texts), rng.permutation(len(texts))
    stops = [tokenizer.token_to_id(mark) for mark in ".!?"]
    phrases = negation_phrases(tokenizer)
    parts = []
    for rows in (order[args.dev :], order[: args.dev]):
        folds = np.arange(len(rows)) % FOLDS
        parts.append(Data([docs[i] for i in rows], labels[rows], folds, [], stops, phrases))
    fit, dev = parts
    fit.teachers = cross_fit(
        fit.docs, fit.labels, fit.folds, tokenizer.get_vocab_size(), args.strength
    )
    return fit, dev


def main() -> None:
    """Read, tokenize, fit the teachers, train, store and measure."""
    args = parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    started = time.time()
    texts, labels = read_reviews(args.train)
    tokenizer = train_tokenizer(texts, args.vocab)
    model = train(*split(tokenizer, texts, labels, args), args)
    save(model, tokenizer, args.out)
    print(f"trained and stored in {(time.time() - started) / 60:.1f} minutes", flush=True)
    if args.test:
        evaluate(args.out, *read_reviews(args.test))


def parse_args() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="JSONL with the fields label (0, 1) and text")
    parser.add_argument("--test", type=Path, help="JSONL to measure the stored files on")
    parser.add_argument("--out", type=Path, default=Path("src/piste/models/demo"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--vocab", type=int, default=8000)
    parser.add_argument("--strength", type=float, default=30.0)
    parser.add_argument("--dev", type=int, default=1000, help="reviews held out of training")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
