"""The page of results: what was run anew is replaced, the rest stays."""

import json

from papers import page
from papers.experiments import EXPERIMENTS


def result(folder, name, finding, picture=None):
    (folder / name).mkdir(parents=True, exist_ok=True)
    facts = {
        "seconds": 12.4,
        "processor_seconds": 3.0,
        "seed": 0,
        "settings": {"texts": 2},
        "tables": [{"title": "T", "columns": ["a"], "rows": [["1"]]}],
        "findings": [finding],
    }
    (folder / name / "result.json").write_text(json.dumps(facts))
    if picture:
        (folder / name / picture).write_bytes(b"png")


def test_items_run_anew_replace_theirs_and_the_others_stay(tmp_path):
    docs, first, second = (tmp_path / name for name in ("docs", "first", "second"))
    docs.mkdir()
    result(first, "table6", "Old six.", "old.png")
    result(first, "fig3", "Old three.", "kept.png")
    page.update(docs, first)
    before = (docs / "reproduction.md").read_text()
    assert before.index("Old three.") < before.index("Old six.")  # the order of the experiments
    page.update(docs, tmp_path / "nothing")
    assert (docs / "reproduction.md").read_text() == before
    result(second, "table6", "New six.", "new.png")
    result(second, "table13", "New thirteen.")
    page.update(docs, second)
    after = (docs / "reproduction.md").read_text()
    assert "Old six." not in after
    assert after.replace("New", "Old").count("Old") == 3
    assert [name for name in EXPERIMENTS if f"## {name}:" in after] == ["fig3", "table6", "table13"]
    pictures = sorted(path.name for path in (docs / "images" / "reproduction").iterdir())
    assert pictures == ["fig3-kept.png", "table6-new.png"]
    assert "12 s (3 s of processor time), seed 0" in after
