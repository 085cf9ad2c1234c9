"""The conversation on docs/howto/agents.md: `piste mcp`, asked by the SDK's own client.

python scripts/mcp_transcript.py          prints it
python scripts/mcp_transcript.py --write  puts it on the page
"""

import asyncio
import json
import os
import sys
import textwrap
from pathlib import Path

from mcp import Client, StdioServerParameters

import piste

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "agents.md"
BEGIN, END = "<!-- transcript -->\n\n", "\n<!-- end of transcript -->"
TEXT = "The plot is thin, but the acting is superb."
CALLS = (
    ("explain", {"text": TEXT}),
    ("predict_without", {"text": TEXT, "words": ["superb"]}),
    ("flip", {"text": "A dull film with a weak end."}),
    ("compare", {"text": TEXT, "methods": ["context", "occlusion"]}),
    ("predict_without", {"text": TEXT, "words": ["awful"]}),
)


async def transcript() -> str:
    """Every call and its answer in words, as an assistant sees them."""
    source = str(Path(piste.__file__).parents[1])
    home = {**os.environ, "PYTHONPATH": source}
    server = StdioServerParameters(command=sys.executable, args=["-m", "piste", "mcp"], env=home)
    lines = []
    async with Client(server) as client:
        for name, arguments in CALLS:
            answer = await client.call_tool(name, arguments)
            lines += [f"→ {name} {json.dumps(arguments)}", answer.content[0].text, ""]
    return "\n".join(lines).rstrip() + "\n"


def indented(told: str) -> str:
    """As a block of a page: what follows no command there cannot be fenced as its output."""
    return textwrap.indent(told, "    ")


def main() -> None:
    told = asyncio.run(transcript())
    if "--write" not in sys.argv:
        print(told)
        return
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + BEGIN + indented(told) + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
