"""The JSON API: what it answers, and how it refuses; the page, and the limits."""

import json
import math
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
from translator.serve import Limits, check_installed
from translator.serve.app import LOOPBACK, make_app

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


def texts_of(answer: Any) -> list[str]:
    """Return the best translation of each line."""
    return [line["translations"][0]["text"] for line in answer.json()["lines"]]


def test_each_line_of_a_text_gets_one_numbered_answer(api: TestClient) -> None:
    answer = ask(api, text="a b\r\n\nc\u2028d")
    lines = answer.json()["lines"]
    assert [line["line"] for line in lines] == [1, 2, 3]
    assert [line["source"] for line in lines] == ["a b", "", "c\u2028d"]
    assert texts_of(answer) == ["a b", "", "c d"]


def test_a_line_break_in_a_given_line_becomes_a_space(api: TestClient) -> None:
    assert texts_of(ask(api, lines=["a\nb", "c"])) == ["a b", "c"]


def test_no_lines_get_no_answers(api: TestClient) -> None:
    assert ask(api, lines=[]).json() == {"lines": []}


def test_a_translation_has_no_attention_unless_it_is_requested(api: TestClient) -> None:
    (line,) = ask(api, text="a b").json()["lines"]
    keys = {"text", "score", "normalized_score", "tokens", "pieces", "finished", "precision"}
    assert set(line["translations"][0]) == keys


@pytest.fixture(scope="module")
def with_attention(api: TestClient) -> Any:
    (line,) = ask(api, text="a b", attention=True).json()["lines"]
    return line["translations"][0]


def test_an_alignment_is_sent_on_request(with_attention: Any) -> None:
    alignment = with_attention["alignment"]
    assert alignment["source"] == ["a", "b"]
    assert alignment["target"] == ["a", "b"]
    assert alignment["weights"] == [[[0, 0.5]], [[0, 0.5]]], "the model of this test looks at both ends"


def test_attention_is_sent_on_request(with_attention: Any) -> None:
    (segment,) = with_attention["attention"]
    assert segment["source"] == ["▁a", "▁b", "</s>"]
    assert [len(row) for row in segment["weights"]] == [3, 3, 3]


@pytest.mark.parametrize(
    ("request_body", "status", "words"),
    [
        ({"lines": ["x" * 31, "y" * 30]}, 413, "the text has 61 characters, but the limit is 60; send it in parts"),
        ({"lines": ["a", None]}, 422, r"lines\.1: must be a valid string"),
        ({"text": "a", "count": 4}, 422, "4 translations of a line are requested, but the limit .* beam search is 3"),
        ({"text": "a", "count": "2"}, 422, "count: must be a valid integer"),
        (b"[" * 4_000, 400, "error parsing the body"),
        (
            b'{"text": "a"}' + b" " * 5_000,
            413,
            "the request has more than 4880 bytes, the limit; send the text in parts",
        ),
        (b"null", 422, "must be a valid dictionary|Field required|send a JSON object such as"),
        (b'{"lines": ["a", "bc\\ud800"]}', 422, r"lines\[1\] has a lone surrogate \(half a character\) at position 2"),
        (b'{"text": "\xff"}', 400, "error parsing the body"),
    ],
)
def test_invalid_requests_get_a_documented_status_and_a_reason(
    api: TestClient, request_body: Any, status: int, words: str
) -> None:
    body = request_body if isinstance(request_body, bytes) else json.dumps(request_body).encode()
    answer = api.post("/api/translate", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, next(iter(answer.json()))) == (status, "detail")
    assert re.search(words, answer.json()["detail"]), answer.json()


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_cross_site_form_posts_are_rejected(api: TestClient, content_type: str) -> None:
    """Browsers send these content types to other sites without a preflight request, but not JSON."""
    answer = api.post("/api/translate", content=b'{"text": "a"}', headers={"Content-Type": content_type})
    assert answer.status_code == 422
    assert "as application/json" in answer.json()["detail"]


def test_other_sites_get_no_permission_to_post_json(api: TestClient) -> None:
    preflight = api.options("/api/translate", headers={"Origin": "http://evil.example"})
    assert "access-control-allow-origin" not in preflight.headers


def test_the_limit_of_bytes_admits_every_text_within_the_other_limits(api: TestClient) -> None:
    lines = ["😀" * 15] * 4
    body = json.dumps({"lines": lines}, ensure_ascii=True, indent=2)
    answer = api.post("/api/translate", content=body, headers={"Content-Type": "application/json"})
    assert [line["source"] for line in answer.json()["lines"]] == lines


