"""What piste knows of a pretrained classifier once it has loaded it, kept for the next start.

With these facts, and a graph that OpenVINO runs, a classifier answers without torch and
transformers. They are kept under a digest of the model's files and of the versions that read them:
a file that changes, or another version, and the model is loaded in full again.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from piste.extras import installed
from piste.files import new_folder
from piste.models.backends import graph_cache
from piste.models.backends.reading import Reader
from piste.models.backends.tokenizer_file import TokenizerFile, agree, written_down
from piste.models.fingerprint import content_digest
from piste.models.loading_errors import first_line
from piste.models.protocol import Outputs

log = logging.getLogger(__name__)

PLACE, FACTS, RULES = "facts", "facts.json", "tokenizer.json"
DIGEST = "digest"
READERS = ("piste", "torch", "transformers", "tokenizers", "openvino")


@dataclass(frozen=True)
class Facts:
    """A pretrained classifier apart from its weights and its tokenizer's rules."""

    labels: tuple[str, ...]
    outputs: Outputs
    limit: int  # the longest sequence the model reads, special tokens included
    vocabulary: int | None  # how many ids it knows, where that is known
    types: int  # how many token types it knows; 0 and 1 alike: it takes none
    notice: str = ""  # something the user should know with every explanation
    fingerprint: Mapping[str, str] = field(default_factory=dict)  # digests: models/fingerprint.py
    tokenizer: Mapping[str, Any] = field(default_factory=dict)  # see `tokenizer_file.facts_of`
    graph: Mapping[str, Any] = field(default_factory=dict)  # see `compiled.graph_facts`

    def reader(self, tokenizer: Any, kind: type[Reader] = Reader) -> Reader:
        return kind(tokenizer, self.limit, self.vocabulary, self.types, self.notice)


def key_of(files: str) -> str:
    """The name under which facts about these files are kept."""
    return content_digest([files, *(f"{name} {installed(name)}" for name in READERS)])


def read(folder: Path, rules: Path | None = None) -> tuple[Facts, TokenizerFile] | None:
    """The facts that a folder holds; None where there are none, or they are damaged."""
    try:
        content = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        text = (rules or folder / RULES).read_bytes().decode("utf-8")
        if content.pop(DIGEST) != content_digest([content, text]):
            raise ValueError("the digest is not theirs")
        facts = Facts(**content | {"labels": tuple(content["labels"])})
        return facts, TokenizerFile(text, dict(facts.tokenizer))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("Cannot use the facts in %s: %s.", folder, first_line(error))
        return None


def cached(files: str) -> tuple[Facts, TokenizerFile] | None:
    """What is known of the model of these files."""
    folder = graph_cache.folder_for(key_of(files), PLACE)
    return None if folder is None else read(folder)


def complete(facts: Facts, reader: Reader) -> tuple[Facts, TokenizerFile] | None:
    """The facts with those of the tokenizer; None where only transformers can read for it."""
    tokenizer = written_down(reader.tokenizer)
    if tokenizer is None:
        return None
    facts = dataclasses.replace(facts, tokenizer=tokenizer.facts)
    return (facts, tokenizer) if agree(reader, facts.reader(tokenizer)) else None


def keep(files: str, facts: Facts, tokenizer: TokenizerFile) -> None:
    """For the next start."""
    folder = graph_cache.folder_for(key_of(files), PLACE)
    if folder is None:
        return
    try:
        with new_folder(folder) as beside:
            write(beside, facts, tokenizer.rules)
            graph_cache.remove(folder)  # what did not serve
    except OSError as error:
        log.warning("Cannot keep what is known of the model: %s.", first_line(error))


def write(folder: Path, facts: Facts, rules: str, with_rules: bool = True) -> None:
    """The facts and the tokenizer's rules as files, with a digest of both."""
    content = json.loads(json.dumps(dataclasses.asdict(facts)))
    content[DIGEST] = content_digest([content, rules])
    (folder / FACTS).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    if with_rules:
        (folder / RULES).write_bytes(rules.encode("utf-8"))
