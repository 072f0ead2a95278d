"""The verb serve where other machines reach it; tests/fence/test_serving.py has the rest."""

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from translator.cli import main
from translator.inference.translator import Translator


def test_other_machines_may_call_the_server_by_any_name_after_a_warning(
    random_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses = []
    translated: list[str] = []
    translations = Translator.translations

    def record(translator: Translator, texts: list[str], **settings: Any) -> Any:
        translated.extend(texts)
        return translations(translator, texts, **settings)

    def visit(app: Any, *_: object) -> None:
        with TestClient(app) as api:
            statuses.append(api.get("/api/health", headers={"Host": "box.local"}).status_code)

    monkeypatch.setattr(Translator, "translations", record)
    monkeypatch.setattr("translator.serve.listening.serve", visit)
    assert main(["serve", "--run", str(random_run), "--port", "0", "--host", "0.0.0.0"]) == 0
    assert statuses == [200]
    assert len(translated) == 1, "the first visitor does not wait until all is loaded"
    assert "--host 0.0.0.0: anyone who can reach this machine can use the page" in capsys.readouterr().err
