"""The verb serve, as a person meets it."""

import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
from untrained import untrained_run

from translator.cli import main, serving


def test_it_serves_until_it_is_told_to_stop(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained_run(tiny("search.beam_size=3")).path
    said: list[str] = []
    found: list[Any] = []

    def visit(line: str) -> None:
        address = line.split()[0]
        try:
            found.append(httpx2.get(f"{address}api/model").json())
            found.append(httpx2.post(f"{address}api/translate", json={"text": "abc", "count": 2}).json())
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    def say(line: str) -> None:
        said.append(line)
        threading.Thread(target=visit, args=[line]).start()

    monkeypatch.setattr(serving, "say", say)
    arguments = ["serve", "--run", str(run), "--port", "0", "--host", "0.0.0.0", "--beam", "2", "--lines", "7"]
    assert main(arguments) == 143
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/ translates with run, step-000005; Ctrl\+C stops it", said[0])
    model, answer = found
    assert model["name"] == "run"
    assert (model["limits"]["lines"], model["limits"]["translations"]) == (7, 2)
    assert str(run.parent) not in str(model)
    assert len(answer["lines"][0]["translations"]) == 2
    heard = capsys.readouterr().err
    assert "--host 0.0.0.0: whoever can reach this machine can use the page" in heard
    assert "stopped by signal 15" in heard


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "70000"], "there is no port 70000; take one up to 65535"),
        (["--characters", "0"], "the server's limit of characters is 0; it must be more than 0"),
        (["--allow-host", "a:1"], "--allow-host takes a name"),
        ([], "no run at"),
    ],
)
def test_mistakes_are_said_before_anything_is_served(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--run", str(tmp_path / "none"), "--port", "0", *arguments]) == 2
    assert words in capsys.readouterr().err
