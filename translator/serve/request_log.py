"""A line of the log for each request to translate: what was asked and how long it took, without any text."""

import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from translator.run.logging import LOGGER

_LOGGED: Final = ("/api/translate", "/translate")


class RequestLog:
    """Middleware that logs path, status, lines and milliseconds of each translation."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log its answer."""
        if scope["type"] != "http" or scope["path"] not in _LOGGED:
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        # The answer goes to the client through this function, which logs its first message.
        async def logged(message: Message) -> None:
            if message["type"] == "http.response.start":
                milliseconds = 1000 * (time.perf_counter() - began)
                lines = scope.get("lines", 0)  # as the application has counted them
                LOGGER.info("%s: %d, %d lines, %.0f ms", scope["path"], message["status"], lines, milliseconds)
            await send(message)

        await self._app(scope, receive, logged)
