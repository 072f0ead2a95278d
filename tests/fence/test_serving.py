"""A model is served as a page and a JSON API, within limits that one request cannot break, until a signal stops it."""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.support.command_line import Finished, refusal, translator

SECONDS = 60  # that a server may take to start
TEXT = "The book is old.\nI see the clean table."
PERSIAN = ["کتاب قدیمی است.", "میز تمیز را می‌بینم."]
PAIR = {"source": "en", "target": "fa"}
BEYOND: dict[str, tuple[dict[str, Any], int, str]] = {
    "too many characters": ({"text": "a" * 201}, 413, "the text has 201 characters, but the limit is 200"),
    "too many lines": ({"lines": ["a"] * 9}, 413, "the text has 9 lines, but the limit is 8"),
    "too many bytes": ({"text": "a" * 100_000}, 413, "the request has more than 6624 bytes"),
    "too many translations": ({"text": "a", "count": 5}, 422, "5 translations of a line are requested, but the limit"),
    "unknown key": ({"text": "a", "colour": "red"}, 422, "colour: unknown key"),
    "nothing": ({}, 422, "give either `text` or `lines`"),
}
"""Requests that are refused, with status and reason."""
LAST = {"lines": ["The letter is new."] * 8}


class Served(NamedTuple):
    """What the visitors of one server were answered, and what the command left behind."""

    answers: dict[str, httpx2.Response]
    address: str
    finished: Finished


def ask(api: httpx2.Client) -> dict[str, httpx2.Response]:
    """Return the answer to each of our requests, by name."""

    def post(**body: Any) -> httpx2.Response:
        return api.post("/api/translate", json=body)

    requests: dict[str, Callable[[], httpx2.Response]] = {
        "page": lambda: api.get("/"),
        "style": lambda: api.get("/style.css"),
        "script": lambda: api.get("/script.js"),
        "icon": lambda: api.get("/icon.svg"),
        "head of the page": lambda: api.head("/"),
        "head of health": lambda: api.head("/api/health"),
        "health": lambda: api.get("/api/health"),
        "model": lambda: api.get("/api/model"),
        "description": lambda: api.get("/api/openapi.json"),
        "text": lambda: post(text=TEXT),
        "count": lambda: post(text="The book is old.", count=3, attention=True),
        "glossary": lambda: post(text="The book is old.", glossary={"book": "جزوه"}),
        "wrapped": lambda: post(text="The book\nis old.", paragraphs=True),
        "libretranslate": lambda: api.post(
            "/translate", data={"q": "The book is old.", "source": "en", "target": "fa"}
        ),
        "another language": lambda: api.post("/translate", json={"q": "x", **PAIR, "source": "de"}),
        "no JSON": lambda: api.post("/api/translate", content=b"{", headers={"Content-Type": "application/json"}),
        "another host": lambda: api.get("/api/health", headers={"Host": "evil.example"}),
        "named host": lambda: api.get("/api/health", headers={"Host": "translate.example"}),
    }
    answers = {name: request() for name, request in requests.items()}
    return answers | {name: post(**body) for name, (body, _, _) in BEYOND.items()}


