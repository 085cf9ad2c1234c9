"""Shards explained on a Ray cluster: actors hold one model each, Ray Data holds back the stream."""

from __future__ import annotations

from collections.abc import Iterator

from piste.lexicon import Lexicon
from piste.models.protocol import Classifier
from piste.runs.run import Job, Numbered
from piste.runs.shards import Shard

AHEAD = 2  # shards an actor may have waiting
RETRIES = 5  # of a shard whose worker died


def on_ray(
    missing: Iterator[Numbered],
    job: Job,
    classifier: Classifier,
    known: Lexicon | None,
    workers: int,
) -> Iterator[tuple[int, Shard]]:
    """The shards, as they are done."""
    raise NotImplementedError
