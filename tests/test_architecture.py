"""The import rule: rooms know only the rooms to their left. Read from the AST, lazy imports too."""

import ast
from pathlib import Path

import piste
from scripts.trace_walk import TEXT, walk

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "piste"

# Left to right. Rooms of one set do not import each other.
ORDER = [
    {"errors", "lazy", "moved"},
    {"arrays", "extras", "files", "options", "progress", "threads", "validation"},
    {"rows", "special"},
    {"data", "result"},
    {"lexicon", "text"},
    {"design", "models", "surrogates"},
    {"decision"},
    {"methods", "metrics"},
    {"long_texts", "many"},
    {"explain"},
    {"compare", "diff", "verify"},
    {"runs"},
    {"render"},
    {"mcp", "web", "cli"},
    {"__init__", "__main__"},
]
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
# What may be imported to the right, inside a function: results offer their pictures, the
# predictions of their surrogate and their scores by token, of a tokenizer that is named too;
# options read their lexicon, and one command starts the server.
FACADE = {
    ("result", "render"),
    ("result", "surrogates"),
    ("result", "text"),
    ("result", "models"),
    ("compare", "render"),
    ("many", "render"),
    ("many", "runs"),
    ("verify", "render"),
    ("runs", "render"),
    ("options", "lexicon"),
    ("cli", "web"),
    ("cli", "mcp"),
}
# Where torch may be imported besides the backends; everything else must start without it.
TORCH = {
    "models/fingerprint.py",
    "models/randomised.py",
    "surrogates/slalom/sgd.py",
}
HEAVY = {"torch", "transformers", "openvino", "safetensors"}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(path: Path) -> list[tuple[str, bool]]:
    """Every imported module, and whether the import waits: in a function, or for a type checker."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) or _is_for_types(function)
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
            if node.module == "piste":  # `from piste import x` names a room or the public page
                names = [f"piste.{a.name}" if a.name in RANK else "piste" for a in node.names]
            found += [(name, id(node) in inside) for name in names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, id(node) in inside) for alias in node.names]
    return found


def breaches(path: Path, room: str) -> list[str]:
    """The imports of a file in this room that do not point left."""
    found = []
    for module, lazy in imports(path):
        other = room_of(module)
        allowed = other == room or room == "__init__" or (lazy and (room, other) in FACADE)
        if module.split(".")[0] != "piste" or allowed:
            continue
        if other == "__init__" and room in {"cli", "web", "__main__"}:
            continue
        if RANK.get(other, 0) >= RANK[room] or other == "__init__":
            found.append(f"{path.name} in {room} imports {module}, which is not to its left")
    return found


def test_imports_point_left():
    rooms = {path: path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES}
    assert set(rooms.values()) <= RANK.keys(), "a room has no place in the order: give it one"
    assert [breach for path, room in rooms.items() for breach in breaches(path, room)] == []


def test_torch_lives_in_few_files():
    heavy = {
        path.relative_to(SOURCE).as_posix()
        for path in FILES
        if path.parent != SOURCE / "models" / "backends"
        and {module.split(".")[0] for module, _ in imports(path)} & HEAVY
    }
    assert heavy <= TORCH


def model_calls(path: Path) -> list[str]:
    """On what the model is called, for answers, gradients or attention."""
    return [
        ast.unparse(node.func.value)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"logits", "gradients", "attentions", "embed"}
    ]


def test_nobody_but_the_query_and_the_decision_call_a_model():
    outside = [path for path in FILES if path.relative_to(SOURCE).parts[0] != "models"]
    called = {name for path in outside for name in model_calls(path)}
    # A decision asks its own query; `self` is the decision.
    assert {name.removeprefix("self.") for name in called} <= {"query", "decision", "self"}


def test_the_rules_see_breaches(tmp_path):
    sneaky = tmp_path / "text.py"
    sneaky.write_text(
        "def f(classifier, query):\n"
        "    from piste.methods import METHODS\n"
        "    return classifier.logits(query.logits(1))\n"
    )
    assert set(model_calls(sneaky)) == {"classifier", "query"}
    assert breaches(sneaky, "text") == [
        "text.py in text imports piste.methods, which is not to its left"
    ]
    assert breaches(sneaky, "explain") == []


def test_the_walk_of_one_explanation_is_drawn():
    classifier = piste.load(backend="torch")
    piste.explain(TEXT, classifier)  # everything is imported before the walk begins
    files = walk(lambda: piste.explain(TEXT, classifier))
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("## The walk")[1].split("\n## ")[0].splitlines()
    assert {line.split()[0] for line in section if line.startswith("    ")} == set(files)
