"""Train the small sentiment classifier that ships with piste.

A model this small overfits long before it understands, so it learns from a teacher: a logistic
regression on token n-grams, cross-fitted so that it never scores a review it has seen. The teacher
scores any sequence, so every epoch draws new views of the reviews: windows, sentences, crops of a
few tokens, deleted tokens. Explanations query the model on such short sequences.
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
import tokenizers
import torch
import transformers
from demo_teacher import FOLDS, HASH_SIZE, cross_fit, verdict
from safetensors.torch import save_file
from scipy.special import expit
from tokenizers import Tokenizer
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CLS, SEP = 2, 3
MAX_LENGTH = 512
BATCH, PEAK_RATE = 64, 1.5e-3
WINDOWS = [64, 128, 256, MAX_LENGTH - 2]
CHUNKS = 5  # parts of an epoch, each sorted by length on its own
LABEL_TRUST, SMOOTHING, PHRASE_SHARE = 0.5, 0.02, 0.15
# Plain frames, negated frames, good words, bad words; first for adjectives, then for verbs.
NEGATION = [
    "{}|a {} film|a very {} movie|the acting is {}|it was {}.|the plot is {}.|{} story",
    "not {}|not a {} film|not a very {} movie|the acting is not {}|it wasn't {}.|the plot isn't {}."
    "|never {}|the story is not {} at all|nothing {} about it|it is not even {}|hardly {}",
    "good|great|funny|excellent|interesting|enjoyable|entertaining|convincing|believable|original|"
    "impressive|memorable|wonderful|brilliant|amazing|perfect|fun|beautiful|special",
    "bad|boring|terrible|awful|dull|disappointing|predictable|stupid|slow|weak|poor|horrible|"
    "ridiculous|worse|lame|annoying|cheap|confusing",
    "i {} it|i really {} this movie|you will {} it|we {} the film.",
    "i did not {} the film|i don't {} it|you will not {} it|i didn't really {} this movie.|"
    "i can't {} it",
    "like|love|enjoy|recommend|admire",
    "hate|dislike|regret",
]
Rng = np.random.Generator


@dataclass
class Data:
    """Reviews as token ids, with the weights of the teacher that has not seen each of them."""

    docs: list[np.ndarray]
    labels: np.ndarray
    teachers: list[np.ndarray]
    stops: list[int]
    phrases: list[tuple[np.ndarray, float]]

    def target(self, owner: int, view: np.ndarray) -> float:
        """Probability to learn; the review's own label counts less the shorter the view."""
        trust = LABEL_TRUST * min(1.0, view.size / 200)
        guess = expit(verdict(self.teachers[owner % FOLDS], view))
        return SMOOTHING / 2 + (1 - SMOOTHING) * (trust * self.labels[owner] + (1 - trust) * guess)

    def draw(self, owner: int, rng: Rng) -> Iterator[tuple[np.ndarray, float]]:
        """Views of one review with their targets: a long one and two short ones, or a phrase."""
        doc = self.docs[owner]
        for view in (draw_long(doc, rng), draw_short(doc, rng, self.stops)):
            yield view, self.target(owner, view)
        if rng.random() < PHRASE_SHARE:
            yield self.phrases[rng.integers(len(self.phrases))]
        else:
            view = draw_short(doc, rng, self.stops)
            yield view, self.target(owner, view)


