"""A model is served as a page and a JSON API, within limits that one request cannot break, until a signal stops it."""

import os
import re
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
import yaml

from tests.support.command_line import Finished, refusal, translator

SECONDS = 60  # that a server may take to start
REQUESTS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("requests.yaml").read_text(encoding="utf-8"))
SENTENCES = {"The book is old.": "کتاب قدیمی است.", "I see the clean table.": "میز تمیز را می‌بینم."}
LAST = {"lines": ["The letter is new."] * 8}


class Served(NamedTuple):
    """What the visitors of one server were answered, and what the command left behind."""

    answers: dict[str, httpx2.Response]
    address: str
    finished: Finished


def ask(api: httpx2.Client) -> dict[str, httpx2.Response]:
    """Return the answer to each of our requests, by name."""
    answers = {}
    for request in REQUESTS:
        (method,) = request.keys() & {"get", "head", "post"}
        body = {key: request[key] for key in ("json", "data", "content", "headers") if key in request}
        if "times" in request:
            body["json"] = {"text": body["json"]["text"] * request["times"]}
        answers[request["name"]] = api.request(method.upper(), request[method], **body)
    return answers


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


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: case["name"])
def test_a_request_has_its_answer(case: dict[str, Any], served: Served) -> None:
    answer = served.answers[case["name"]]
    assert answer.status_code == case.get("status", 200)
    assert case.get("says", "") in answer.text


def test_a_text_is_translated_line_by_line(served: Served) -> None:
    lines = served.answers["text"].json()["lines"]
    assert {line["source"]: line["translations"][0]["text"] for line in lines} == SENTENCES
    assert all(0 <= line["translations"][0]["confidence"] <= 1 for line in lines)


def test_a_line_can_have_several_translations_with_attention(served: Served) -> None:
    (line,) = served.answers["count"].json()["lines"]
    best = line["translations"][0]
    assert best["text"] == SENTENCES["The book is old."]
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
        assert "default-src 'none'" in served.answers[name].headers["content-security-policy"]


@pytest.mark.parametrize("name", ["head of the page", "head of health"])
def test_a_monitor_may_ask_for_the_head_alone(name: str, served: Served) -> None:
    assert served.answers[name].content == b""


def test_the_server_describes_itself(served: Served) -> None:
    model = served.answers["model"].json()
    assert (model["name"], model["checkpoint"], model["languages"]) == ("small", "step-000150", ["en", "fa"])
    assert model["confidence"] is True
    assert (model["limits"]["characters"], model["limits"]["lines"]) == (200, 8)
    paths = served.answers["description"].json()["paths"]
    assert set(paths) >= {"/api/health", "/api/model", "/api/translate", "/translate", "/languages", "/health"}


def test_a_stop_signal_lets_pending_requests_finish(served: Served) -> None:
    assert served.finished.code == 143
    assert "stopped by SIGTERM" in served.finished.err
    answered = served.answers["last"].json()["lines"]
    assert [line["translations"][0]["text"] for line in answered] == ["نامه تازه است."] * len(LAST["lines"])


def test_a_port_in_use_is_refused(small_run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"cannot listen on 127.0.0.1, port {port}: " in refusal("serve", "--run", small_run, "--port", port)
