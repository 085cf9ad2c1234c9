"""Models that are damaged, incomplete or hostile: each told apart, and nothing of theirs is run."""

import ast
import json
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch

import piste
from piste.errors import ModelError
from piste.models.loading import load as load_any
from tests.conftest import tiny_bert

SOURCE = Path(piste.__file__).parent


def load(path: object, **settings: object):
    return load_any(path, backend="torch", **settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SOURCE / "models" / "demo", tmp_path / "model"))


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def changed(path: Path, **settings: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


DAMAGE = {
    "no configuration": lambda d: (d / "config.json").unlink(),
    "damaged configuration": lambda d: cut(d / "config.json", 60),
    "configuration of no known model": lambda d: (d / "config.json").write_text("{}"),
    "no weights": lambda d: (d / "model.safetensors").unlink(),
    "truncated weights": lambda d: cut(d / "model.safetensors", 100_000),
    "empty weights": lambda d: cut(d / "model.safetensors", 0),
    "weights of another shape": lambda d: changed(d / "config.json", hidden_size=192),
    "no tokenizer": lambda d: (d / "tokenizer.json").unlink(),
    "damaged tokenizer": lambda d: cut(d / "tokenizer.json", 500),
}
TOLD = {
    "no configuration": ("there is no config.json", "save_pretrained"),
    "damaged configuration": ("not a valid JSON", "config.json is damaged"),
    "configuration of no known model": (
        "Unrecognized model",
        "config.json is damaged or of a kind",
    ),
    "no weights": ("there is no model.safetensors", "beside config.json"),
    "truncated weights": ("Cannot load the weights", "damaged or cut short"),
    "empty weights": ("Cannot load the weights", "damaged or cut short"),
    "weights of another shape": ("do not have the shapes", "same model"),
    "no tokenizer": ("knows no words", "tokenizer.json beside its weights"),
    "damaged tokenizer": ("Cannot load the tokenizer", "tokenizer.json or tokenizer_config.json"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_told_apart_with_a_remedy_that_fits(kind: str, folder: Path) -> None:
    DAMAGE[kind](folder)
    with pytest.raises(ModelError) as caught:
        load(folder)
    cause, remedy = TOLD[kind]
    assert cause in caught.value.cause
    assert remedy in caught.value.remedy
    assert "\n" not in str(caught.value)


def test_the_undamaged_copy_loads(folder: Path) -> None:
    assert load(folder).labels == ("negative", "positive")


def test_a_model_that_does_not_fit_into_memory_is_not_called_damaged(folder, monkeypatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    kind = "piste.models.backends.huggingface.AutoModelForSequenceClassification.from_pretrained"
    monkeypatch.setattr(kind, exhausted)
    with pytest.raises(ModelError, match="smaller model"):
        load(folder)


def test_ids_that_the_model_does_not_know(folder: Path, wordpiece) -> None:
    classifier = load(folder, tokenizer=wordpiece)
    wordpiece_of_more = load(tiny_bert(20), tokenizer=wordpiece)
    assert piste.explain("the film was good", classifier, budget=60)  # fewer ids are no mistake
    with pytest.raises(ModelError, match="do not belong together"):
        piste.explain("the film was good", wordpiece_of_more)


class Payload:
    """Unpickled by a careless reader, it makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (os.mkdir, (str(self.mark),))


@pytest.mark.parametrize("kind", ["torch", "plain"])
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_a_pickle_that_holds_code_is_refused_and_not_run(kind, folder: Path, tmp_path) -> None:
    mark, path = tmp_path / "mark", folder / "pytorch_model.bin"
    (folder / "model.safetensors").unlink()
    content = {"classifier.bias": Payload(mark)}
    torch.save(content, path) if kind == "torch" else path.write_bytes(pickle.dumps(content))
    with pytest.raises(
        ModelError, match=r"could run code|torch before 2\.6|Unable to load weights"
    ):
        load(folder)  # the last is what transformers before 5 says
    assert not mark.exists()
    pickle.loads(pickle.dumps(content))  # the payload does work
    assert mark.exists()


def test_a_pickle_of_nothing_but_weights_is_read(folder: Path) -> None:
    weights = load(folder).model.state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    if not hasattr(torch.serialization, "get_unsafe_globals_in_checkpoint"):  # before 2.6
        with pytest.raises(ModelError, match=r"torch before 2\.6 cannot read a pickle safely"):
            load(folder)
        return
    assert load(folder).labels == ("negative", "positive")


REMOTE = """
from pathlib import Path
from transformers import BertConfig, BertForSequenceClassification
Path({mark!r}).mkdir(exist_ok=True)
class OwnConfig(BertConfig):
    model_type = "own"
class OwnForSequenceClassification(BertForSequenceClassification):
    config_class = OwnConfig
"""


@pytest.fixture
def remote(folder: Path, tmp_path: Path, monkeypatch) -> tuple[Path, Path]:
    """A model that brings its own code, and what that code makes when it runs."""
    mark = tmp_path / "mark"
    kinds = {
        "AutoConfig": "own.OwnConfig",
        "AutoModelForSequenceClassification": "own.OwnForSequenceClassification",
    }
    changed(folder / "config.json", model_type="own", auto_map=kinds)
    (folder / "own.py").write_text(REMOTE.format(mark=str(mark)))
    # The user's folder of such code stays as it is.
    cache = "transformers.dynamic_module_utils.HF_MODULES_CACHE"
    monkeypatch.setattr(cache, str(tmp_path / "modules"))
    return folder, mark


def test_code_that_comes_with_a_model_is_not_run_and_nobody_is_asked(remote, monkeypatch) -> None:
    folder, mark = remote
    # Left to itself, transformers asks on standard input: there, a text is waiting that may say y.
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ModelError) as caught:
        load(folder)
    assert "runs no such code unasked" in caught.value.cause
    assert "trust_remote_code=True" in caught.value.remedy
    assert "--trust-remote-code" in caught.value.remedy
    assert not mark.exists()


def test_code_that_comes_with_a_model_runs_where_it_is_asked_for(remote) -> None:
    folder, mark = remote
    classifier = load(folder, trust_remote_code=True)
    assert type(classifier.model).__name__ == "OwnForSequenceClassification"
    assert mark.exists()


def test_code_that_comes_with_a_tokenizer_is_not_run(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    kinds = {"AutoTokenizer": ["own.Own", None]}
    changed(folder / "tokenizer_config.json", tokenizer_class="Own", auto_map=kinds)
    (folder / "own.py").write_text(REMOTE.format(mark=str(mark)))
    try:
        load(folder)
    except ModelError as error:
        assert "trust_remote_code" in error.remedy  # noqa: PT017  # read without the code is fine too
    assert not mark.exists()


@pytest.mark.parametrize("command", ["explain", "compare", "evaluate"])
def test_the_command_line_has_it_off_and_passes_it_on(command, monkeypatch, tmp_path) -> None:
    from typer.testing import CliRunner

    from piste.cli import app

    seen = []

    def record(_: object, **settings: object) -> None:
        seen.append(settings["trust_remote_code"])
        raise ModelError("Enough.", "")

    monkeypatch.setattr("piste.load", record)
    arguments = [command, "good", *(["--out", str(tmp_path)] if command == "evaluate" else [])]
    CliRunner().invoke(app, arguments)
    CliRunner().invoke(app, [*arguments, "--trust-remote-code"])
    assert seen == [False, True]


FORBIDDEN = {
    "imports": {"pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"},
    "calls": {"eval", "exec", "__import__"},
}


def breaches(code: str) -> list[str]:
    """What runs foreign content: unpickling, `torch.load` without its guard, `eval`."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name in FORBIDDEN["imports"]]
        elif isinstance(node, ast.ImportFrom) and node.module in FORBIDDEN["imports"]:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            said = {word.arg: ast.unparse(word.value) for word in node.keywords}
            name = ast.unparse(node.func)
            unsafe = name == "torch.load" and said.get("weights_only") != "True"
            trusting = (
                said.get("trust_remote_code") == "True" or said.get("weights_only") == "False"
            )
            pickled = said.get("allow_pickle", "False") != "False"
            if name in FORBIDDEN["calls"] or unsafe or trusting or pickled:
                found.append(ast.unparse(node))
    return found


def test_nothing_foreign_is_unpickled_or_evaluated() -> None:
    found = {str(p): breaches(p.read_text(encoding="utf-8")) for p in SOURCE.rglob("*.py")}
    assert {path: what for path, what in found.items() if what} == {}
    assert len(found) > 100


@pytest.mark.parametrize(
    "code",
    ["import pickle", "from dill import load", "torch.load(p)", "torch.load(p, weights_only=False)",
     "eval(x)", "np.load(p, allow_pickle=True)", "f(x, trust_remote_code=True)"],
)  # fmt: skip
def test_the_rule_sees_breaches(code: str) -> None:
    assert breaches(code)
    assert not breaches("torch.load(p, weights_only=True); json.load(p); model.eval()")