def read_reviews(path: Path) -> tuple[list[str], np.ndarray]:
    """Read texts and labels, with line-break tags replaced by a space."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [re.sub(r"<br\s*/?>", " ", row["text"]) for row in rows]
    return texts, np.array([row["label"] for row in rows], dtype=np.int64)


def bert_tokenizer(vocab: dict[str, int] | None = None) -> Tokenizer:
    """A lower-casing WordPiece tokenizer with the given vocabulary, or one still to be trained."""
    tokenizer = Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    tokenizer.post_processor = tokenizers.processors.BertProcessing(("[SEP]", SEP), ("[CLS]", CLS))
    tokenizer.add_special_tokens(SPECIAL if vocab else [])
    return tokenizer


def train_tokenizer(texts: list[str], size: int) -> Tokenizer:
    """Train in two steps: fixing the ids of the characters first makes the result reproducible."""
    letters = [chr(i) for i in range(33, 127) if not 65 <= i <= 90]
    fixed = SPECIAL + [f"##{letter}" for letter in letters]
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=size, initial_alphabet=letters, limit_alphabet=len(letters), special_tokens=fixed
    )
    tokenizer = bert_tokenizer()
    tokenizer.train_from_iterator(texts, trainer)
    return bert_tokenizer(tokenizer.get_vocab())


def encode(tokenizer: Tokenizer, texts: list[str]) -> list[np.ndarray]:
    """Token ids of every text without the special tokens."""
    encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]


def negation_phrases(tokenizer: Tokenizer) -> list[tuple[np.ndarray, float]]:
    """Phrases with and without "not", which reviews alone do not teach a model of this size."""
    phrases = []
    for plain, negated, good, bad in (NEGATION[:4], NEGATION[4:]):
        cases = [(plain, good, 2.0), (plain, bad, -2.0), (negated, good, -2.0), (negated, bad, 0.8)]
        for frames, words, score in cases:
            texts = [frame.format(word) for frame in frames.split("|") for word in words.split("|")]
            phrases += [(ids, expit(score)) for ids in encode(tokenizer, texts)]
    return phrases


def thin(ids: np.ndarray, rng: Rng) -> np.ndarray:
    """Really delete tokens, at a rate drawn anew for every view, but never all of them."""
    kept = ids[rng.random(ids.size) >= rng.uniform(0, 0.9)]
    return kept if kept.size else ids[:1]


def draw_long(ids: np.ndarray, rng: Rng) -> np.ndarray:
    """A window of the review, half of the time with tokens deleted."""
    length = int(rng.choice(WINDOWS))
    start = rng.integers(0, max(1, ids.size - length + 1)) if rng.random() < 0.5 else 0
    view = ids[start : start + length]
    return thin(view, rng) if rng.random() < 0.5 else view


def draw_short(ids: np.ndarray, rng: Rng, stops: list[int]) -> np.ndarray:
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
    rows = [torch.from_numpy(np.concatenate([[CLS], view, [SEP]])) for view in views]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return ids, (ids != 0).long()


def by_length(views: list[np.ndarray], rng: Rng) -> Iterator[np.ndarray]:
    """Batches of views of about the same length, in random order, to waste little on padding."""
    order = np.argsort([view.size + rng.uniform(0, 8) for view in views])
    for start in BATCH * rng.permutation(-(-len(order) // BATCH)):
        yield order[start : start + BATCH]


def epoch_batches(data: Data, rng: Rng) -> Iterator[tuple[torch.Tensor, ...]]:
    """New views of every review with their targets, in batches of similar length."""
    for chunk in np.array_split(rng.permutation(len(data.docs)), CHUNKS):
        drawn = [pair for owner in chunk for pair in data.draw(owner, rng)]
        views, targets = [view for view, _ in drawn], torch.tensor([goal for _, goal in drawn])
        for batch in by_length(views, rng):
            yield *pad([views[i] for i in batch]), targets[batch]


@torch.no_grad()
def start_embeddings(embeddings: torch.nn.Module, teacher: np.ndarray, rng: Rng) -> None:
    """Start words with the teacher's weights along one direction, and positions as sinusoids."""
    words, positions = embeddings.word_embeddings.weight, embeddings.position_embeddings.weight
    direction = rng.choice([-1.0, 1.0], size=(width := words.shape[1])) / np.sqrt(width)
    weights = teacher[:-HASH_SIZE] / teacher[:-HASH_SIZE].std()
    weights[: len(SPECIAL)] = 0
    words += torch.from_numpy(np.outer(0.3 * weights, direction - direction.mean())).float()
    rates = torch.exp(-torch.arange(0, width, 2) * (np.log(10_000.0) / width))
    angles = torch.arange(len(positions))[:, None] * rates
    positions.copy_(0.04 * torch.cat([angles.sin(), angles.cos()], dim=1))


def new_model(teacher: np.ndarray, rng: Rng) -> transformers.BertForSequenceClassification:
    """A small BERT; no dropout on the attention, which would cost half of the time on a CPU."""
    config = transformers.BertConfig(
        vocab_size=teacher.size - HASH_SIZE,
        hidden_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=MAX_LENGTH,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.04,
        id2label={0: "negative", 1: "positive"},
        label2id={"negative": 0, "positive": 1},
    )
    model = transformers.BertForSequenceClassification(config)
    start_embeddings(model.bert.embeddings, teacher, rng)
    return model


