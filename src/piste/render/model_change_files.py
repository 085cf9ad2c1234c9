"""What a check found, for machines that build: a JUnit report and a Markdown summary."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from piste.errors import several
from piste.render.clean import one_line
from piste.render.model_change import (
    UNTOLD,
    moved,
    remarks,
    sections,
    shift_name,
    text_name,
    verdict,
)
from piste.runs.model_change import ModelChange, Shift
from piste.runs.statistics import as_markdown as table
from piste.runs.statistics import markdown_cell

SUITE = "piste check"
ROWS = 50  # of a table of the summary
PASSED = {  # what stands in the report for a kind without any finding
    "words": "no word changed",
    "spurious": "no new candidate for a spurious word",
    "interactions": "no interaction changed",
    "decisions": "no more decisions turned than allowed",
    "fidelity": "the fidelity did not fall",
}
Failures = list[tuple[str, str]]  # a name and a message each


def as_junit(change: ModelChange) -> str:
    """One test a finding, which fails; one that passes for every kind without any.

    The last always passes: it says how many texts the others rest on.
    """
    suite = ElementTree.Element("testsuite", name=SUITE)
    failed = 0
    for kind, failures in _failures(change):
        for name, message in failures or [(PASSED[kind], "")]:
            case = ElementTree.SubElement(suite, "testcase", classname=f"piste.{kind}", name=name)
            if message:
                ElementTree.SubElement(case, "failure", message=message).text = message
                failed += 1
    all_texts = max(change.baseline_texts, change.texts)
    name = f"{change.texts:,} of {several(all_texts, 'text')} compared"
    ElementTree.SubElement(suite, "testcase", classname="piste.texts", name=name)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failed))
    suite.set("errors", "0")
    root = ElementTree.Element("testsuites", tests=str(len(suite)), failures=str(failed))
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _failures(change: ModelChange) -> Iterator[tuple[str, Failures]]:
    yield (
        "words",
        [
            (
                shift_name(shift),
                f"effect towards {one_line(shift.label)}: {_moved(shift)}",
            )
            for shift in change.words
            if not shift.spurious
        ],
    )
    yield (
        "spurious",
        [(shift_name(shift), f"may be spurious now: {_moved(shift)}") for shift in change.spurious],
    )
    yield (
        "interactions",
        [
            (shift_name(shift), f"together, towards {one_line(shift.label)}: {moved(shift)}")
            for shift in change.pairs
        ],
    )
    flips = change.flips if change.too_many_flips else ()
    yield (
        "decisions",
        [
            (text_name(flip), f"was {one_line(flip.before)}, is {one_line(flip.after)}")
            for flip in flips
        ],
    )
    found = change.fidelity
    fell = f"the median R² fell from {found.before or 0:.2f} to {found.after or 0:.2f}"
    told = [("R²", fell)] if found.fell else []
    untold = [(UNTOLD, f"{verdict(change)} No word could be compared.")] if change.untold else []
    yield "fidelity", told + untold


def _moved(shift: Shift) -> str:
    return moved(shift) + ("" if shift.uneven else f", in {several(shift.texts, 'text')}")


def as_markdown(change: ModelChange) -> str:
    """The verdict as a heading, a table for each kind of finding, and what they rest on."""
    mark = "❌" if change.changed else "✅"
    lines = [f"## {mark} {SUITE}: {markdown_cell(verdict(change))}", ""]
    for title, rows in sections(change):
        lines += [f"### {markdown_cell(title)}", "", table(rows[: ROWS + 1])]
        if len(rows) > ROWS + 1:
            lines += [f"... and {len(rows) - ROWS - 1:,} more", ""]
    lines += [f"* {markdown_cell(line.removeprefix('· '))}" for line in remarks(change)]
    return "\n".join(lines) + "\n"
