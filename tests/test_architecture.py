"""The import rule: rooms know only the rooms to their left. Read from the AST, lazy imports too."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "piste"

# Left to right. Rooms of one set do not import each other.
ORDER = [
    {"errors", "lazy"},
    {"files", "formula", "ragged", "data"},
    {"explanation"},
    {"lexicon", "reading", "exports", "merging"},
    {"text"},
    {"design", "models", "surrogates"},
    {"methods", "metrics"},
    {"task"},
    {"windows"},
    {"explain"},
    {"compare"},
    {"runs"},
    {"render"},
    {"web", "cli"},
    {"__init__", "__main__"},
]
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
# The results offer their pictures and their reader; they load when asked for.
FACADE = {("explanation", "render"), ("explanation", "reading"), ("compare", "render")}
FACADE |= {("explanation", "exports"), ("runs", "render")}
FACADE |= {("cli", "web")}  # one command starts the server
# Where torch may be imported at all; everything else must start without it.
TORCH = {
    "models/fingerprint.py",
    "models/huggingface.py",
    "models/language_model.py",
    "models/next_tokens.py",
    "models/onnx.py",
    "models/pretrained.py",
    "models/tokens.py",
    "models/compiled.py",
    "models/runtime.py",
    "models/redrawn.py",
    "surrogates/sgd.py",
}
HEAVY = {"torch", "transformers", "openvino", "safetensors"}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(path: Path) -> list[tuple[str, bool]]:
    """Every imported module, and whether the import stands inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_left(path):
    relative = path.relative_to(SOURCE)
    room = relative.parts[0].removesuffix(".py")
    assert room in RANK, f"{room} has no place in the order: give it one"
    for module, lazy in imports(path):
        if module.split(".")[0] != "piste":
            continue
        other = room_of(module)
        if other == room or room == "__init__" or ((room, other) in FACADE and lazy):
            continue
        if other == "__init__":
            assert room in {"cli", "web", "__main__"}, f"{relative} imports the public page"
            continue
        assert RANK[other] < RANK[room], f"{relative} imports {module}, which is not to its left"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_lives_in_few_rooms(path):
    relative = str(path.relative_to(SOURCE))
    if relative in TORCH or relative.split("/")[0] in TORCH:
        return
    heavy = {module.split(".")[0] for module, _ in imports(path)} & HEAVY
    assert not heavy, f"{relative} imports {heavy}"


def model_calls(path: Path) -> list[str]:
    """On what the model is called, for answers, gradients or attention."""
    return [
        ast.unparse(node.func.value)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"logits", "gradients", "attentions", "embed"}
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_but_the_query_calls_a_model(path):
    if path.relative_to(SOURCE).parts[0] != "models":
        assert set(model_calls(path)) <= {"query", "self.query"}


def test_the_rules_do_see_breaches(tmp_path):
    breach = tmp_path / "sneaky.py"
    breach.write_text("def f(classifier, query):\n    return classifier.logits(query.logits(1))\n")
    assert set(model_calls(breach)) == {"classifier", "query"}


def test_the_rule_can_fail(tmp_path):
    breach = tmp_path / "text.py"
    breach.write_text("def f():\n    from piste.methods import METHODS\n")
    assert imports(breach) == [("piste.methods", True)]
    assert RANK["methods"] > RANK["text"]
