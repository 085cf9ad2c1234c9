"""The folder of a Space: what the hub reads of it, and that its program serves as the hub asks."""

import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import httpx
import pytest
import yaml

import piste
from piste import cli
from piste.errors import FileError, SettingError
from piste.web.settings import Settings
from piste.web.space import OWNER, PORT, write_space
from tests.web.servers import client

DEMO = Path(piste.__file__).parent / "models" / "demo"
PAGE = "me-why.hf.space"


def metadata(folder):
    _, head, _ = (folder / "README.md").read_text().split("---\n", 2)
    return yaml.safe_load(head)


def test_the_hub_finds_what_it_reads(tmp_path):
    write_space(tmp_path / "space", ["my-org/my-classifier"])
    told = metadata(tmp_path / "space")
    assert told["sdk"] == "docker"
    assert told["app_port"] == PORT
    docker = (tmp_path / "space" / "Dockerfile").read_text()
    assert f"EXPOSE {PORT}" in docker
    needs = (tmp_path / "space" / "requirements.txt").read_text().split()
    assert needs == [f"piste[web]=={piste.__version__}"]
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert "web" in project["optional-dependencies"]


def test_its_program_serves_under_the_name_of_the_space(tmp_path):
    model = tmp_path / "demo-model"
    model.symlink_to(DEMO)
    folder = tmp_path / "space"
    write_space(folder, [str(model)])
    assert (folder / "models" / "demo" / "model.safetensors").is_file()  # copied, not linked
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = folder / "app.py"
    app.write_text(app.read_text().replace(str(PORT), str(port)))
    source = str(Path(piste.__file__).parents[1])
    environment = os.environ | {"SPACE_HOST": PAGE, "PYTHONPATH": source}
    process = subprocess.Popen([sys.executable, "app.py"], cwd=folder, env=environment)
    try:
        answer = soon_answered(f"http://127.0.0.1:{port}/api/models", {"host": PAGE})
        assert answer.status_code == 200
        assert [one["name"] for one in answer.json()["models"]] == ["demo"]
        assert f"frame-ancestors {OWNER}" in answer.headers["content-security-policy"]
        other = httpx.get(f"http://127.0.0.1:{port}/api/models", headers={"host": "evil.example"})
        assert other.status_code == 421
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


def soon_answered(url, headers, seconds=120):
    end = time.monotonic() + seconds
    while True:
        try:
            return httpx.get(url, headers=headers)
        except httpx.ConnectError:
            assert time.monotonic() < end
            time.sleep(0.2)


def test_a_secret_closes_a_site_to_others():
    token = "a-token-of-some-length"
    with client(host="0.0.0.0", site=PAGE, token=token) as guarded:
        assert guarded.get("/api/models", headers={"host": PAGE}).status_code == 401
        admitted = {"host": PAGE, "authorization": f"Bearer {token}"}
        assert guarded.get("/api/models", headers=admitted).status_code == 200


def test_one_origin_may_show_the_page_and_only_if_that_was_asked():
    with client(embedded_in=OWNER) as api:
        headers = api.get("/").headers
        assert f"frame-ancestors {OWNER}" in headers["content-security-policy"]
        assert "x-frame-options" not in headers
    with pytest.raises(SettingError, match="origin"):
        Settings(embedded_in="https://a.example; script-src *").checked()


def test_nothing_is_overwritten_and_no_name_gets_into_the_program(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(FileError, match="holds something"):
        write_space(tmp_path / "full", ["demo"])
    with pytest.raises(SettingError, match="no name for a model"):
        write_space(tmp_path / "new", ['x"; import os #'])
    assert not (tmp_path / "new").exists()


def test_of_a_model_only_what_it_is_loaded_from_is_copied(tmp_path):
    model = tmp_path / "mine"
    for name in (".git", "checkpoint-500", "runs", "onnx"):
        (model / name).mkdir(parents=True)
        (model / name / "file").write_text("x")
    for name in ("config.json", "optimizer.pt", "training_args.bin", "train.log", ".env"):
        (model / name).write_text("{}")
    write_space(tmp_path / "space", [str(model)])
    copied = tmp_path / "space" / "models" / "mine"
    assert {path.name for path in copied.iterdir()} == {"config.json", "onnx"}


@pytest.mark.parametrize("mistyped", ["./modle", "../modle", "~/modle", "my-org/.."])
def test_a_folder_that_is_not_there_is_told(tmp_path, monkeypatch, mistyped):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingError, match="no folder"):
        write_space(tmp_path / "space", [mistyped])
    assert not (tmp_path / "space").exists()


def test_a_space_in_the_folder_of_its_model_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SettingError, match="lies in the model's folder"):
        write_space(tmp_path / "space", [str(tmp_path)])
    assert not (tmp_path / "space").exists()


def test_a_model_that_cannot_be_copied_is_told(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "weights").symlink_to(tmp_path / "gone")
    with pytest.raises(FileError, match="mine"):
        write_space(tmp_path / "space", [str(tmp_path / "mine")])
    (tmp_path / "gone").write_text("found")  # the same again, once that is mended
    write_space(tmp_path / "space", [str(tmp_path / "mine")])
    assert (tmp_path / "space" / "models" / "mine" / "weights").read_text() == "found"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--token", "a-token-of-some-length"], "PISTE_TOKEN"),
        (["--device", "cpu"], "--device"),
        (["--trust-remote-code"], "--trust-remote-code"),
    ],
)
def test_options_that_a_space_would_not_know_are_refused(
    option, said, tmp_path, monkeypatch, capsys
):
    command = ["piste", "serve", "--space", str(tmp_path / "space"), *option]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "space").exists()


def test_elsewhere_than_on_the_hub_a_token_is_made(tmp_path, monkeypatch):
    write_space(tmp_path / "space", ["demo"])
    monkeypatch.delenv("SPACE_HOST", raising=False)
    started = []
    monkeypatch.setattr("piste.web.server.serve", lambda _, told, __: started.append(told))
    exec((tmp_path / "space" / "app.py").read_text(), {})
    assert started[0].checked().token
    monkeypatch.setenv("SPACE_HOST", PAGE)
    exec((tmp_path / "space" / "app.py").read_text(), {})
    assert started[1].checked().token is None
