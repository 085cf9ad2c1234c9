"""What the README shows is what the program says."""

import re
from pathlib import Path

import piste

README = Path(__file__).parents[1] / "README.md"


def settled(text: str) -> list[str]:
    """Without the seconds, and without spaces at the ends of lines."""
    lines = [re.sub(r"\d+\.\d s\.", "s.", line.rstrip()) for line in text.strip().splitlines()]
    return [line for line in lines if line]


def test_the_transcript_is_true(demo):
    page = README.read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(positive.*?)```", page, re.S)
    text = re.search(r'piste\.explain\("(.*?)", classifier\)', page).group(1)
    assert settled(shown) == settled(str(piste.explain(text, demo)))
