"""The verb serve, as a person meets it."""

import os
import re
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.support.untrained import untrained_run
from translator.cli import main, translating
from translator.inference.translator import Translator


class Visit(NamedTuple):
    """What a visitor of a served page is told, and what standard error says."""

    announcement: str
    translated_before: list[str]  # before the announcement
    model: Any
    answer: Any
    errors: str


@pytest.fixture
def run(tiny: Any) -> Path:
    return untrained_run(tiny("search.beam_size=3")).path


@pytest.fixture
def visit(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Visit:
    """Serve until the first visitor, who asks for the model and a translation, and then sends a stop signal."""
    received: dict[str, Any] = {}
    translations = Translator.translations
    translated: list[str] = []

    def record(translator: Translator, texts: Sequence[str], **settings: Any) -> Any:
        translated.extend(texts)
        return translations(translator, texts, **settings)

    def ask(announcement: str) -> None:
        address = announcement.split()[0]
        try:
            received["announcement"] = announcement
            received["translated_before"] = list(translated)
            received["model"] = httpx2.get(f"{address}api/model").json()
            request = {"text": "abc", "count": 2}
            received["answer"] = httpx2.post(f"{address}api/translate", json=request).json()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    def ask_beside(announcement: str) -> None:
        threading.Thread(target=ask, args=[announcement]).start()

    monkeypatch.setattr(Translator, "translations", record)
    monkeypatch.setattr(translating, "say", ask_beside)
    arguments = ["serve", "--run", str(run), "--port", "0", "--host", "0.0.0.0", "--beam", "2"]
    assert main(arguments) == 143
    return Visit(errors=capsys.readouterr().err, **received)


def test_serve_answers_requests_until_a_stop_signal(visit: Visit, run: Path) -> None:
    announcement = r"http://127\.0\.0\.1:\d+/ translates with run, step-000005; Ctrl\+C stops it"
    assert re.fullmatch(announcement, visit.announcement)
    assert len(visit.translated_before) == 1, "the first visitor does not wait until all is loaded"
    assert visit.model["name"] == "run"
    assert visit.model["limits"]["translations"] == 2
    assert str(run.parent) not in str(visit.model), "no local path"
    assert len(visit.answer["lines"][0]["translations"]) == 2
    assert "--host 0.0.0.0: anyone who can reach this machine can use the page" in visit.errors
    assert "stopped by SIGTERM" in visit.errors
