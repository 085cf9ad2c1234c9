"""Whether a transcript on a page is what the program prints, on whatever machine it runs.

Words must be the same, and stand in the same order. Numbers that were computed may differ, because
another CPU rounds otherwise:

* a number with a standard error (`+2.77 ±0.15`) by a tenth of that error, an error by a tenth;
* another number with decimals, and a percentage, by 2 %;
* a count that a stopping rule settles (forward passes, sequences, tokens, rounds) by a tenth;
* any of them by one unit of its last digit, and other whole numbers not at all.

Rows of a table are in the order of a score: two that trade places must be so close to each other in
one of their numbers. Seconds, blanks and the lengths of bars do not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SKIP = "..."  # a line that stands for lines left out
OF_ERROR, OF_NUMBER, OF_COUNT = 0.1, 0.02, 0.1
COUNTED = frozenset({"forward", "sequences", "tokens", "rounds"})
MANY = 100  # whole numbers from here on are counts of sequences or tokens
_SECONDS = re.compile(r"(?<![\w.])\d[\d,]*(\.\d+)? ?s\b")
_BARS = re.compile(r"[\u2580-\u259f]")
_NUMBER = re.compile(r"(?P<error>±)?(?<![\w.])(?P<digits>[+−-]?\d[\d,]*(?P<decimals>\.\d+)?)(?!\w)")


@dataclass(frozen=True)
class Number:
    """A number as it is printed, and how far another machine's may be from it."""

    value: float
    allowed: float

    def agrees(self, other: Number) -> bool:
        room = max(self.allowed, other.allowed)
        return abs(self.value - other.value) <= room * (1 + 1e-9)


@dataclass(frozen=True)
class Line:
    """One printed line: its words, with `#` where numbers stand, and the numbers."""

    text: str
    words: str
    numbers: tuple[Number, ...]

    @classmethod
    def of(cls, text: str) -> Line:
        plain = _BARS.sub(" ", _SECONDS.sub("# s", text))
        matches = list(_NUMBER.finditer(plain))
        words = " ".join(_NUMBER.sub(lambda match: f"{match['error'] or ''}# ", plain).split())
        return cls(text, words, tuple(_number(plain, matches, i) for i in range(len(matches))))

    def agrees(self, other: Line) -> bool:
        """Whether both are the same but for rounding."""
        pairs = zip(self.numbers, other.numbers, strict=True)
        return self.words == other.words and all(mine.agrees(theirs) for mine, theirs in pairs)

    def ties(self, other: Line) -> bool:
        """Whether rounding may order the two otherwise: they are as close as that somewhere."""
        if len(self.numbers) != len(other.numbers):
            return False
        pairs = zip(self.numbers, other.numbers, strict=True)
        return any(mine.allowed and mine.agrees(theirs) for mine, theirs in pairs)


def _number(line: str, matches: list[re.Match[str]], place: int) -> Number:
    match, is_whole = matches[place], not matches[place]["decimals"]
    value, unit = _value(match), 10.0 ** -(len(match["decimals"] or ".") - 1)
    error = _error_of(line, matches, place)
    next_word = re.match(r"\s*([a-z]+|%)?", line[match.end() :])[1]
    is_count = next_word in COUNTED or (is_whole and value >= MANY)
    if match["error"]:
        return Number(value, OF_ERROR * value + unit)
    if error is not None:
        return Number(value, OF_ERROR * error + unit)
    if is_count:
        return Number(value, OF_COUNT * value + unit)
    return Number(value, 0.0 if is_whole and next_word != "%" else OF_NUMBER * abs(value) + unit)


def _value(match: re.Match[str]) -> float:
    return float(match["digits"].replace(",", "").replace("−", "-"))


def _error_of(line: str, matches: list[re.Match[str]], place: int) -> float | None:
    """The standard error that stands right after a number."""
    after = matches[place + 1] if place + 1 < len(matches) else None
    is_next = after is not None and not line[matches[place].end() : after.start()].strip()
    return _value(after) if after is not None and is_next and after["error"] else None


def settled(text: str) -> list[Line]:
    """The lines that are not blank; one that a long sentence was broken into is joined again."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        if lines and lines[-1].startswith("· ") and re.match(r"  \S", line):
            lines[-1] += line[1:].rstrip()
        elif line.strip():
            lines.append(line.rstrip())
    return [Line.of(line) for line in lines]


def differs(shown: str, printed: str) -> str:
    """Why a transcript is not what was printed; nothing where it is. `...` skips lines."""
    left, is_skipping = settled(printed), False
    for line in settled(shown):
        if line.text.strip() == SKIP:
            is_skipping = True
            continue
        place = next((i for i, other in enumerate(left) if line.agrees(other)), None)
        if place is None or not (is_skipping or all(line.ties(one) for one in left[:place])):
            return f"shown: {line.text!r}\nprinted: {[other.text for other in left[:3]]!r}"
        # What was skipped is done with; what traded places with this line is still to come.
        left = left[place + 1 :] if is_skipping else left[:place] + left[place + 1 :]
        is_skipping = False
    return "" if is_skipping or not left else f"not shown: {left[0].text!r}"
