"""What the served page is told, where it is not what the terminal says."""

import pytest

from piste.web.page_data import full, in_page
from tests.render.samples import in_context, sample


@pytest.mark.parametrize("explanation", [sample(), in_context()], ids=["slalom", "context"])
def test_advice_names_the_pages_fields_and_no_options(explanation) -> None:
    for statement in full(explanation)["statements"]:
        assert "--" not in statement["text"]
        assert "`piste" not in statement["text"]


def test_advice_stays_advice() -> None:
    told = 'Try effort="thorough" (--effort thorough), or `piste compare --measure`.'
    assert in_page(told) == 'Try effort="thorough", or Compare methods.'
    assert in_page("Use --tolerance 0.1 for more.") == "Use tolerance 0.1 for more."
