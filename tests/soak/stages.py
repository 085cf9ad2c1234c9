"""All cases, in the order in which they run."""

from tests.soak import kills
from tests.soak.cases import Case

CASES: tuple[Case, ...] = (*kills.cases(),)
STAGES = tuple(dict.fromkeys(case.stage for case in CASES))
