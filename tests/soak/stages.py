"""All cases, in the order in which they run."""

from tests.soak import disk, faults, fuzz, kills, serving, threads
from tests.soak.cases import Case

CASES: tuple[Case, ...] = (
    *kills.cases(),
    *disk.cases(),
    *threads.cases(),
    *serving.cases(),
    *fuzz.cases(),
    *faults.cases(),
)
STAGES = tuple(dict.fromkeys(case.stage for case in CASES))
