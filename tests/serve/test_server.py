"""The server on a real port: concurrent requests, disconnecting clients, and a stop that answers pending requests."""

import asyncio
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.echo_model import echo
from tests.support.serve_stand_ins import held, served
from translator.errors import InputError
from translator.serve import Limits
from translator.serve.listening import is_loopback, listening_socket, url


async def ask_all(address: str, requests: list[dict[str, Any]]) -> list[httpx2.Response]:
    """Send all requests at the same time, each over a connection of its own."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=None) as client:
        answers = [client.post("/api/translate", json=request) for request in requests]
        return list(await asyncio.gather(*answers))


def test_concurrent_requests_each_get_their_own_answer() -> None:
    translator, model = echo()
    words = [f"w{chr(97 + number // 26)}{chr(97 + number % 26)} " for number in range(60)]
    texts = [word * (1 + number % 7) for number, word in enumerate(words)]  # of 1 to 7 words
    requests = [{"text": text} for text in texts]
    with served(translator) as (address, _):
        answers = asyncio.run(ask_all(address, requests))
    for text, answer in zip(texts, answers, strict=True):
        assert answer.status_code == 200
        (line,) = answer.json()["lines"]
        assert line["source"] == text
        assert line["translations"][0]["text"] == text.strip()
    assert len(model.shapes) < 60, "requests share batches"


def send(address: str, body: bytes) -> socket.socket:
    connection = connected(address)
    head = "POST /api/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def waiting(address: str) -> int:
    count: int = httpx2.get(f"{address}api/health").json()["waiting"]
    return count


def test_request_of_a_disconnected_client_is_dropped() -> None:
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


@pytest.mark.parametrize(
    ("length", "status"), [(b"Content-Length: 100000000", b"413"), (b"Transfer-Encoding: chunked", b"411")]
)
def test_a_body_over_the_limit_or_of_any_length_is_refused_before_it_is_sent(length: bytes, status: bytes) -> None:
    head = b"POST /api/translate HTTP/1.1\r\nHost: localhost\r\n"
    with served(held()) as (address, _), connected(address) as connection:
        connection.sendall(head + length + b"\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 " + status)


def connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=10)


def test_excess_connections_get_503() -> None:
    translator = held()
    with served(translator, Limits(connections=1)) as (address, _):
        first = send(address, b'{"text": "a"}')
        translator.inside.acquire()
        (second,) = asyncio.run(ask_all(address, [{"text": "b"}]))
        assert second.status_code == 503
        translator.gate.set()
        first.close()


def test_a_local_address_is_bound_and_has_a_link() -> None:
    with listening_socket("127.0.0.1", 0) as bound:
        assert is_loopback(bound)
        assert url(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}/"


def test_all_addresses_are_no_loopback_but_have_a_local_link() -> None:
    with listening_socket("0.0.0.0", 0) as bound:
        assert not is_loopback(bound)
        assert url(bound).startswith("http://127.0.0.1:")


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("127.0.0.1", 70_000), ("no such name", 0)])
def test_unusable_addresses_are_refused_with_advice(host: str, port: int) -> None:
    with pytest.raises(InputError, match="give"), listening_socket(host, port):
        pass
