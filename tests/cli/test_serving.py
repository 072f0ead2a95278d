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

from translator.cli import main, translating


def test_serve_answers_requests_until_a_stop_signal(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained_run(tiny("search.beam_size=3")).path
    found: list[Any] = []

    def visit(line: str) -> None:
        address = line.split()[0]
        try:
            found.extend((line, httpx2.get(f"{address}api/model").json()))
            found.append(httpx2.post(f"{address}api/translate", json={"text": "abc", "count": 2}).json())
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(translating, "say", lambda line: threading.Thread(target=visit, args=[line]).start())
    arguments = ["serve", "--run", str(run), "--port", "0", "--host", "0.0.0.0", "--beam", "2"]
    assert main(arguments) == 143
    said, model, answer = found
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/ translates with run, step-000005; Ctrl\+C stops it", said)
    assert (model["name"], model["limits"]["translations"]) == ("run", 2) and str(run.parent) not in str(model)
    assert len(answer["lines"][0]["translations"]) == 2
    heard = capsys.readouterr().err
    assert "--host 0.0.0.0: anyone who can reach this machine can use the page" in heard
    assert "stopped by signal 15" in heard


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "70000"], "cannot listen on 127.0.0.1, port 70000: "),
        (["--characters", "0"], "the server's limit of characters is 0"),
        ([], "no run at"),
    ],
)
def test_serve_reports_mistakes_before_it_starts(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--run", str(tmp_path / "none"), "--port", "0", *arguments]) == 2
    assert words in capsys.readouterr().err
