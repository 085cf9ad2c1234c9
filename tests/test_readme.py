"""What the README shows is what the program says."""

import re
from pathlib import Path

import piste
from tests.pages.transcripts import differs

README = Path(__file__).parents[1] / "README.md"


def test_the_transcript_is_true(demo):
    page = README.read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(positive.*?)```", page, re.S)
    text = re.search(r'piste\.explain\("(.*?)", classifier\)', page).group(1)
    assert not differs(shown, str(piste.explain(text, demo)))
