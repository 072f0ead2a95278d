"""The JSON API, its limits, and the page; most of their answers are in tests/fence/requests.yaml."""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.echo_model import echo
from tests.support.serve_stand_ins import held
from translator.config import SearchConfig
from translator.errors import InputError
from translator.serve import Limits, check_installed, most_translations
from translator.serve.app import make_app

BEAM = SearchConfig(method="beam", beam_size=3, batch_size=4)


def client(translator: Any, limits: Limits | None = None) -> TestClient:
    app = make_app(translator, limits or Limits())
    return TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def api() -> Iterator[TestClient]:
    with client(echo(search=BEAM)[0], Limits(characters=60, lines=4)) as opened:
        yield opened


def ask(api: TestClient, **request: Any) -> Any:
    return api.post("/api/translate", json=request)


def test_attention_and_an_alignment_are_sent_on_request(api: TestClient) -> None:
    (line,) = ask(api, text="a b").json()["lines"]
    assert not {"alignment", "attention"} & line["translations"][0].keys()
    (line,) = ask(api, text="a b", attention=True).json()["lines"]
    (translation,) = line["translations"]
    assert translation["alignment"]["weights"] == [[[0, 0.5]], [[0, 0.5]]], "this model looks at both ends"
    (segment,) = translation["attention"]
    assert segment["source"] == ["▁a", "▁b", "</s>"]


def test_what_the_model_cannot_do_is_refused() -> None:
    with client(held(opened=True)) as api:
        answer = ask(api, text="a", glossary={"a": "b"})
        assert answer.status_code == 422
        assert "no glossary" in answer.json()["detail"]


def test_the_limit_of_bytes_admits_every_text_within_the_other_limits(api: TestClient) -> None:
    lines = ["😀" * 15] * 4
    body = json.dumps({"lines": lines}, ensure_ascii=True, indent=2)
    answer = api.post("/api/translate", content=body, headers={"Content-Type": "application/json"})
    assert [line["source"] for line in answer.json()["lines"]] == lines


def test_translation_over_the_time_limit_is_cancelled() -> None:
    translator = held()
    with client(translator, Limits(seconds=0.05)) as api:
        answer = ask(api, text="a")
        translator.gate.set()
        assert api.get("/api/health").json()["waiting"] == 0
    assert answer.status_code == 504
    assert answer.json()["detail"] == "the translation took longer than 0.05 seconds and was cancelled; send less"
    assert translator.dropped == [["a"]]


def page(name: str = "sample", **search: Any) -> Any:
    translator = held(**search)
    translator.label = name
    with client(translator) as api:
        return api.get("/")


def test_the_page_escapes_the_name_of_the_run_and_loads_only_its_own_files(api: TestClient) -> None:
    hostile_page = page('<script>alert("x")</script>\u202e')
    assert not re.search(r"<style|\bstyle=|\son[a-z]+=|<script>|\u202e", hostile_page.text)
    assert "&lt;script&gt;" in hostile_page.text
    assert "unsafe" not in hostile_page.headers["content-security-policy"]
    for path, danger in (("/style.css", "url("), ("/script.js", "innerHTML"), ("/icon.svg", "<script")):
        assert danger not in api.get(path).raise_for_status().text


@pytest.mark.parametrize(("beam_width", "selected"), [(1, 1), (5, 3)])
def test_page_limits_translations_to_the_beam(beam_width: int, selected: int) -> None:
    html = page(beam_size=beam_width).text
    assert f"beam search with a beam of {beam_width} · held" in html
    options = re.findall(r"<option[^>]*>", html)
    assert len(options) == beam_width
    assert [number for number, option in enumerate(options, 1) if "selected" in option] == [selected]


def test_missing_web_library_is_reported_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed()
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(InputError, match=r"fastapi cannot be imported .* pip install"):
        check_installed()


def test_a_wide_beam_does_not_let_a_request_ask_for_all_its_hypotheses() -> None:
    assert most_translations(SearchConfig(beam_size=1000)) == 10
