"""The server as a person starts it: an address of its own, and a stop that answers what has been asked."""

import asyncio
import contextlib
import ipaddress
import math
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from translator.errors import InputError
from translator.signals import StopRequest

_HIGHEST_PORT: Final = 65_535
_TICK: Final = 0.1
"""Seconds between two looks at whether a signal has come."""


@contextlib.contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket that listens at an address; who connects before it is served waits.

    Args:
        host: name or address of this machine.
        port: 0 takes one that is free.

    Raises:
        InputError: the address is not of this machine, or is taken.
    """
    if not 0 <= port <= _HIGHEST_PORT:  # the system would take what is left of it in 16 bits
        raise InputError(f"there is no port {port}; take one up to {_HIGHEST_PORT}, or 0 for a free one")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"there is no address {host}, port {port}: {error}; take --host 127.0.0.1") from error
    with bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
            bound.listen()
        except OSError as error:
            raise InputError(
                f"cannot listen at {host}, port {port}: {error}; take another --port (0 takes a free one) or --host"
            ) from error
        yield bound


def is_loopback(bound: socket.socket) -> bool:
    """Return whether only this machine can reach the socket."""
    return ipaddress.ip_address(bound.getsockname()[0]).is_loopback


def url(bound: socket.socket) -> str:
    """Return what to type into a browser on this machine."""
    host, port = bound.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    return f"http://{address if address.version == 4 else f'[{address}]'}:{port}/"


def serve(app: ASGIApp, bound: socket.socket, stop: StopRequest, patience: float, ready: Callable[[], None]) -> None:
    """Serve until a signal comes; then take nothing new, answer what has been asked, and leave.

    Args:
        app: the application.
        bound: where it listens.
        stop: tells of signals. A second one ends the process soon, whatever it is doing (translator/signals.py).
        patience: seconds that the head of a request may take, and that unanswered requests get after the signal.
        ready: called when requests are answered.

    Raises:
        Interrupted: always, in the end.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=_impatient(patience),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(patience),
    )
    server = uvicorn.Server(config)
    with stop.deferred(), ThreadPoolExecutor(1, "server") as thread:  # uvicorn leaves signals alone in a thread
        work = thread.submit(server.run, [bound])
        try:
            _wait(work, lambda: server.started)
            if server.started:
                ready()
            _wait(work, lambda: stop.requested)
        finally:
            server.should_exit = True
        work.result()
    stop.check()


def _impatient(seconds: float) -> type[H11Protocol]:
    """Return uvicorn's protocol, but a connection ends on which the head of a request takes too long to come.

    Args:
        seconds: what it may take; up to twice as many where requests went before.
    """

    class Impatient(H11Protocol):
        """Looks at the connection again and again; uvicorn itself ends those that keep silent after an answer."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._look_later = self.loop.call_later(seconds, self._look, None)

        def connection_lost(self, exc: Exception | None) -> None:
            self._look_later.cancel()
            super().connection_lost(exc)

        def _look(self, before: object) -> None:
            waits = self.cycle is None or self.cycle.response_complete
            if waits and self.cycle is before and self.timeout_keep_alive_task is None:
                self.transport.close()
                return
            self._look_later = self.loop.call_later(seconds, self._look, self.cycle if waits else self)

    return Impatient


def _wait(work: Future[None], until: Callable[[], bool]) -> None:
    """Wait until something holds, or the work has ended."""
    while not work.done() and not until():
        wait([work], _TICK)


def check_hosts(names: Iterable[str]) -> None:
    """Make sure that names of hosts are names, without scheme and port.

    Raises:
        InputError: one is not.
    """
    for name in names:
        if not name or any(sign in name for sign in "/:@ *"):
            raise InputError(f"--allow-host takes a name such as translator.example, not `{name}`")
