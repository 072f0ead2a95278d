"""The server at a real port: many at once, those who leave, and a stop that loses nothing."""

import asyncio
import json
import signal
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from echo_model import echo
from serve.stand_ins import held, served
from untrained import untrained_run

from translator import Translator
from translator.errors import InputError
from translator.serve import Limits
from translator.serve.server import check_hosts, is_loopback, listening_socket, url

MANY = 200


async def ask_all(address: str, asked: list[dict[str, Any]]) -> list[httpx2.Response]:
    """Send all requests at the same time, each over a connection of its own."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=None) as client:
        return list(await asyncio.gather(*(client.post("/api/translate", json=one) for one in asked)))


def test_many_at_once_and_each_gets_its_own() -> None:
    translator, model = echo()
    texts = [f"w{number} " * (1 + number % 7) for number in range(MANY)]
    with served(translator) as (address, _):
        answers = asyncio.run(ask_all(address, [{"text": text} for text in texts]))
    assert [answer.status_code for answer in answers] == [200] * MANY
    found = [answer.json()["lines"] for answer in answers]
    assert [(lines[0]["source"], lines[0]["translations"][0]["text"]) for lines in found] == [
        (text, text.strip()) for text in texts
    ]
    assert len(model.shapes) < MANY, "requests share batches"


def test_what_comes_out_does_not_depend_on_who_else_asks(tiny: Any) -> None:
    translator = Translator.load(untrained_run(tiny("search.method=beam", "batching.max_length=12")).path)
    texts = ["abc", "hgf dd", "a" * 30, "", "ba c", "x", "cab fed", "dd"] * 3
    with served(translator) as (address, _):
        answers = asyncio.run(
            ask_all(address, [{"text": text, "count": 1 + number % 3} for number, text in enumerate(texts)])
        )
        alone = [asyncio.run(ask_all(address, [{"text": text, "count": 3}]))[0] for text in texts[:8]]
    for number, answer in enumerate(answers):
        found, expected = (one.json()["lines"][0]["translations"] for one in (answer, alone[number % 8]))
        assert [one["text"] for one in found] == [one["text"] for one in expected[: 1 + number % 3]]
        assert [one["score"] for one in found] == pytest.approx(
            [one["score"] for one in expected[: len(found)]], abs=1e-4
        )


def send(address: str, body: bytes) -> socket.socket:
    """Send a request and return the connection, with the answer still to come."""
    parts = urlsplit(address)
    connection = socket.create_connection((parts.hostname, parts.port))
    head = f"POST /api/translate HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def received(connection: socket.socket) -> Any:
    """Return the JSON of an answer after which the server closes the connection."""
    with connection, connection.makefile("rb") as file:
        return json.loads(file.read().partition(b"\r\n\r\n")[2])


def waiting(address: str) -> int:
    count: int = httpx2.get(f"{address}api/health").json()["waiting"]
    return count


def test_the_work_of_a_client_that_has_gone_is_dropped() -> None:
    translator = held()
    with served(translator) as (address, _):
        connection = send(address, b'{"text": "a"}')
        translator.inside.acquire()
        assert waiting(address) == 1
        connection.close()
        while waiting(address):
            pass
        translator.gate.set()
    assert translator.dropped == [["a"]]


def test_too_many_are_sent_away_and_told_when_to_come_back() -> None:
    translator = held()
    with served(translator, Limits(waiting=1)) as (address, _):
        first = send(address, b'{"text": "a"}')
        translator.inside.acquire()
        (second,) = asyncio.run(ask_all(address, [{"text": "b"}]))
        assert (second.status_code, second.headers["Retry-After"]) == (503, "2")
        assert second.json() == {"detail": "too many requests wait; try again in a moment"}
        translator.gate.set()
        first.close()


def test_a_stop_answers_what_has_been_asked() -> None:
    translator = held()
    with served(translator) as (address, stop):
        first = send(address, b'{"text": "a"}')
        translator.inside.acquire()
        second = send(address, b'{"text": "b"}')
        while waiting(address) < 2:
            pass
        stop.receive(signal.SIGTERM)
        with pytest.raises(OSError):  # new ones are refused soon
            while True:
                socket.create_connection((urlsplit(address).hostname, urlsplit(address).port)).close()
        time.sleep(0.4)  # what does not wait for answers would have ended by now
        translator.gate.set()
        assert [received(one)["lines"][0]["translations"][0]["text"] for one in (first, second)] == ["A", "B"]


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nHost: loc"])
def test_a_head_that_never_comes_ends_the_connection(first: bytes) -> None:
    with served(held(), Limits(seconds=0.2)) as (address, _):
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname, parts.port)) as connection:
            connection.sendall(first)
            assert connection.recv(100) == b""
        assert waiting(address) == 0


def test_other_hosts_are_refused_at_the_port_too() -> None:
    with served(held(), hosts=["box.local"]) as (address, _):
        statuses = [
            httpx2.get(f"{address}api/health", headers={"Host": host}).status_code
            for host in ("box.local:80", "evil.example")
        ]
    assert statuses == [200, 421]


def test_an_address_that_is_taken_or_not_ours() -> None:
    with listening_socket("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        assert is_loopback(bound)
        assert url(bound) == f"http://127.0.0.1:{port}/"
        with (
            pytest.raises(InputError, match=f"cannot listen at 127.0.0.1, port {port}: .* take another --port"),
            listening_socket("127.0.0.1", port),
        ):
            pass
    for host, number in (("192.0.2.1", 0), ("127.0.0.1", 70_000), ("no such name", 0)):
        with pytest.raises(InputError, match="take"), listening_socket(host, number):
            pass
    with listening_socket("0.0.0.0", 0) as bound:
        assert not is_loopback(bound)
        assert url(bound).startswith("http://127.0.0.1:")


@pytest.mark.parametrize("name", ["http://box.local", "box.local:8000", "*.local", ""])
def test_what_is_no_name_of_a_host(name: str) -> None:
    check_hosts(["box.local"])
    with pytest.raises(InputError, match="--allow-host takes a name"):
        check_hosts(["box.local", name])
