"""The server on a real port: large requests, disconnecting clients, and a stop that answers pending requests."""

import socket
from urllib.parse import urlsplit

import httpx2
import pytest
import uvicorn

from tests.support.serve_stand_ins import held, served
from translator.errors import InputError
from translator.run.signals import StopRequest
from translator.serve import Limits
from translator.serve.app import make_app
from translator.serve.listening import is_loopback, listening_socket, serve, url


def connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=10)


def send(address: str, body: bytes) -> socket.socket:
    connection = connected(address)
    head = "POST /api/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def test_request_of_a_disconnected_client_is_dropped() -> None:
    translator = held()
    with served(translator) as (address, _):
        connection = send(address, b'{"text": "a"}')
        translator.inside.acquire()
        connection.close()
        while httpx2.get(f"{address}api/health").json()["waiting"]:
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


def test_excess_connections_get_503() -> None:
    translator = held()
    with served(translator, Limits(connections=1)) as (address, _):
        first = send(address, b'{"text": "a"}')
        translator.inside.acquire()
        second = httpx2.post(f"{address}api/translate", json={"text": "b"})
        assert second.status_code == 503
        translator.gate.set()
        first.close()


@pytest.mark.parametrize(
    ("host", "is_local", "shown"), [("127.0.0.1", True, "127.0.0.1"), ("0.0.0.0", False, "127.0.0.1")]
)
def test_an_address_has_a_link_for_this_machine(host: str, is_local: bool, shown: str) -> None:
    with listening_socket(host, 0) as bound:
        assert is_loopback(bound) == is_local
        assert url(bound) == f"http://{shown}:{bound.getsockname()[1]}/"


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70_000), ("no such name", 0)])
def test_unusable_addresses_are_refused_with_advice(host: str, port: int) -> None:
    with pytest.raises(InputError, match="give another --port"), listening_socket(host, port):
        pass


def test_a_pending_request_has_its_whole_time_after_a_stop_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[int | None] = []

    def run(server: uvicorn.Server, _: object) -> None:
        seconds.append(server.config.timeout_graceful_shutdown)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    limits = Limits(seconds=9.5)
    with listening_socket("127.0.0.1", 0) as bound:
        serve(make_app(held(), limits), bound, limits, StopRequest())
    assert seconds == [11]
