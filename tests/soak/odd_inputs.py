"""What `tests.soak.fuzz` tries: odd inputs of every kind, each made from a random generator.

No model is asked here, so an input costs microseconds to milliseconds.
"""

from __future__ import annotations

import dataclasses
import functools
import gzip
import io
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import piste
from piste.data import read_examples
from piste.errors import PisteError
from piste.lexicon import Lexicon
from piste.methods import find_method
from piste.models.protocol import Classifier
from piste.options import Options
from piste.text.encoding import check_text
from piste.text.units import sentence_spans, word_spans
from tests.fuzz import targets
from tests.fuzz.mutations import damaged, damaged_bytes, odd_value
from tests.fuzz.test_fuzz import ODD
from tests.fuzz.tokenizers import KINDS

GAPS = ("", " ", " ", "\n", ". ")
WORDS = ("good", "film", "not", "The", "don't", "3.14", "e.g.", "Dr.", "naïve", "été", "日本", "각")
RANGES = ((0x20, 0x7F), (0xA0, 0x24F), (0x300, 0x36F), (0x4E00, 0x4FFF), (0xE000, 0xE0FF),
          (0x1F300, 0x1FAFF), (0, 0x10FFFF))  # fmt: skip
Target = Callable[[random.Random], None]


def odd_text(draw: random.Random) -> str:
    """Words, markup, escapes and characters of every kind, in any order."""
    pieces = []
    for _ in range(draw.randint(0, 14)):
        kind = draw.random()
        if kind < 0.4:
            pieces.append(draw.choice(WORDS))
        elif kind < 0.75:
            pieces.append(draw.choice(ODD))
        else:
            low, high = draw.choice(RANGES)
            pieces.append("".join(chr(draw.randint(low, high)) for _ in range(draw.randint(1, 6))))
    text = draw.choice(GAPS).join(pieces)
    return text * draw.randint(2, 40) if draw.random() < 0.02 else text


def spans(draw: random.Random) -> None:
    """Words and sentences stand in the text, in order, one after the other."""
    text = odd_text(draw)
    for found in (word_spans(text), sentence_spans(text)):
        places = [place for span in found for place in span]
        assert places == sorted(places), "spans out of order"
        assert not places or (places[0] >= 0 and places[-1] <= len(text)), "a span outside"


def players(draw: random.Random) -> None:
    """A text into players of every unit, as a function of texts has them."""
    _into_players(_function(), odd_text(draw))


def tokenizers(draw: random.Random) -> None:
    """A text into players through a tokenizer of some kind."""
    _into_players(_tokenizer(draw.choice(list(KINDS))), odd_text(draw))


def _into_players(classifier: Classifier, text: str) -> None:
    try:
        encoding = classifier.encode(check_text(text))
    except PisteError:
        return
    targets.checked(encoding)


def pages(draw: random.Random) -> None:
    """A text onto an HTML page, a terminal and into JSON."""
    targets.text_to_pages(odd_text(draw))


def explanation_files(draw: random.Random) -> None:
    """A damaged explanation file: refused, or read."""
    path = _folder() / "explanation.json"
    path.write_bytes(damaged(_valid_explanation(), draw.getrandbits(60)))
    _only_errors_of_ours(lambda: piste.Explanation.from_json(path))


def lexicon_files(draw: random.Random) -> None:
    """A damaged lexicon file: refused, or read."""
    path = _folder() / "lexicon.json"
    path.write_bytes(damaged_bytes(_valid_lexicon(), draw))
    _only_errors_of_ours(lambda: Lexicon.load(path))


def data_files(draw: random.Random) -> None:
    """A damaged data file of some format: refused, or read row by row."""
    name = draw.choice(list(_valid_data()))
    path = _folder() / name
    valid = _valid_data()[name]
    path.write_bytes(damaged_bytes(valid, draw) if draw.random() < 0.9 else valid)
    _only_errors_of_ours(lambda: list(read_examples(path)))


def settings(draw: random.Random) -> None:
    """Settings of any type and value: refused, or good for an explanation."""
    names = [field.name for field in dataclasses.fields(Options) if field.name != "lexicon"]
    given = {name: odd_value(draw) for name in draw.sample(names, draw.randint(1, 3))}
    method = "slalom" if draw.random() < 0.8 else odd_value(draw)
    _only_errors_of_ours(lambda: (find_method(method), Options.of(**given)))


def requests(draw: random.Random) -> None:
    """JSON bodies of the server's API: refused by the schema, or taken."""
    from pydantic import ValidationError

    from piste.web.requests import RemovalRequest

    body: dict[str, Any] = {"text": odd_text(draw), "removed": [0, 1]}
    for name in draw.sample(list(RemovalRequest.model_fields), draw.randint(0, 3)):
        body[name] = odd_value(draw)
    data = json.dumps(body).encode("utf-8", "surrogatepass")
    try:
        RemovalRequest.model_validate_json(
            damaged_bytes(data, draw) if draw.random() < 0.3 else data
        )
    except ValidationError:
        return


def _only_errors_of_ours(work: Callable[[], object]) -> None:
    try:
        work()
    except PisteError:
        return


@functools.cache
def _function() -> Classifier:
    return piste.from_function(lambda texts: [float(len(text)) for text in texts])


@functools.cache
def _tokenizer(kind: str) -> Classifier:
    return KINDS[kind]()


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="piste-soak-", dir=_fast_folder()))


def _fast_folder() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@functools.cache
def _valid_explanation() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(targets.valid_file())
    return found


@functools.cache
def _valid_lexicon() -> bytes:
    path = _folder() / "valid.json"
    piste.build_lexicon(["a good film", "not a bad film"], _function(), out=path)
    return path.read_bytes()


@functools.cache
def _valid_data() -> dict[str, bytes]:
    """The same rows in every format."""
    from pyarrow import parquet, table

    rows = [{"id": str(i), "text": f'film {i}, "good"', "label": i % 2} for i in range(4)]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    cells = "".join(f'{r["id"]},"film, ""good""",{r["label"]}\n' for r in rows)
    commas = f"id,text,label\n{cells}".encode()
    stream = io.BytesIO()
    parquet.write_table(table({name: [row[name] for row in rows] for name in rows[0]}), stream)
    return {
        "a.jsonl": lines, "a.csv": commas, "a.tsv": commas.replace(b",", b"\t"),
        "a.jsonl.gz": gzip.compress(lines), "a.csv.gz": gzip.compress(commas),
        "a.parquet": stream.getvalue(),
    }  # fmt: skip


TARGETS: dict[str, Target] = {
    "spans": spans,
    "players": players,
    "tokenizers": tokenizers,
    "explanations": explanation_files,
    "data": data_files,
    "requests": requests,
    "settings": settings,
    "lexicons": lexicon_files,
    "pages": pages,
}
