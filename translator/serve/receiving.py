"""Receives a request before the application sees it: limited in bytes, and in the time that its client takes."""

import asyncio
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from translator.serve import RECEIVING_SECONDS

_CLOSE: Final = {"Connection": "close"}


class _TooLargeError(Exception):
    """The body of a request exceeds the limit."""


class _DisconnectedError(Exception):
    """The client has closed the connection before the end of its request."""


class BodyReceiver:
    """Middleware that gives the application a complete body, or answers 408 or 413 itself.

    A body that names its length is refused before any of it is read. The connection drops what still arrives of it.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, seconds: float) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive the body of one request, and pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        # 1. Receive the body, or answer here.
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._body(scope, receive)
        except _DisconnectedError:
            return
        except TimeoutError:
            detail = f"the request did not arrive within {self._seconds:g} seconds; send it again"
            await JSONResponse({"detail": detail}, 408, _CLOSE)(scope, receive, send)
            return
        except _TooLargeError:
            detail = f"the request has more than {self._most_bytes} bytes, the limit; send the text in parts"
            await JSONResponse({"detail": detail}, 413)(scope, receive, send)
            return

        # 2. Pass it on, as one message.
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_whole_body() -> Message:
            return unread.pop() if unread else await receive()

        await self._app(scope, receive_whole_body, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body; raise an error of this file if it is too large, or if the client leaves."""
        # Most clients announce the size.
        for name, value in scope["headers"]:
            if name == b"content-length" and int(value) > self._most_bytes:
                raise _TooLargeError
        # Others send chunks without a size, so the bytes are counted as they arrive.
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _DisconnectedError
            body += message.get("body", b"")
            if len(body) > self._most_bytes:
                raise _TooLargeError
            if not message.get("more_body", False):
                return bytes(body)


class TimedProtocol(H11Protocol):
    """uvicorn's connection, which is closed if the head of its next request does not arrive in time.

    uvicorn itself waits for ever for a client that stops in the middle of a head.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._restart_timer()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._restart_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)

    def _restart_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(RECEIVING_SECONDS, self._close_unless_at_work)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _close_unless_at_work(self) -> None:
        # A translation takes longer than a head; only an idle connection is closed.
        if self.cycle is None or self.cycle.response_complete:
            self.timeout_keep_alive_handler()
