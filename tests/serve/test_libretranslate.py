"""The API of LibreTranslate, by a published client and by hand."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from libretranslatepy import LibreTranslateAPI

from tests.support.echo_model import echo
from tests.support.serve_stand_ins import held, served

PAIR = {"source": "en", "target": "fa"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    translator, _ = echo()
    with served(translator) as (address, _):
        yield address


def posted(address: str, **values: Any) -> httpx2.Response:
    return httpx2.post(f"{address}translate", json={**PAIR, **values}, timeout=None)


def test_a_published_client_gets_languages_and_translations(address: str) -> None:
    client = LibreTranslateAPI(address)
    assert client.translate("the cat", "en", "fa") == "the cat"
    languages = client.languages()
    assert [(language["code"], language["targets"]) for language in languages] == [("en", ["fa"]), ("fa", [])]


def test_a_text_a_list_and_forms_are_translated(address: str) -> None:
    assert posted(address, q="the cat\n\nthe dog").json() == {"translatedText": "the cat\n\nthe dog"}
    several = {**PAIR, "q": ["the cat", "the dog"]}
    assert posted(address, **several).json() == {"translatedText": several["q"]}
    assert httpx2.post(f"{address}translate", data=several).json() == {"translatedText": several["q"]}
    fields = [(name, (None, value)) for name, value in {**PAIR, "q": "the cat"}.items()]
    assert httpx2.post(f"{address}translate", files=fields).json() == {"translatedText": "the cat"}


def test_languages_may_have_a_region_or_be_detected(address: str) -> None:
    assert posted(address, q="the cat", source="EN", target="fa-IR").json() == {"translatedText": "the cat"}
    answer = posted(address, q="the cat", source="auto").json()
    assert answer["detectedLanguage"] == {"language": "en", "confidence": 100.0}
    assert len(posted(address, q=["the cat", "the dog"], source="auto").json()["detectedLanguage"]) == 2


def test_alternatives_are_the_next_translations_of_all_lines_as_far_as_the_search_has_them() -> None:
    with served(held(opened=True, beam_size=2)) as (address, _):
        answer = posted(address, q=["a\nb"], alternatives=3).json()
    assert answer == {"translatedText": ["A\nB"], "alternatives": [["A\nB"]]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "Invalid request: q: Field required"),
        ({"q": "x", "target": "de"}, "en to de is not supported, only en to fa"),
        ({"q": "x", "format": "html"}, "format: Input should be 'text'"),
        ({"q": "x", "alternatives": "many"}, "alternatives: Input should be a valid integer"),
    ],
)
def test_a_wrong_request_is_answered_in_the_form_of_libretranslate(
    values: dict[str, Any], message: str, address: str
) -> None:
    answer = posted(address, **values)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_a_body_that_is_no_json_or_too_large_is_refused_with_an_error(address: str) -> None:
    answer = httpx2.post(f"{address}translate", content=b"{", headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert "Invalid JSON" in answer.json()["error"]
    answer = posted(address, q="word " * 200_000)
    assert answer.status_code == 413
    assert "error" in answer.json()


def test_the_log_has_a_line_for_each_request_and_no_text(address: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        posted(address, q=["the secret", "the cat"])
    (line,) = [message for message in caplog.messages if message.startswith("/translate")]
    assert line.startswith("/translate: 200, 2 lines, ")
    assert "secret" not in caplog.text
