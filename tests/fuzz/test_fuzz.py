"""The fuzz targets on some examples; `make fuzz` gives them more (FUZZ_EXAMPLES)."""

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import targets
from tests.fuzz.mutations import damaged_bytes
from tests.test_hostile import TOKENS

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "25"))
ODD = (
    *TOKENS, "ﬁ", "İ", "ß", "ǆ", "가", "각", "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "e\u0301\u0323", "ข้า", "क्षि", "\u3000", "½", "㎏", "\u00a0", "...", "U.S.A.", "don't",
    "[CLS]", "[UNK]", "##", "▁", "<0x0A>", "Ġ",
)  # fmt: skip
texts = st.lists(
    st.sampled_from(ODD) | st.text(st.characters(exclude_categories=()), max_size=12), max_size=12
).flatmap(lambda parts: st.sampled_from(["", " ", "\n"]).map(lambda gap: gap.join(parts)))
often = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@often
@given(texts)
def test_any_text_becomes_a_page(text: str) -> None:
    targets.text_to_pages(text)


@often
@given(texts)
def test_any_text_passes_any_tokenizer(text: str) -> None:
    targets.text_through_tokenizers(text)


@often
@given(st.binary(max_size=200) | st.integers(0, 2**32).map(random.Random))
def test_any_bytes_are_refused_or_shown(given_: bytes | random.Random) -> None:
    valid = targets.valid_file()
    data = given_ if isinstance(given_, bytes) else damaged_bytes(valid, given_)
    targets.file_to_pages(data)


def test_the_targets_can_fail(monkeypatch) -> None:
    targets.file_to_pages(targets.valid_file())
    monkeypatch.setattr(targets, "segments", lambda _: [])
    with pytest.raises(AssertionError):
        targets.file_to_pages(targets.valid_file())
    with pytest.raises(AssertionError):
        targets.text_to_pages("good film")
