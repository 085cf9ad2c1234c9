"""Hostile text never becomes markup, code, a formula, an escape or a path."""

import csv
import io
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

import piste
from piste.compare import Comparison, Figures
from piste.render import comparison_html, comparison_terminal, evaluation, html, terminal
from piste.result.explanation import Target
from piste.runs.evaluate import Evaluation
from piste.runs.statistics import as_csv, as_markdown
from tests.render.samples import sample, words_of

TOKENS = (
    "</script>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "{{7*7}}", "{% raw %}", "${7*7}", "{0}", "%s", "]]>", "<![CDATA[", "<!--", "-->", "<?xml?>",
    "&lt;b&gt;", "&#x3c;", "' onmouseover='x", '" onfocus="x', "</title>", "</style>",
    "javascript:alert(1)", "[bold]", "[/]", "[link=http://x]", ":smile:", "$\\frac{1}{2}$", "\\n",
    "\x1b[31m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x9b31m", "\x08\x08", "\r", "\x00",
    "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\U000e0041", "\ud800", "=cmd()", "+1", "-1",
    "@x", "\t=1", "|", "`", "../../etc", "CON", "a/b", "\\\\host\\x",
)  # fmt: skip
hostile = st.lists(
    st.sampled_from(TOKENS) | st.text(st.characters(exclude_categories=()), max_size=8),
    min_size=1,
    max_size=8,
).map(" ".join)
some = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def made_from(text: str) -> piste.Explanation:
    """Everything that a person or a model may name is the hostile text."""
    scores = sample(text, words_of(text) or [(0, len(text))]).scores
    return sample(
        text,
        words_of(text) or [(0, len(text))],
        target=Target(0, text, "log-odds", 1.0, 0.7, (text, f"{text}2")),
        scores={**scores, text: scores["lin"]},
        notes=(text,),
        model=text,
        backend=text,
        settings={text: text},
        versions={text: text},
        method=text,
        unit=text,
        repeats=text,
    )


def compared(text: str) -> Comparison:
    first = made_from(text)
    second = replace(first, primary=text)
    measured = {text: Figures(0.1, 0.2, 0.3), "lime": Figures(None, None, None)}
    both = {text: first, "lime": second}
    return Comparison(both, {f"{text}x": text}, np.eye(2), measured)


def evaluated(text: str) -> Evaluation:
    row = {
        "index": 0,
        "id": text,
        "values": {text: {"deletion": 0.5}},
        "failed": {"lime": text},
        "cost": {text: {"forwards": 1, "tokens": 2, "text": 2, "query_seconds": 0.0,
                        "fit_seconds": 0.0}},
    }  # fmt: skip
    return Evaluation((text, "lime"), ("deletion",), [row], {})


def controls(shown: str) -> set[str]:
    """Characters that act on a terminal or hide; our own newlines and colours aside."""
    rest = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    bidi = {chr(code) for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F))}
    isolates = {chr(code) for code in range(0x2066, 0x206A)}
    unsafe = {c for c in rest if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"}
    return unsafe | (set(rest) & (bidi | isolates))


def printed(show: object, found: object, colours: str | None) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=90, force_terminal=colours is not None, color_system=colours
    )  # type: ignore[arg-type]
    show(found, console)  # type: ignore[operator]
    return stream.getvalue()


