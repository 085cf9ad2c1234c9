"""The simulated cluster: every shard once whatever dies, and times that can be worked out."""

import importlib.util
import sys
from pathlib import Path

import pytest

from piste.runs.ray_engine import RETRIES

FILE = Path(__file__).parents[2] / "benchmarks" / "cluster.py"


@pytest.fixture(scope="module")
def cluster():
    spec = importlib.util.spec_from_file_location("benchmarks_cluster", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there for their module
    spec.loader.exec_module(module)
    return module


def test_without_trouble_the_time_is_the_work_by_the_actors(cluster):
    rates = cluster.Rates(read=0.0, work=10.0, commit=0.0, load=5.0, spread=0.0)
    outcome = cluster.simulated(40, 4, rates)
    assert outcome.seconds == pytest.approx(5.0 + 10 * 10.0)
    assert outcome.committed == dict.fromkeys(range(40), 1)


@pytest.mark.parametrize("seed", range(5))
def test_every_shard_is_committed_once_whoever_dies_or_lags(cluster, seed):
    rates = cluster.Rates(0.01, 10.0, 0.01, load=5.0, between_deaths=60.0, slow=0.25)
    outcome = cluster.simulated(300, 8, rates, seed)
    assert outcome.failed is None
    assert outcome.deaths > 10
    assert outcome.wasted > 0
    assert outcome.committed == dict.fromkeys(range(300), 1)
    calm = cluster.simulated(300, 8, cluster.Rates(0.01, 10.0, 0.01, load=5.0), seed)
    assert outcome.seconds > calm.seconds


def test_a_shard_that_always_kills_its_actor_ends_the_run(cluster):
    rates = cluster.Rates(0.0, work=1e6, commit=0.0, load=1.0, between_deaths=10.0)
    outcome = cluster.simulated(1, 1, rates)
    assert outcome.failed == 0
    assert outcome.deaths >= RETRIES + 1
    assert not outcome.committed


def test_a_slow_driver_or_reader_is_the_bottleneck(cluster):
    slow_driver = cluster.Rates(read=0.0, work=1.0, commit=1.0, load=0.0, spread=0.0)
    outcome = cluster.simulated(100, 50, slow_driver)
    assert outcome.seconds == pytest.approx(101.0)
    assert outcome.driver_share > 0.98
    slow_reader = cluster.Rates(read=1.0, work=1.0, commit=0.0, load=0.0, spread=0.0)
    assert cluster.simulated(100, 50, slow_reader).seconds >= 100.0
