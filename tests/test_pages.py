"""The runner of the pages: what it must not let through; and the site's links."""

import re

import pytest

from scripts import site_pages
from tests import pages
from tests.pages.shell import Shell, commands, entry_for, pipeline, words_of
from tests.pages.transcripts import differs

LISTED = """\
* a list

  ```sh title="run.sh"
  piste methods
    more
  ```

````text
```python
````
"""


def test_blocks_are_found_in_lists_and_inside_longer_fences():
    first, second = pages.fenced(LISTED, "page.md")
    assert (first.kind, first.title, first.place) == ("sh", "run.sh", "page.md:3")
    assert first.body == "piste methods\n  more\n"
    assert (second.kind, second.body) == ("text", "```python\n")


def test_a_block_that_does_not_end_is_told():
    with pytest.raises(AssertionError, match="page:1"):
        pages.fenced("```sh\npiste methods\n", "page")


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("a 1.5 s\nb\nc", True),  # seconds do not count
        ("a 9 s\n\n  \nb\nc  ", True),  # nor do blanks
        ("...\nc", True),
        ("a 1 s\n...", True),
        ("a 1 s\n...\nc", True),
        ("a 1 s\nc", False),  # a line is missing
        ("a 1 s\nb", False),  # the end is missing
        ("a 1 s\nb\nc\nd", False),
        ("c\n...", False),
        ("b\na 1 s\nc", False),
        ("", False),
    ],
)
def test_a_transcript_is_what_was_printed(shown, same):
    assert (differs(shown, "a 0.3 s\nb\nc\n") == "") is same


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("superb +2.77 ±0.15", "superb  +2.78 ±0.14", True),  # a tenth of the error
        ("worst −3.78 ±2.40", "worst −3.76 ±2.27", True),
        ("superb +2.77 ±0.15", "superb +2.81 ±0.15", False),
        ("superb +2.77 ±0.15", "superb +2.77 ±0.19", False),
        ("superb +2.77 ±0.15", "superb −2.77 ±0.15", False),
        ("superb +2.77 ±0.15", "thin +2.77 ±0.15", False),
        ("superb +2.77 ±0.15", "superb +2.77", False),
        ("plot −0.01 ±0.16", "plot +0.01 ±0.16", True),
        ("lin −44.71", "lin −45.2", True),  # 2 %, and a unit of the last digit
        ("lin −44.71", "lin −48.97", False),
        ("lin −9.99  +50", "lin −10.01  +50", True),
        ("R² 0.99", "R² 1.00", True),
        ("R² 0.99", "R² 0.95", False),
        ("probability 81 %", "probability 82 %", True),
        ("probability 81 %", "probability 84 %", False),
        ("214 sequences, 1,141 tokens", "209 sequences, 1,098 tokens", True),
        ("214 sequences", "264 sequences", False),
        ("43 forward passes of the full text", "40 forward passes of the full text", True),
        ("43 forward passes of the full text", "36 forward passes of the full text", False),
        ("after 4 rounds", "after 5 rounds", True),
        ("exhausted 0.12 707", "exhausted 0.12 713", True),
        ("54 words of 10 texts", "54 words of 11 texts", False),
        ("thin −0.76        █│", "thin −0.76       ▕█│", True),
        ("version 0.1.0", "version 0.1.1", False),
        ("· broken after 1\n  word", "· broken\n  after 1 word", True),
        ("· one\n  two", "· one\ntwo", False),
    ],
)
def test_numbers_may_differ_as_far_as_machines_do(shown, printed, same):
    assert (differs(shown, printed) == "") is same


@pytest.mark.parametrize(
    ("order", "same"),
    [("abcd", True), ("acbd", True), ("bacd", False), ("abdc", False), ("abc", False)],
)
def test_rows_trade_places_only_where_their_scores_are_close(order, same):
    rows = {"a": "a +9.00 1", "b": "b +7.70 1", "c": "c +7.63 1", "d": "d +3.00 1"}
    printed = "\n".join(rows[name] for name in order)
    assert (differs("\n".join(rows.values()), printed) == "") is same
    assert (differs("a +9.00 1\n...", printed) == "") is (order[0] == "a")


def test_commands_are_read_as_a_shell_reads_them():
    script = "# a remark\npiste run a \\\n  --out b   # why\n$ cat x | piste explain - > y\n"
    first, second = commands(script)
    assert words_of(first) == ["piste", "run", "a", "--out", "b"]
    assert pipeline(second) == ([["cat", "x"], ["piste", "explain", "-"]], "y")
    assert pipeline("piste explain 'a > b | c'") == ([["piste", "explain", "a > b | c"]], None)


def test_excuses_go_by_whole_words():
    assert entry_for("ray start --head", ["ray start"]) == "ray start"
    assert entry_for("ray started", ["ray start"]) is None


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("piste explain --no-such-option", "ended with 2"),
        ("piste summary nowhere", "ended with 2"),
        ("pip install 'piste[nothing]'", "there is no extra"),
        ("make no-such-target", "ended with 2"),
        ("cat no-such-file", "ended with 1"),
        ("rm -rf results", "rm is a program"),
        ("curl --insecure http://127.0.0.1/", "curl --insecure"),
    ],
)
def test_a_command_that_fails_is_told(command, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=message):
        Shell().run(command)


def test_pipes_variables_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell = Shell()
    assert shell.run("printf '%s' one > file\ncat file | tr o 0\n") == "0ne"
    assert "Usage" in shell.run("COLUMNS=60 piste explain --help")


@pytest.mark.parametrize(
    ("page", "link", "turned"),
    [
        ("performance.md", "](../benchmarks/RESULTS.md)", "](benchmarks/RESULTS.md)"),
        ("howto/ci.md", "](../../CHANGELOG.md)", "](../CHANGELOG.md)"),
        ("howto/ci.md", "](../scale.md)", "](../scale.md)"),
        ("howto/audit.md", "](../../examples/a.ipynb)", "](../../examples/a.ipynb)"),
        ("howto/ci.md", "](../../examples/quickstart.ipynb)", "](../examples/quickstart.ipynb)"),
        ("CHANGELOG.md", "](docs/scale.md#x)", "](scale.md#x)"),
        ("examples/README.md", "](../docs/scale.md)", "](../scale.md)"),
        ("benchmarks/RESULTS.md", "](../docs/scale.md)", "](../scale.md)"),
    ],
)
def test_links_out_of_the_docs_are_turned_to_the_site(page, link, turned):
    assert site_pages.turned(page, f"[x{link}") == f"[x{turned}"


def test_the_site_has_every_page_and_every_link_of_it_leads_to_one(tmp_path):
    site = tmp_path / "pages"
    (site / "of-yesterday.md").parent.mkdir()
    (site / "of-yesterday.md").write_text("gone")
    site_pages.gather(site)
    found = {path.relative_to(site).as_posix() for path in site.rglob("*.md")}
    ours = {page.removeprefix("docs/") for page in pages.pages() if page.startswith("docs/")}
    assert found == ours | {name for name in site_pages.OUTSIDE if name.endswith(".md")}
    for name in found:
        for target in re.findall(r"\]\(([^)#:]+)\)", (site / name).read_text(encoding="utf-8")):
            assert (site / name).parent.joinpath(target).exists(), f"{name}: {target}"
