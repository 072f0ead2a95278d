"""The server that listens on an address until a signal arrives."""

import contextlib
import ipaddress
import math
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn
from fastapi import FastAPI

from translator.errors import InputError
from translator.run.signals import StopRequest
from translator.serve import Limits

_EVERY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that stand for all of this machine, and the one that its own browser reaches."""


@contextlib.contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket that listens on an address (port 0: a free one); raise InputError if it is not available."""
    try:
        # The name may stand for several addresses, of IPv4 and IPv6; the first is the system's choice.
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.create_server((address[0], port), family=family)
    except (OSError, UnicodeError, OverflowError) as error:
        raise InputError(
            f"cannot listen on {host}, port {port}: {error}; give another --port (0 takes a free one) or --host"
        ) from error
    with bound:
        yield bound


def is_loopback(bound: socket.socket) -> bool:
    """Return whether only this machine can reach the socket."""
    return ipaddress.ip_address(bound.getsockname()[0]).is_loopback


def url(bound: socket.socket) -> str:
    """Return the address for a browser on this machine."""
    host, port = bound.getsockname()[:2]
    host = _EVERY_ADDRESS.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class _Server(uvicorn.Server):
    """Ends when a stop is requested; uvicorn itself sees SIGINT and SIGTERM only."""

    def __init__(self, config: uvicorn.Config, stop: StopRequest) -> None:
        super().__init__(config)
        self._stop = stop

    async def on_tick(self, counter: int) -> bool:
        """Return whether to end; uvicorn asks ten times a second."""
        return await super().on_tick(counter) or self._stop.requested


def serve(app: FastAPI, bound: socket.socket, limits: Limits, stop: StopRequest) -> None:
    """Serve until a signal arrives, then answer pending requests and raise Interrupted.

    Args:
        app: the application.
        bound: the socket (see `listening_socket`).
        limits: how many connections there may be, and in which time pending requests may still be answered.
        stop: the signals.
    """
    config = uvicorn.Config(
        app,
        limit_concurrency=limits.connections + 1,  # uvicorn counts the connection that would be one too many
        timeout_graceful_shutdown=math.ceil(limits.seconds) + 1,  # no sooner than a request's own limit
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    # While uvicorn serves, it handles the signals. At its end it sends the same signals to this process again. So
    # `stop` gets them, and `check` raises Interrupted.
    with stop.deferred():
        _Server(config, stop).run([bound])
    stop.check()
