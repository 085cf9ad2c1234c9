"""What is fuzzed: each target takes any input and raises nothing but what piste promises."""

import functools
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import piste
from piste.errors import FileError, PisteError
from piste.models.protocol import Classifier
from piste.options import REPEATS, UNITS
from piste.render.segments import segments
from piste.text.encoding import Encoding, check_text
from piste.text.players import Players, split
from tests.fuzz.tokenizers import KINDS
from tests.planted import PlantedSlalom
from tests.render.samples import sample, slalom_scores

LONGEST = 2000  # characters: more would only be slower


def text_to_pages(text: str) -> None:
    """Any text through the embedded model's tokenizer, into players, onto page and terminal."""
    try:
        encoding = _embedded().encode(check_text(text[:LONGEST]))
    except PisteError:
        return
    found = checked(encoding)
    if found:  # a page takes long: one unit a text, all units over many texts
        rendered(explanation_of(found[len(text) % len(found)]))


def text_through_tokenizers(text: str) -> None:
    """Any text through tokenizers of every kind, into players."""
    for kind in KINDS:
        try:
            encoding = _toy(kind).encode(check_text(text[:LONGEST]))
        except PisteError:
            continue
        checked(encoding)


def file_to_pages(data: bytes) -> None:
    """Any bytes as an explanation file: refused with a `FileError`, or good for every rendering."""
    path = _folder() / "explanation.json"
    path.write_bytes(data)
    try:
        found = piste.Explanation.from_json(path)
    except FileError:
        return
    rendered(found)


TARGETS: dict[str, Callable[[Any], None]] = {
    "text": text_to_pages,
    "tokenizers": text_through_tokenizers,
    "file": file_to_pages,
}


def checked(encoding: Encoding) -> list[Players]:
    """The players of every unit, after a look at where they say they stand."""
    found = []
    for unit in UNITS:
        for repeats in REPEATS:
            try:
                players = split(encoding, unit, repeats)
            except PisteError:  # nothing in the text that the tokenizer sees
                continue
            check_places(encoding, players)
            found.append(players)
    return found


def check_places(encoding: Encoding, players: Players) -> None:
    text = encoding.text
    for start, end in encoding.spans:
        assert 0 <= start <= end <= len(text), "a token outside the text"
    for player in players.items:
        assert 0 <= player.start <= player.end <= len(text), "a player outside the text"
        assert player.text == text[player.start : player.end], "a player that is not its text"
        assert player.ids, "a player without tokens"
    ids = [token for player in players.items for token in player.ids]
    assert ids == list(encoding.ids), "tokens lost, or out of order"


def explanation_of(players: Players) -> piste.Explanation:
    found = sample(players.text, [])
    return replace(found, players=players.items, scores=slalom_scores(players.items))


def rendered(explanation: piste.Explanation) -> None:
    assert "".join(part.text for part in segments(explanation)) == explanation.text
    for shown in (str(explanation), explanation.to_html(), explanation.to_json()):
        shown.encode("utf-8")
    assert "\x1b" not in str(explanation)


@functools.cache
def valid_file() -> bytes:
    planted = PlantedSlalom(4)
    found = piste.explain(planted.text, piste.from_function(planted))
    return json.dumps(found.to_dict()).encode()


@functools.cache
def _embedded() -> Classifier:
    return piste.load(backend="torch")


@functools.cache
def _toy(kind: str) -> Classifier:
    return KINDS[kind]()


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="piste-fuzz-"))
