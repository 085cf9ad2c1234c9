"""The runner of the pages: what it must not let through; and the site's links."""

from types import SimpleNamespace

import pytest

from scripts import docs_hooks
from tests import pages
from tests.pages.shell import Shell, commands, entry_for, pipeline, words_of

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
    assert (pages.differs(shown, "a 0.3 s\nb\nc\n") == "") is same


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
        ("CHANGELOG.md", "](docs/scale.md#x)", "](scale.md#x)"),
        ("benchmarks/RESULTS.md", "](../docs/scale.md)", "](../scale.md)"),
    ],
)
def test_links_out_of_the_docs_are_turned_to_the_site(page, link, turned):
    shown = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    assert docs_hooks.on_page_markdown(f"[x{link}", shown, None, None) == f"[x{turned}"


def test_what_the_site_takes_from_elsewhere_exists():
    assert all((pages.ROOT / name).is_file() for name in docs_hooks.OUTSIDE)