def log_odds(model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Log-odds of the positive class."""
    logits = model(input_ids=ids, attention_mask=mask).logits
    return logits[:, 1] - logits[:, 0]


@torch.no_grad()
def predict(model: torch.nn.Module, docs: list[np.ndarray]) -> np.ndarray:
    """Log-odds of every text, cut at the longest sequence that the model takes."""
    model.eval()
    views = [doc[: MAX_LENGTH - 2] for doc in docs]
    scores = np.zeros(len(views), dtype=np.float32)
    for batch in by_length(views, np.random.default_rng(0)):
        scores[batch] = log_odds(model, *pad([views[i] for i in batch])).numpy()
    return scores


def train(data: Data, dev: Data, epochs: int, rng: Rng) -> torch.nn.Module:
    """Fit the model on fresh views every epoch and return the moving average of its weights."""
    model, started = new_model(data.teachers[0], rng), time.time()
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, weight_decay=0.01, fused=True)
    steps = epochs * (3 * len(data.docs) // BATCH + CHUNKS)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, steps, pct_start=0.1)
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    for _ in range(epochs):
        model.train()
        for *inputs, target in epoch_batches(data, rng):
            optimizer.zero_grad()
            bce(log_odds(model, *inputs), target).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            averaged.update_parameters(model)
        right = (predict(averaged.module, dev.docs) > 0) == dev.labels
        print(f"{time.time() - started:.0f} s: {right.mean():.4f} on held-out reviews", flush=True)
    return averaged.module


def save(model: torch.nn.Module, tokenizer: Tokenizer, out: Path) -> None:
    """Write float16 weights, configuration and tokenizer the way transformers reads them."""
    out.mkdir(parents=True, exist_ok=True)
    model.config.update({"architectures": [type(model).__name__], "dtype": "float32"})
    model.config.save_pretrained(out)
    tensors = {name: tensor.half().contiguous() for name, tensor in model.state_dict().items()}
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    (out / "model.safetensors").chmod(0o644)
    tokenizer.save(str(out / "tokenizer.json"), pretty=False)
    settings = {"tokenizer_class": "BertTokenizer", "model_max_length": MAX_LENGTH}
    settings |= {f"{token[1:-1].lower()}_token": token for token in SPECIAL}
    (out / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def evaluate(out: Path, texts: list[str], labels: np.ndarray) -> None:
    """Reload the stored files in float32 and measure them as a user would."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(out).float()
    scores = predict(model, encode(tokenizer.backend_tokenizer, texts))
    print(f"stored files: accuracy {np.mean((scores > 0) == labels):.4f} on {len(texts):,} texts")
    print("|log-odds| at 5, 50, 95 and 100 %:", np.percentile(np.abs(scores), [5, 50, 95, 100]))


def prepare(path: Path, held: int, rng: Rng) -> tuple[Tokenizer, Data, Data]:
    """The tokenizer, the data to fit and the data held out, which no teacher sees either."""
    texts, labels = read_reviews(path)
    tokenizer = train_tokenizer(texts, size=8000)
    docs, order = encode(tokenizer, texts), rng.permutation(len(texts))
    stops, phrases = [tokenizer.token_to_id(mark) for mark in ".!?"], negation_phrases(tokenizer)
    parts = [([docs[i] for i in rows], labels[rows]) for rows in (order[held:], order[:held])]
    fit, dev = (Data(*part, [], stops, phrases) for part in parts)
    fit.teachers = list(cross_fit(fit.docs, fit.labels, tokenizer.get_vocab_size()))
    return tokenizer, fit, dev


def main() -> None:
    """Read, tokenize, fit the teachers, train, store and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="JSONL with the fields label (0 or 1) and text")
    parser.add_argument("--test", type=Path, help="JSONL to measure the stored files on")
    parser.add_argument("--out", type=Path, default=Path("src/piste/models/demo"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--held-out", type=int, default=1000, help="reviews kept out of training")
    args = parser.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(args.seed)
    tokenizer, fit, dev = prepare(args.train, args.held_out, np.random.default_rng(args.seed))
    save(train(fit, dev, args.epochs, np.random.default_rng(args.seed)), tokenizer, args.out)
    if args.test:
        evaluate(args.out, *read_reviews(args.test))


if __name__ == "__main__":
    main()
