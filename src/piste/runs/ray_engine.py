"""Explain shards on a Ray cluster: Ray Data streams them to actors with a model each.

The texts are read in order by one task, a block a shard; Ray holds the stream back where the
actors are slower. A shard whose actor dies is given to another. Actors write what they make; what
comes back to the driver is a line a shard, by which it commits it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from piste.data import Example
from piste.errors import FileError, ModelError
from piste.extras import require
from piste.runs.commits import Commit, Destination
from piste.runs.job import Maker, Numbered, RunJob, Source
from piste.threads import few_arenas

RETRIES = 10  # of a shard whose worker died
IN_FLIGHT = 2  # shards an actor: the one that it works on, and the next
Block = dict[str, Any]


def on_ray(
    source: Source,
    there: Mapping[int, str],
    maker: Maker,
    workers: int,
) -> Generator[Commit]:
    """Yield shards as they are written. Uses the connected cluster, or starts a local one."""
    ray, data = _library()
    source, job = _from_anywhere(source, maker.job)
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = (
        1  # a block a shard, however small: they go to actors one by one
    )
    gpus = 1 if (job.device or "").startswith("cuda") else 0
    # Reading waits most of the time; with a core of its own it could wait for ever for one.
    stream = data.read_datasource(
        _reader(source, there), override_num_blocks=1, ray_remote_args={"num_cpus": 0}
    )
    made = stream.map_batches(
        Worker,
        fn_constructor_args=(job, maker.destination),
        batch_size=1,
        num_cpus=1,
        num_gpus=gpus,
        compute=data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=IN_FLIGHT),
        max_restarts=-1,
        max_task_retries=RETRIES,
    )
    for row in made.iter_rows():
        yield _staged(row["staged"], row["problem"])


def _from_anywhere(source: Source, job: RunJob) -> tuple[Source, RunJob]:
    """Both with absolute paths: workers of a Ray that runs already started in another folder."""

    def absolute(name: Any) -> Any:
        named = isinstance(name, str | os.PathLike)
        return os.path.abspath(name) if named and os.path.exists(name) else name

    model = None if job.model is None else absolute(job.model)
    lexicon = None if job.lexicon is None else absolute(job.lexicon)
    data = absolute(source.data)
    return replace(source, data=data), replace(job, model=model, lexicon=lexicon)


def _staged(line: str | None, problem: str | None) -> Commit:
    """The shard that an actor wrote; raises what kept it from writing."""
    if problem is not None:
        kind, *told = json.loads(problem)
        raise (FileError if kind == FileError.__name__ else ModelError)(*told)
    commit = Commit.of_line(line or "")
    assert commit is not None
    return commit


class Worker:
    """An actor: loads the model once, explains the shards it is given, and writes them."""

    def __init__(self, job: RunJob, destination: Destination) -> None:
        self.maker: Maker | ModelError  # or why there is none: Ray would start an actor again
        few_arenas()
        try:
            self.maker = Maker.loaded(job, destination)
        except ModelError as error:
            self.maker = error

    def __call__(self, block: Block) -> Block:
        made: Block = {"staged": [], "problem": []}
        for number, texts in zip(block["number"], block["texts"], strict=True):
            examples = [(index, Example(**_tupled(one))) for index, one in json.loads(texts)]
            line = problem = None
            try:
                line = self._made((int(number), examples)).line()
            except (FileError, ModelError) as error:  # no other actor would fare better
                problem = json.dumps([type(error).__name__, error.cause, error.remedy])
            made["staged"].append(line)
            made["problem"].append(problem)
        return made

    def _made(self, shard: Numbered) -> Commit:
        if isinstance(self.maker, ModelError):
            raise self.maker
        return self.maker.make(shard)


def _reader(source: Source, there: Mapping[int, str]) -> Any:
    """One task that reads the texts in order and yields a block a shard."""
    import pyarrow
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    def blocks() -> Iterator[Any]:
        for number, texts in source.missing(there):
            packed = json.dumps([(index, asdict(one)) for index, one in texts])
            yield pyarrow.table({"number": [number], "texts": [packed]})

    class Shards(Datasource):
        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, *_: Any, **__: Any) -> list[Any]:
            unknown = BlockMetadata(
                num_rows=None, size_bytes=None, input_files=None, exec_stats=None
            )
            return [ReadTask(blocks, unknown)]

    return Shards()  # type: ignore[no-untyped-call]


def _tupled(one: dict[str, Any]) -> dict[str, Any]:
    maps = tuple(tuple(marks) for marks in one["maps"])
    return one | {"words": tuple(one["words"]), "maps": maps}


def _library() -> tuple[Any, Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray starts
    return require("ray", 'The engine "ray"'), require("ray.data", 'The engine "ray"')
