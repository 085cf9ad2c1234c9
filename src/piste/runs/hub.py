"""A run as a data set of the Hugging Face hub: its tables, and a card that says what they are.

The only place of the package that sends anything there, and only when it is asked to.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from piste.errors import FileError, SettingError, printable, several
from piste.result.facts import r2_text
from piste.runs import shards
from piste.runs.commits import COMMITS
from piste.runs.commits import path as place
from piste.runs.manifest import ENDED, MANIFEST
from piste.runs.run_lexicon import LEXICON
from piste.runs.statistics import markdown_cell

KIND = "dataset"
UNSAFE = re.compile(r"[^\w./ -]")  # in a title, which is YAML and Markdown too
PART = re.compile(rf"({shards.TEXTS}|{shards.PLAYERS})/part-\d+\.parquet|{re.escape(LEXICON)}")
# A name on the hub, with a configuration; a path of this machine that looks so is one by its end.
HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?(:[\w.-]+)?")
DATA_FILE = re.compile(r"\.(jsonl?|csv|tsv|txt|parquet|arrow|gz|zip)$", re.IGNORECASE)
CARD = """\
---
pretty_name: {title}
tags:
- explainability
- piste
configs:
- config_name: texts
  data_files: texts/*.parquet
  default: true
- config_name: players
  data_files: players/*.parquet
---

# {title}

Why `{model}` classified {texts} as it did: explanations by
piste {version}, method `{method}`, seed {seed}.
{fidelity}

| table | one row |
|---|---|
| `texts` | a text: its decision (`target`, `score`), how well it is explained (`r2`), its `pairs` |
| `players` | a word of a text: its place, what it contributes (`effect`), its `effect_error` |

```python
from datasets import load_dataset

texts = load_dataset("{repo}", "texts")
words = load_dataset("{repo}", "players")
```

`players` holds every word of the texts, in order: **whoever can read this data set can read the
texts.** Effects speak for their own row's `target`: do not average over targets. The labels are
{labels}. `manifest.json` has all settings.
"""


def open_repository(repo: str, private: bool = True) -> None:
    """Make the data set on the hub, before any work; one that is there must not be more public.

    Raises a `SettingError` where you are not logged in, or where that is not allowed.
    """
    _check_login()
    with _asking(repo):
        HfApi().create_repo(repo, repo_type=KIND, private=private, exist_ok=True)
        info = HfApi().dataset_info(repo)
    if private and not info.private:
        raise SettingError(
            f"The data set {repo} on the hub is public.",
            "Give --public to publish there, or the name of another data set.",
        )


def to_hub(folder: str | Path, repo: str, *, private: bool = True) -> str:
    """Send a run to the hub as a data set with a card; returns its address.

    private: only its owners can read it. A data set that is there already keeps its visibility.
    Paths of this machine in the manifest and the lexicon are cut down to their last name. Parts of
    an earlier run that this one does not replace are deleted there.
    """
    folder = Path(folder)
    manifest = _manifest(folder)
    open_repository(repo, private)
    files: list[tuple[str, str | bytes]] = [
        (path.relative_to(folder).as_posix(), str(path)) for path in _tables(folder)
    ]
    if (folder / LEXICON).exists():
        files.append((LEXICON, lexicon_to_show(folder / LEXICON)))
    shown = {**manifest, **{name: _last(manifest[name]) for name in _named(manifest)}}
    files.append((MANIFEST, json.dumps(shown, indent=1).encode()))
    files.append(("README.md", card(folder, shown, repo).encode()))
    sent = [CommitOperationAdd(name, content) for name, content in files]
    with _asking(repo):
        stale = [CommitOperationDelete(name) for name in _stale(repo, {name for name, _ in files})]
        done = HfApi().create_commit(
            repo,
            [*stale, *sent],
            commit_message="Explanations by piste",
            repo_type=KIND,
        )
    return str(done.repo_url)


def card(folder: Path, manifest: dict[str, Any], repo: str) -> str:
    """The page of the data set, in Markdown with the metadata that the hub reads."""
    r2 = [
        value
        for table in shards.read(folder, shards.TEXTS, ["r2"])
        for value in table["r2"]
        if value is not None
    ]
    fidelity = "How well the explanations predict the model was not measured."
    if r2:
        fidelity = (
            f"Median held-out R² on parts of the texts: {r2_text(statistics.median(r2))}"
            f" ({several(len(r2), 'text')})."
        )
    model = re.sub(r"[`\n]", "", printable(manifest["model"]))
    return CARD.format(
        title=f"Explanations of {UNSAFE.sub('', model) or 'a model'}",
        model=model,
        texts=several(manifest[ENDED], "text"),
        version=manifest["versions"].get("piste", ""),
        method=manifest["method"],
        seed=manifest["seed"],
        fidelity=fidelity,
        repo=repo,
        labels=", ".join(markdown_cell(label) for label in manifest["labels"]) or "not named",
    )


def _check_login() -> None:
    if get_token() is None:
        raise SettingError(
            "You are not logged in to the hub.", "Log in (hf auth login), or set HF_TOKEN."
        )


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(
            f"There is no run in {folder}.", "Give a folder that `piste run` wrote."
        ) from error
    if ENDED not in manifest:
        raise FileError(
            f"The run in {folder} has not finished.",
            "Run the same `piste run` again to continue it.",
        )
    return manifest


def _named(manifest: dict[str, Any]) -> list[str]:
    """What may be a path of this machine."""
    return [name for name in ("data", "model", "lexicon") if isinstance(manifest.get(name), str)]


def _tables(folder: Path) -> Iterator[Path]:
    """The files that count, and what they were made with."""
    for number in shards.numbers(folder):
        for kind in (shards.TEXTS, shards.PLAYERS):
            yield place(folder, kind, number)
    yield folder / COMMITS


def lexicon_to_show(path: Path) -> bytes:
    """The file of a lexicon without the way to its model."""
    told = json.loads(gzip.decompress(path.read_bytes()))
    shown = {**told, "model": _last(told["model"])}
    return gzip.compress(json.dumps(shown).encode(), mtime=0)


def _stale(repo: str, sent: set[str]) -> list[str]:
    """The parts of an earlier, longer run that are there and would be read with this one's."""
    there = [one.rfilename for one in HfApi().dataset_info(repo).siblings or ()]
    return [name for name in there if PART.fullmatch(name) and name not in sent]


def _last(name: str) -> str:
    """A path of this machine without the way to it; a name on the hub stays as it is."""
    is_name = HUB_NAME.fullmatch(name) and not DATA_FILE.search(name) and not Path(name).exists()
    return name if is_name else re.split(r"[\\/]", name.rstrip("\\/"))[-1]


@contextmanager
def _asking(repo: str) -> Iterator[None]:
    """The hub's refusals and the network's failures, as errors with a remedy."""
    try:
        yield
    except HFValidationError as error:
        raise SettingError(
            f"{repo!r} is not the name of a data set on the hub.",
            "Give owner/name: my-org/explained.",
        ) from error
    except (HfHubHTTPError, OSError) as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise SettingError(
            f"The hub did not accept {repo}: {first[:300]}",
            "Check the network, the name, and that your token may write there (hf auth whoami);"
            " the run itself is kept.",
        ) from error
