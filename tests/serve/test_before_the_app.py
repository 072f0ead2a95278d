"""What stands before the application: hosts, bodies, headers."""

import asyncio
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from translator.serve.body import BoundedBody
from translator.serve.headers import SecureHeaders
from translator.serve.hosts import AllowedHosts, host_name


async def echo_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body, which must come in one message."""
    message = await receive()
    assert not message.get("more_body", False)
    await PlainTextResponse(message["body"])(scope, receive, send)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost:8000", "localhost"),
        ("LocalHost.", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8000", "::1"),
        ("[::1]", "::1"),
        ("", ""),
        ("localhost@evil.example", "localhost@evil.example"),
    ],
)
def test_the_name_in_a_host_header(header: str, name: str) -> None:
    assert host_name(header) == name


@pytest.mark.parametrize("header", ["[::1]evil.example", "[::1", "[localhost]", "[fe80::1%evil]", "127.0.0.1:evil"])
def test_what_is_no_host_header_has_no_name(header: str) -> None:
    assert host_name(header) == ""


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "192.168.1.7:8000", "[::1]:8000", "Box.local:8000"])
def test_addresses_and_names_of_this_machine_are_let_in(host: str) -> None:
    client = TestClient(AllowedHosts(echo_app, ["box.LOCAL"]))
    assert client.post("/", content=b"a", headers={"Host": host}).text == "a"


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8000", "", "[evil]"]
)
def test_other_names_are_not(host: str) -> None:
    answer = TestClient(AllowedHosts(echo_app, ["box.local"])).post("/", content=b"a", headers={"Host": host})
    assert answer.status_code == 421
    assert "start the server with --allow-host NAME" in answer.json()["detail"]


def exchange(app: Any, *parts: bytes, announced: str | None = None, ends: bool = True) -> list[Message]:
    """Send a body in parts to an application and return what it sends; one that does not end never will."""
    headers = [] if announced is None else [(b"content-length", announced.encode())]
    waiting = [
        {"type": "http.request", "body": part, "more_body": not ends or number < len(parts)}
        for number, part in enumerate(parts, 1)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, send))
    return sent


@pytest.mark.parametrize(
    ("parts", "announced", "status"),
    [
        ((b"12345", b"67890"), None, 200),
        ((b"",), "0", 200),
        ((b"12345", b"678901"), None, 413),
        ((b"12345", b"678901"), "11", 413),
        ((), "11", 413),
        ((b"12345678901",), "-5", 413),
        ((b"12345678901",), "9", 413),
    ],
)
def test_a_body_is_bounded_whatever_was_announced(parts: tuple[bytes, ...], announced: str | None, status: int) -> None:
    sent = exchange(BoundedBody(echo_app, 10, 60), *parts, announced=announced)
    assert sent[0]["status"] == status
    if status == 200:
        assert sent[1]["body"] == b"".join(parts)


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    sent = exchange(BoundedBody(echo_app, 10, 0.05), b"123", ends=False)
    assert sent[0]["status"] == 408
    assert b"did not arrive within 0.05 seconds" in sent[1]["body"]


def test_every_answer_forbids_what_the_page_does_not_need() -> None:
    headers = TestClient(SecureHeaders(echo_app)).post("/", content=b"a").headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