def test_model_endpoint_tells_the_limits(api: TestClient) -> None:
    assert api.get("/api/model").json()["limits"] == {
        "bytes": 4880,
        "characters": 60,
        "lines": 4,
        "translations": 3,
        "seconds": 30.0,
        "connections": 500,
    }


def test_model_endpoint_describes_search_and_versions(api: TestClient) -> None:
    model = api.get("/api/model").json()
    assert model["search"] == BEAM.model_dump(mode="json")
    assert model["engine"] == "torch"
    assert model["attention"] is True
    assert set(model["versions"]) == {"translator", "python", "torch"}


def test_openapi_schema_is_served(api: TestClient) -> None:
    schema = api.get("/api/openapi.json").json()
    assert set(schema["paths"]) == {
        *("/api/health", "/api/model", "/api/translate"),
        *("/health", "/languages", "/translate"),  # of LibreTranslate
    }
    responses = schema["paths"]["/api/translate"]["post"]["responses"]
    assert set(responses) == {"200", "411", "413", "422", "504"}


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_pages_of_the_framework_are_not_served(path: str, api: TestClient) -> None:
    assert api.get(path).status_code == 404


def test_translation_over_the_time_limit_is_cancelled() -> None:
    translator = held()
    with client(translator, Limits(seconds=0.5)) as api:
        answer = ask(api, text="a")
        translator.gate.set()
        assert api.get("/api/health").json()["waiting"] == 0
    assert answer.status_code == 504
    assert answer.json()["detail"] == "the translation took longer than 0.5 seconds and was cancelled; send less"
    assert translator.dropped == [["a"]]


def test_input_errors_give_422_and_internal_errors_give_500() -> None:
    with client(held(opened=True)) as api:
        refused = ask(api, text="bad")
        assert (refused.status_code, refused.json()) == (422, {"detail": "bad is refused"})
        assert ask(api, text="bug").status_code == 500


def page(name: str = "sample", **search: Any) -> Any:
    translator = held(**search)
    translator.label = name
    with client(translator) as api:
        return api.get("/")


@pytest.fixture(scope="module")
def hostile_page() -> Any:
    """The page of a run whose name is a script and turns the direction of writing."""
    return page('<script>alert("x")</script>\u202e')


def test_page_may_load_only_its_own_files(hostile_page: Any) -> None:
    policy = hostile_page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_page_escapes_the_run_name(hostile_page: Any) -> None:
    assert not re.search(r"<style|\bstyle=|\son[a-z]+=|<script>|\u202e", hostile_page.text)
    assert "&lt;script&gt;" in hostile_page.text


@pytest.mark.parametrize(
    ("path", "danger"), [("/style.css", "url("), ("/script.js", "innerHTML"), ("/icon.svg", "<script")]
)
def test_files_of_the_page_load_and_make_nothing_foreign(path: str, danger: str, api: TestClient) -> None:
    assert danger not in api.get(path).raise_for_status().text


def test_page_names_a_greedy_search() -> None:
    assert "greedy search · held" in page(method="greedy").text


@pytest.mark.parametrize(("beam_width", "selected"), [(1, 1), (2, 2), (5, 3)])
def test_page_limits_translations_to_the_beam(beam_width: int, selected: int) -> None:
    html = page(beam_size=beam_width).text
    assert f"beam search with a beam of {beam_width} · held" in html
    options = re.findall(r"<option[^>]*>", html)
    assert len(options) == beam_width
    assert [number for number, option in enumerate(options, 1) if "selected" in option] == [selected]


HOSTS = ["localhost:8000", "127.0.0.1", "[::1]:8000", "Box.local:80", "evil.example", "localhost.evil.example"]


@pytest.mark.parametrize("host", HOSTS)
def test_only_allowed_hosts_are_answered(host: str) -> None:
    with TestClient(make_app(held(opened=True), Limits(), [*LOOPBACK, "box.local"])) as api:
        status = api.get("/api/health", headers={"Host": host}).status_code
    assert status == (400 if "evil" in host else 200)


@pytest.mark.parametrize("seconds", [0.0, math.nan, math.inf])
def test_time_limit_must_be_positive_and_finite(seconds: float) -> None:
    with pytest.raises(InputError, match=f"limit of seconds is {seconds:g}; it must be positive"):
        Limits(seconds=seconds)


@pytest.mark.parametrize("library", ["fastapi", "uvicorn"])
def test_missing_web_library_is_reported_with_advice(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=rf"{library} cannot be imported .* pip install"):
        check_installed()
