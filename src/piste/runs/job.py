"""What a run does with each text, and where the texts come from; both can be pickled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from piste.data import Columns, Example, Texts, read_examples, source_name
from piste.errors import InputError, ModelError, reason
from piste.explain import explain
from piste.lexicon import Lexicon
from piste.methods.base import Method
from piste.models.fingerprint import Fingerprint, difference, digests
from piste.models.loading import load
from piste.models.protocol import Classifier
from piste.models.sharing import THREADS, Gathering, together
from piste.options import Options
from piste.result.explanation import Explanation
from piste.runs.commits import Commit, Destination, rows_digest
from piste.runs.shards import Shard, stage
from piste.runs.store import stamp
from piste.surrogates import algebra
from piste.threads import give_back

Numbered = tuple[int, list[tuple[int, Example]]]  # a shard's number, its texts with theirs


@dataclass(frozen=True)
class RunJob:
    """How every text is explained; small enough to send to a worker."""

    model: str | None  # None: a classifier of this process
    device: str | None
    trust_remote_code: bool
    method: Method
    options: Options  # without the lexicon, which workers read for themselves
    refine: int | None = None
    lexicon: str | None = None  # its file
    scores: tuple[str, ...] = ()
    digests: Fingerprint | None = None  # of the model that the run began with

    def classifier(self) -> Classifier:
        """The model, loaded in the calling process."""
        trusted = self.trust_remote_code
        return load(self.model or "demo", device=self.device, trust_remote_code=trusted)

    def same_classifier(self) -> Classifier:
        """The same for a worker: refuses a model that has changed since the run began."""
        classifier = self.classifier()
        problem = difference(self.digests, digests(classifier))
        if problem is not None:
            raise ModelError(
                f"The model {self.model!r} has changed since the run began: {problem}.",
                "Put the model back and run the same command again, or give another folder.",
            )
        return classifier

    def explain(
        self,
        classifier: Classifier,
        example: Example,
        known: Lexicon | None,
        gathering: Gathering | None = None,
    ) -> Explanation:
        options = self.options
        if known is not None:
            options = replace(options, lexicon=known, refine=self.refine)
        return explain(
            example.text,
            classifier,
            self.method,
            pair=example.pair,
            gathering=gathering,
            **options.named(),
        )


@dataclass(frozen=True)
class Source:
    """The texts of a run as a stream of shards; small enough to send to a worker."""

    data: Texts  # that can be read more than once
    columns: Columns
    limit: int | None
    split: str
    shard: int  # texts

    def examples(self) -> Iterator[Example]:
        return read_examples(self.data, self.columns, limit=self.limit, split=self.split)

    def head(self) -> list[Example]:
        """The first rows; fails on a wrong path or an empty file before anything is written."""
        rows = list(islice(self.examples(), self.shard))
        if not rows:
            raise InputError(
                f"There is no text in {source_name(self.data)}.",
                "Check that it has rows; --split and --limit choose among them.",
            )
        return rows

    def count(self) -> int | None:
        """The number of rows; of a data set of the hub, which is only streamed, the limit."""
        streamed = isinstance(self.data, str | os.PathLike) and not Path(self.data).exists()
        return self.limit if streamed else sum(1 for _ in self.examples())

    def texts(self) -> Iterator[str]:
        """The texts of all rows that have one."""
        return (example.text for example in self.examples() if example.problem is None)

    def missing(self, there: Mapping[int, str]) -> Iterator[Numbered]:
        """The shards that are missing, or were made from other rows than the data has now."""
        numbered = enumerate(self.examples())
        number = 0
        while texts := list(islice(numbered, self.shard)):
            if there.get(number) != rows_digest((index, stamp(one)) for index, one in texts):
                yield number, texts
            number += 1


@dataclass(frozen=True)
class Maker:
    """Explains and writes shards: a job with its model loaded, in this process or a worker."""

    job: RunJob
    classifier: Classifier
    lexicon: Lexicon | None
    destination: Destination
    tell: Callable[[int], None] | None = None  # how many texts of the shard are explained

    @classmethod
    def loaded(cls, job: RunJob, destination: Destination) -> Maker:
        """With a model and a lexicon of the calling process's own."""
        known = None if job.lexicon is None else Lexicon.load(job.lexicon)
        return cls(job, job.same_classifier(), known, destination)

    def make(self, shard: Numbered) -> Commit:
        """Explain the texts of a shard and write it; it counts once it is committed."""
        number, texts = shard
        return stage(self.destination, number, self.explained(texts))

    # Explanations share the machine as it is: libraries that divide each small product among
    # threads of their own wait for each other, on a busy machine for minutes.
    @algebra.one_thread
    def explained(self, texts: list[tuple[int, Example]]) -> Shard:
        """The rows of these texts."""
        # Another library's explainer keeps what it is doing in itself: one text at a time.
        threads = THREADS if self.job.method.parallel else 1
        made = Shard.of(self.job.scores)
        tokens = self.job.options.batch_tokens
        results = together(self.classifier, texts, self._explain, threads, tokens)
        for count, ((index, example), result) in enumerate(zip(texts, results, strict=True), 1):
            made.add(index, example, result)
            if count % THREADS == 0:
                give_back()  # sixteen threads free it where no other finds it
            if self.tell is not None:
                self.tell(count)
        return made

    def _explain(self, gathering: Gathering, item: tuple[int, Example]) -> Explanation | str:
        example = item[1]
        if example.problem is not None:
            return example.problem
        try:
            return self.job.explain(self.classifier, example, self.lexicon, gathering)
        except Exception as error:  # one text must not end the run, whatever the model does to it
            return reason(error)
