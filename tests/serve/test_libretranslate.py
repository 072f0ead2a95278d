"""The API of LibreTranslate, by a published client and by hand; tests/fence/requests.yaml has its refusals."""

from collections.abc import Iterator
from typing import Any

import pytest
from libretranslatepy import LibreTranslateAPI
from starlette.testclient import TestClient

from tests.support.echo_model import echo
from tests.support.serve_stand_ins import held, served
from translator.serve import Limits
from translator.serve.app import make_app

PAIR = {"source": "en", "target": "fa"}


@pytest.fixture(scope="module")
def api() -> Iterator[TestClient]:
    with TestClient(make_app(echo()[0], Limits())) as opened:
        yield opened


def posted(api: TestClient, **values: Any) -> Any:
    return api.post("/translate", json={**PAIR, **values}).json()


def test_a_published_client_gets_languages_and_translations() -> None:
    with served(echo()[0]) as (address, _):
        client = LibreTranslateAPI(address)
        assert client.translate("the cat", "en", "fa") == "the cat"
        languages = client.languages()
    assert [(language["code"], language["targets"]) for language in languages] == [("en", ["fa"]), ("fa", [])]


def test_a_text_a_list_and_forms_are_translated(api: TestClient) -> None:
    assert posted(api, q="the cat\n\nthe dog") == {"translatedText": "the cat\n\nthe dog"}
    several = {**PAIR, "q": ["the cat", "the dog"]}
    assert posted(api, **several) == {"translatedText": several["q"]}
    assert api.post("/translate", data=several).json() == {"translatedText": several["q"]}
    fields = [(name, (None, value)) for name, value in {**PAIR, "q": "the cat"}.items()]
    assert api.post("/translate", files=fields).json() == {"translatedText": "the cat"}


def test_languages_may_have_a_region_or_be_detected(api: TestClient) -> None:
    assert posted(api, q="the cat", source="EN", target="fa-IR") == {"translatedText": "the cat"}
    answer = posted(api, q="the cat", source="auto")
    assert answer["detectedLanguage"] == {"language": "en", "confidence": 100.0}
    assert len(posted(api, q=["the cat", "the dog"], source="auto")["detectedLanguage"]) == 2


def test_alternatives_are_the_next_translations_of_all_lines_as_far_as_the_search_has_them() -> None:
    with TestClient(make_app(held(opened=True, beam_size=2), Limits())) as api:
        answer = posted(api, q=["a\nb"], alternatives=3)
    assert answer == {"translatedText": ["A\nB"], "alternatives": [["A\nB"]]}


def test_the_log_has_a_line_for_each_request_and_no_text(api: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        posted(api, q=["the secret", "the cat"])
    (line,) = [message for message in caplog.messages if message.startswith("/translate")]
    assert line.startswith("/translate: 200, 2 lines, ")
    assert "secret" not in caplog.text
