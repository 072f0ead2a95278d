"""The JSON API: what it answers, and how it refuses; the page, and the limits."""

import json
import math
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from echo_model import echo
from serve.stand_ins import held
from starlette.testclient import TestClient

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


def ask(api: TestClient, **asked: Any) -> Any:
    return api.post("/api/translate", json=asked)


def test_each_input_line_gets_one_numbered_answer(api: TestClient) -> None:
    answer = ask(api, text="a b\r\n\nc\u2028d").json()
    assert [line["line"] for line in answer["lines"]] == [1, 2, 3]
    assert [line["source"] for line in answer["lines"]] == ["a b", "", "c\u2028d"]
    assert [line["translations"][0]["text"] for line in answer["lines"]] == ["a b", "", "c d"]
    assert ask(api, lines=["a\nb", "c"]).json()["lines"][0]["translations"][0]["text"] == "a b"
    assert ask(api, lines=[]).json() == {"lines": []}


def test_translations_are_ranked_and_attention_is_sent_on_request(api: TestClient) -> None:
    (line,) = ask(api, text="a b", count=3).json()["lines"]
    scores = [one["normalized_score"] for one in line["translations"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert set(line["translations"][0]) == {"text", "score", "normalized_score", "tokens", "pieces", "finished"}
    one = ask(api, text="a b", attention=True).json()["lines"][0]["translations"][0]
    assert one["alignment"]["source"] == one["alignment"]["target"] == ["a", "b"]
    assert one["alignment"]["weights"] == [[[0, 0.5]], [[0, 0.5]]], "the model of this test looks at both ends"
    assert one["attention"][0]["source"] == ["▁a", "▁b", "</s>"]
    assert [len(row) for row in one["attention"][0]["weights"]] == [3, 3, 3]


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"lines": ["x" * 31, "y" * 30]}, 413, "the text has 61 characters, but the limit is 60; send it in parts"),
        ({"text": "\n" * 4}, 413, "the text has 5 lines, but the limit is 4; send it in parts"),
        ({"lines": ["a", None]}, 422, r"lines\.1: must be a valid string"),
        ({"text": "a", "count": 4}, 422, "4 translations of a line are requested, but the limit .* beam search is 3"),
        ({"text": "a", "count": "2"}, 422, "count: must be a valid integer"),
        ({"text": "a", "lines": ["a"]}, 422, "^give either `text` or `lines`$"),
        ({"text": "a", "beam": 3}, 422, "beam: unknown key"),
        (b"{", 422, "the body is not valid JSON: Expecting property name .* "),
        (b"[" * 4_000, 422, "the body is not valid JSON: it is not UTF-8, or nested too deeply"),
        (
            b'{"text": "a"}' + b" " * 5_000,
            413,
            "the request has more than 4880 bytes, the limit; send the text in parts",
        ),
        (b"null", 422, "must be a valid dictionary|Field required|send a JSON object such as"),
        (b'{"lines": ["a", "bc\\ud800"]}', 422, r"lines\[1\] has a lone surrogate \(half a character\) at position 2"),
        (b'{"\\ud800": 1, "text": "a"}', 422, "send a JSON object such as"),
        (b'{"text": "\xff"}', 422, "the body is not valid JSON: it is not UTF-8, or nested too deeply"),
    ],
)
def test_invalid_requests_get_a_documented_status_and_a_reason(
    api: TestClient, asked: Any, status: int, words: str
) -> None:
    body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    answer = api.post("/api/translate", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, list(answer.json())) == (status, ["detail"])
    assert re.search(words, answer.json()["detail"]), answer.json()


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_cross_site_form_posts_are_rejected(api: TestClient, content_type: str) -> None:
    """Browsers send these content types to other sites without a preflight request, but not JSON."""
    answer = api.post("/api/translate", content=b'{"text": "a"}', headers={"Content-Type": content_type})
    assert answer.status_code == 422
    assert "as application/json" in answer.json()["detail"]
    preflight = api.options("/api/translate", headers={"Origin": "http://evil.example"})
    assert "access-control-allow-origin" not in preflight.headers


def test_the_limit_of_bytes_admits_every_text_within_the_other_limits(api: TestClient) -> None:
    lines = ["😀" * 15] * 4
    body = json.dumps({"lines": lines}, ensure_ascii=True, indent=2)
    answer = api.post("/api/translate", content=body, headers={"Content-Type": "application/json"})
    assert [line["source"] for line in answer.json()["lines"]] == lines


def test_model_endpoint_describes_limits_search_and_versions(api: TestClient) -> None:
    said = api.get("/api/model").json()
    assert said["limits"] == {
        "bytes": 4880,
        "characters": 60,
        "lines": 4,
        "translations": 3,
        "waiting": 500,
        "seconds": 30.0,
    }
    assert said["search"] == BEAM.model_dump(mode="json")
    assert (said["engine"], said["attention"]) == ("torch", True)
    assert set(said["versions"]) == {"translator", "python", "torch"}
    assert api.get("/api/health").json() == {"status": "ok", "waiting": 0}


def test_openapi_schema_is_served_but_its_html_pages_are_not(api: TestClient) -> None:
    schema = api.get("/api/openapi.json").json()
    assert set(schema["paths"]) == {"/api/health", "/api/model", "/api/translate"}
    responses = schema["paths"]["/api/translate"]["post"]["responses"]
    assert set(responses) == {"200", "400", "408", "413", "422", "500", "503", "504"}
    assert {api.get(path).status_code for path in ("/docs", "/redoc", "/openapi.json")} == {404}


def test_translation_over_the_time_limit_is_cancelled() -> None:
    translator = held()
    with client(translator, Limits(seconds=0.5)) as api:
        answer = ask(api, text="a")
        translator.gate.set()
        assert api.get("/api/health").json()["waiting"] == 0
    assert answer.status_code == 504
    assert answer.json()["detail"] == "the translation took longer than 0.5 seconds and was cancelled; send less"
    assert translator.dropped == [["a"]]


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [("bad", 422, "bad is refused"), ("bug", 500, "internal server error; see the log of the server")],
)
def test_input_errors_give_422_and_internal_errors_give_500(text: str, status: int, words: str) -> None:
    with client(held(opened=True)) as api:
        answer = ask(api, text=text)
    assert (answer.status_code, answer.json()) == (status, {"detail": words})


def page(name: str = "sample", **search: Any) -> Any:
    translator = held(**search)
    translator.label = name
    with client(translator) as api:
        return api.get("/")


def test_page_loads_only_its_own_files_and_escapes_the_run_name(api: TestClient) -> None:
    answer = page('<script>alert("x")</script>\u202e')
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<style|\bstyle=|\son[a-z]+=|<script>|\u202e", answer.text)
    assert "&lt;script&gt;" in answer.text
    files = set(re.findall(r'(?:src|href)="(/[^"]+)"', answer.text))
    assert files == {"/style.css", "/script.js", "/icon.svg"}
    texts = {path: api.get(path).raise_for_status().text for path in files}
    assert "url(" not in texts["/style.css"]
    assert "innerHTML" not in texts["/script.js"]


def test_page_names_the_search_and_limits_translations_to_the_beam() -> None:
    assert "greedy search · held" in page(method="greedy").text
    for most, chosen in ((1, 1), (2, 2), (5, 3)):
        html = page(beam_size=most).text
        assert f"beam search with a beam of {most} · held" in html
        options = re.findall(r"<option[^>]*>", html)
        assert ["selected" in option for option in options] == [number == chosen for number in range(1, most + 1)]


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