@pytest.fixture(scope="module")
def served(small_run: Path) -> Served:
    """Serve the small model to visitors, and send a stop signal while a last request is pending."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    answers: dict[str, httpx2.Response] = {}
    ended = threading.Event()

    def visit() -> None:
        with httpx2.Client(base_url=address, timeout=SECONDS) as api:
            while not is_up(api):
                if ended.wait(0.05):
                    return  # the server has refused to start
            try:
                answers.update(ask(api))
                last = threading.Thread(target=lambda: answers.update(last=api.post("/api/translate", json=LAST)))
                last.start()
                while last.is_alive() and not api.get("/api/health").json()["waiting"]:
                    time.sleep(0.001)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
            last.join()

    visitor = threading.Thread(target=visit)
    visitor.start()
    limits = ("--characters", "200", "--lines", "8", "--allow-host", "translate.example")
    finished = translator("serve", "--run", small_run, "--port", str(port), *limits)
    ended.set()
    visitor.join()
    return Served(answers=answers, address=address, finished=finished)


def is_up(api: httpx2.Client) -> bool:
    """Return whether the server answers."""
    try:
        return api.get("/api/health").is_success
    except httpx2.TransportError:
        return False


def test_the_address_is_announced_with_the_model(served: Served) -> None:
    assert served.finished.lines == [f"{served.address}/ translates with small, step-000150; Ctrl+C stops it"]


def test_a_text_is_translated_line_by_line(served: Served) -> None:
    lines = served.answers["text"].json()["lines"]
    assert [line["source"] for line in lines] == TEXT.splitlines()
    assert [line["translations"][0]["text"] for line in lines] == PERSIAN
    assert all(0 <= line["translations"][0]["confidence"] <= 1 for line in lines)


def test_a_line_can_have_several_translations_with_attention(served: Served) -> None:
    (line,) = served.answers["count"].json()["lines"]
    best = line["translations"][0]
    assert best["text"] == PERSIAN[0]
    assert len(line["translations"]) == 3
    scores = [translation["normalized_score"] for translation in line["translations"]]
    assert scores == sorted(scores, reverse=True)
    assert len(best["alignment"]["source"]) == 4
    assert len(best["alignment"]["weights"]) == len(best["alignment"]["target"])


def test_the_page_and_its_files_name_relative_addresses_only(served: Served) -> None:
    page = served.answers["page"].text
    assert set(re.findall(r'(?:href|src)="([^"#]+)"', page)) == {"icon.svg", "style.css", "script.js"}
    assert re.findall(r'fetch\("([^"]+)"', served.answers["script"].text) == ["api/translate"]
    for name in ("page", "style", "script", "icon"):
        assert served.answers[name].status_code == 200
        assert "default-src 'none'" in served.answers[name].headers["content-security-policy"]


@pytest.mark.parametrize("name", ["head of the page", "head of health"])
def test_a_monitor_may_ask_for_the_head_alone(name: str, served: Served) -> None:
    assert served.answers[name].status_code == 200
    assert served.answers[name].content == b""


def test_terms_of_a_request_have_their_translation(served: Served) -> None:
    (line,) = served.answers["glossary"].json()["lines"]
    assert "جزوه" in line["translations"][0]["text"]


def test_wrapped_lines_are_joined_if_asked(served: Served) -> None:
    (line,) = served.answers["wrapped"].json()["lines"]
    assert line["source"] == "The book is old."
    assert line["translations"][0]["text"] == PERSIAN[0]


def test_the_server_speaks_the_api_of_libretranslate(served: Served) -> None:
    assert served.answers["libretranslate"].json() == {"translatedText": PERSIAN[0]}
    refused = served.answers["another language"]
    assert refused.status_code == 400
    assert "only en to fa" in refused.json()["error"]


def test_the_server_describes_itself(served: Served) -> None:
    assert served.answers["health"].json() == {"status": "ok", "waiting": 0}
    model = served.answers["model"].json()
    assert (model["name"], model["checkpoint"], model["languages"]) == ("small", "step-000150", ["en", "fa"])
    assert model["confidence"] is True
    assert (model["limits"]["characters"], model["limits"]["lines"]) == (200, 8)
    paths = served.answers["description"].json()["paths"]
    assert set(paths) >= {"/api/health", "/api/model", "/api/translate", "/translate", "/languages", "/health"}


@pytest.mark.parametrize("name", BEYOND)
def test_a_request_beyond_the_limits_is_refused_with_a_reason(name: str, served: Served) -> None:
    _, status, words = BEYOND[name]
    assert served.answers[name].status_code == status
    assert words in served.answers[name].json()["detail"]


def test_a_request_without_json_is_refused(served: Served) -> None:
    assert served.answers["no JSON"].status_code == 422
    assert "the body is not valid JSON" in served.answers["no JSON"].json()["detail"]


def test_only_names_of_this_machine_and_allowed_ones_reach_the_server(served: Served) -> None:
    assert served.answers["another host"].status_code == 400
    assert served.answers["named host"].status_code == 200


def test_a_stop_signal_lets_pending_requests_finish(served: Served) -> None:
    assert served.finished.code == 143
    assert "stopped by SIGTERM" in served.finished.err
    answered = served.answers["last"].json()["lines"]
    assert [line["translations"][0]["text"] for line in answered] == ["نامه تازه است."] * len(LAST["lines"])


def test_a_port_in_use_is_refused(small_run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"cannot listen on 127.0.0.1, port {port}: " in refusal("serve", "--run", small_run, "--port", port)
