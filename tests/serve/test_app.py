"""The JSON API: what it answers, and how it refuses."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from echo_model import echo
from serve.stand_ins import held
from starlette.testclient import TestClient

from translator.config import SearchConfig
from translator.serve import Limits
from translator.serve.app import make_app

BEAM = SearchConfig(method="beam", beam_size=3, batch_size=4)


def client(translator: Any, limits: Limits | None = None) -> TestClient:
    app = make_app(translator, limits or Limits())
    return TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def api() -> Iterator[TestClient]:
    """A server whose translations are their sources."""
    with client(echo(search=BEAM)[0], Limits(characters=60, lines=4)) as opened:
        yield opened


def ask(api: TestClient, **asked: Any) -> Any:
    return api.post("/api/translate", json=asked)


def test_as_many_lines_come_back_as_went_in(api: TestClient) -> None:
    answer = ask(api, text="a b\r\n\nc\u2028d").json()
    assert [line["line"] for line in answer["lines"]] == [1, 2, 3]
    assert [line["source"] for line in answer["lines"]] == ["a b", "", "c\u2028d"]
    assert [line["translations"][0]["text"] for line in answer["lines"]] == ["a b", "", "c d"]
    assert ask(api, lines=["a\nb", "c"]).json()["lines"][0]["translations"][0]["text"] == "a b"
    assert ask(api, lines=[]).json() == {"lines": []}
    assert ask(api, text="").json()["lines"][0]["translations"][0]["text"] == ""


def test_the_best_come_first_with_scores_and_without_attention(api: TestClient) -> None:
    (line,) = ask(api, text="a b", count=3).json()["lines"]
    scores = [one["normalized_score"] for one in line["translations"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert set(line["translations"][0]) == {"text", "score", "normalized_score", "tokens", "pieces", "finished"}


def test_attention_is_told_by_pieces_and_by_words(api: TestClient) -> None:
    one = ask(api, text="a b", attention=True).json()["lines"][0]["translations"][0]
    assert one["alignment"]["source"] == one["alignment"]["target"] == ["a", "b"]
    assert one["alignment"]["weights"] == [[[0, 0.5]], [[0, 0.5]]], "the model of this test looks at both ends"
    assert one["attention"][0]["source"] == ["▁a", "▁b", "</s>"]
    assert [len(row) for row in one["attention"][0]["weights"]] == [3, 3, 3]


def test_a_long_text_says_that_it_was_cut(api: TestClient) -> None:
    assert ask(api, text="a " * 25).json()["lines"][0]["translations"][0]["pieces"] == 2


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"text": "x" * 61}, 413, "the text has 61 characters, and the limit is 60; send it in parts"),
        ({"lines": ["x" * 31, "y" * 30]}, 413, "61 characters"),
        ({"text": "\n" * 4}, 413, "the text has 5 lines, and the limit is 4; send it in parts"),
        ({"text": "x" * 50_000}, 413, "bytes that this server reads; send the text in parts"),
        ({"text": "a", "count": 4}, 422, "4 translations of a line are asked for, and the most .* beam search are 3"),
        ({"text": "a", "count": 0}, 422, "count: Input should be greater than or equal to 1"),
        ({"text": "a", "count": "2"}, 422, "count: Input should be a valid integer"),
        ({"text": "a", "lines": ["a"]}, 422, "^give either `text` or `lines`$"),
        ({}, 422, "^give either `text` or `lines`$"),
        ({"text": "a", "beam": 3}, 422, "beam: Extra inputs are not permitted"),
        ({"lines": "a"}, 422, "lines: Input should be a valid list"),
    ],
)
def test_what_cannot_be_is_refused_in_words(api: TestClient, asked: Any, status: int, words: str) -> None:
    answer = ask(api, **asked)
    assert (answer.status_code, list(answer.json())) == (status, ["detail"])
    assert re.search(words, answer.json()["detail"]), answer.json()


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[" * 600,
        '"a"',
        '{"text": "\\ud800"}',
        '{"\\ud800": 1, "text": "a"}',
        "\ufeff{}",
        '{"count": 1e999}',
        "null",
    ],
)
def test_what_is_no_request_is_refused(api: TestClient, body: str) -> None:
    answer = api.post("/api/translate", content=body.encode(), headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert isinstance(answer.json()["detail"], str)


def test_where_json_breaks_is_said(api: TestClient) -> None:
    answer = api.post("/api/translate", content=b"{", headers={"Content-Type": "application/json"})
    assert re.fullmatch(r"the body is no JSON \(.+, at character 1\)", answer.json()["detail"])


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_of_another_site_cannot_ask(api: TestClient, content_type: str) -> None:
    """Browsers send these to anywhere without asking first; JSON they do not."""
    answer = api.post("/api/translate", content=b'{"text": "a"}', headers={"Content-Type": content_type})
    assert answer.status_code == 422
    assert "as Content-Type: application/json" in answer.json()["detail"]
    preflight = api.options("/api/translate", headers={"Origin": "http://evil.example"})
    assert preflight.status_code == 405
    assert "access-control-allow-origin" not in preflight.headers


def test_the_model_is_described(api: TestClient) -> None:
    said = api.get("/api/model").json()
    assert said["limits"] == {"characters": 60, "lines": 4, "translations": 3, "seconds": 30.0}
    assert said["search"] == BEAM.model_dump(mode="json")
    assert (said["engine"], said["attention"]) == ("torch", True)
    assert set(said["versions"]) == {"translator", "python", "torch"}
    assert api.get("/api/health").json() == {"status": "ok", "waiting": 0}


def test_openapi_describes_the_api_and_no_page_of_it_loads_from_elsewhere(api: TestClient) -> None:
    schema = api.get("/api/openapi.json").json()
    assert set(schema["paths"]) == {"/api/health", "/api/model", "/api/translate"}
    assert set(schema["paths"]["/api/translate"]["post"]["responses"]) == {"200", "408", "413", "422", "503", "504"}
    assert {api.get(path).status_code for path in ("/docs", "/redoc", "/openapi.json")} == {404}


def test_what_takes_too_long_is_dropped() -> None:
    translator = held()
    with client(translator, Limits(seconds=0.5)) as api:
        answer = ask(api, text="a")
        assert answer.status_code == 504
        assert answer.json()["detail"] == "the translation took longer than 0.5 seconds and was dropped; send less"
        translator.gate.set()
        assert api.get("/api/health").json()["waiting"] == 0
    assert translator.dropped == [["a"]]


def test_an_engine_without_attention_says_so() -> None:
    with client(held(opened=True)) as api:
        assert api.get("/api/model").json()["attention"] is False
        assert ask(api, text="a", attention=True).json()["detail"] == (
            "the engine held does not tell where its model looks"
        )


def test_mistakes_of_the_text_and_of_the_server() -> None:
    with client(held(opened=True)) as api:
        refused, broken = ask(api, text="bad"), ask(api, text="bug")
        assert (refused.status_code, refused.json()) == (422, {"detail": "bad is refused"})
        assert (broken.status_code, broken.json()) == (
            500,
            {"detail": "the server made a mistake, which its log tells of"},
        )
        assert "content-security-policy" in broken.headers
