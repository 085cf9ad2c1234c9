"""All cases, in the order in which they run."""

from tests.soak import disk, kills
from tests.soak.cases import Case

CASES: tuple[Case, ...] = (*kills.cases(), *disk.cases())
STAGES = tuple(dict.fromkeys(case.stage for case in CASES))
