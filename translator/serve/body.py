"""Bodies of requests are read whole, within bounds, before anything looks into them."""

import asyncio

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BoundedBody:
    """Refuses bodies that are too large, or come too slowly.

    Args:
        app: gets the requests, each with its whole body in one message.
        size: bytes of a body at most.
        seconds: in which it must have come.
    """

    def __init__(self, app: ASGIApp, size: int, seconds: float) -> None:
        self._app = app
        self._size = size
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        body: bytes | None = None
        if not (announced.isdecimal() and int(announced) > self._size):
            try:
                async with asyncio.timeout(self._seconds):
                    body = await self._read(receive)
            except TimeoutError:
                words = f"the request did not arrive within {self._seconds:g} seconds"
                await JSONResponse({"detail": words}, 408, {"Connection": "close"})(scope, receive, send)
                return
        if body is None:
            words = f"the request has more than the {self._size} bytes that this server reads; send the text in parts"
            await JSONResponse({"detail": words}, 413, {"Connection": "close"})(scope, receive, send)
            return
        first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_whole() -> Message:
            return first.pop() if first else await receive()

        await self._app(scope, receive_whole, send)

    async def _read(self, receive: Receive) -> bytes | None:
        """Return the body, or None where it is too large."""
        parts: list[bytes] = []
        room = self._size
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b"".join(parts)
            part = message.get("body", b"")
            parts.append(part)
            room -= len(part)
            if room < 0:
                return None
            if not message.get("more_body", False):
                return b"".join(parts)