class Skeleton(HTMLParser):
    """The tags with the names of their attributes, and nothing of what they hold."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.foreign: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        self.foreign.append(data)

    def unknown_decl(self, data: str) -> None:
        self.foreign.append(data)

    def handle_pi(self, data: str) -> None:
        self.foreign.append(data)


HARMLESS = Skeleton(html.page(made_from("good film"))).tags
HARMLESS_COMPARED = Skeleton(comparison_html.page(compared("good film"))).tags


@some
@given(hostile)
def test_pages_hold_no_markup_but_ours(text: str) -> None:
    for page, ours in (
        (html.page(made_from(text)), HARMLESS),
        (comparison_html.page(compared(text)), HARMLESS_COMPARED),
    ):
        found = Skeleton(page)
        assert set(found.tags) <= {*ours, ("line", "class", "x1", "y1", "x2", "y2")}
        assert found.foreign == []
        for once in ("script", "style", "title", "body", "head", "meta"):
            assert count(found.tags, once) == count(ours, once)
        assert controls(page) == set()
        page.encode("utf-8")


def count(tags: list[tuple[str, ...]], name: str) -> int:
    return sum(tag[0] == name for tag in tags)


@some
@given(hostile)
def test_a_notebook_cell_is_one_frame(text: str) -> None:
    assert len(Skeleton(html.fragment(made_from(text))).tags) == 1


@some
@given(hostile, st.sampled_from([None, "truecolor"]))
def test_a_terminal_is_sent_no_control_characters(text: str, colours: str | None) -> None:
    shown = [
        printed(terminal.show, made_from(text), colours),
        printed(comparison_terminal.show, compared(text), colours),
        printed(evaluation.show, evaluated(text), colours),
    ]
    for part in shown:
        assert controls(part) == set()
        assert "\x1b" not in part or colours


@pytest.mark.parametrize("token", TOKENS)
def test_representations_and_errors_are_free_of_control_characters(token: str) -> None:
    asked = piste.from_function(lambda texts: [1.0] * len(texts), [token, "no"], name=token)
    assert controls(repr(made_from(token))) == set()
    assert controls(repr(compared(token))) == set()
    assert controls(repr(asked)) == set()


@settings(max_examples=8, deadline=None)
@given(hostile)
def test_figures_are_well_formed_and_hold_no_markup_but_ours(text: str) -> None:
    from piste.render import comparison_figure, figure

    for drawing in (figure.draw(made_from(text)), comparison_figure.draw(compared(text))):
        with figure.house_style():
            svg = figure.saved(drawing, ".svg").decode("utf-8")
        root = ElementTree.fromstring(svg)  # not well-formed: an error here
        kinds = {str(element.tag).rpartition("}")[2] for element in root.iter()}
        assert kinds <= {
            "svg", "metadata", "RDF", "Work", "type", "format", "creator", "Agent", "title", "date",
            "defs", "style", "g", "path", "use", "clipPath", "rect", "image",
        }  # fmt: skip
        assert not [name for part in root.iter() for name in part.attrib if name.startswith("on")]
        # A comment beside each text is matplotlib's: it may hold the text, and must not end early.
        # Words that run from right to left are isolated by us, each isolate ended.
        assert controls(svg) <= {"\r", "\u200e", "\u2068", "\u2069"}
        assert svg.count("\u2068") == svg.count("\u2069")


@some
@given(st.lists(hostile, min_size=1, max_size=3))
def test_csv_cells_are_text(cells: list[str]) -> None:
    written = as_csv([["id", "method", "reason"], cells])
    (_, back) = list(csv.reader(io.StringIO(written, newline="")))
    assert len(back) == len(cells)
    for cell in back:
        assert cell == "-" or not cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝"))
        assert controls(cell) == set()


@some
@given(hostile)
def test_a_markdown_table_keeps_its_shape_and_shows_markup_as_text(text: str) -> None:
    table = as_markdown([["method", "x"], [text, "1"]])
    lines = table.split("\n")
    assert len(lines) == 4
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", lines[2])) == 3
    assert not re.search(r"(?<!\\)(\\\\)*<", table)
    assert controls(table) == set()


@pytest.mark.parametrize("token", TOKENS)
def test_names_do_not_reach_the_file_system(token: str, tmp_path: Path) -> None:
    evaluation.write(evaluated(token), tmp_path / "out")
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    expected = {"table.md", "table.csv", "pairs.csv", "costs.csv", "failures.csv", "curves.png"}
    assert made == {"out", *(f"out/{name}" for name in expected)}
