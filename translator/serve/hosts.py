"""Requests that were meant for another host are refused."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_HOST: Final = re.compile(r"(?:\[(?P<bracketed>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]]+))(?::[0-9]*)?")
"""Only IPv6 addresses stand in brackets."""


class AllowedHosts:
    """Answers requests whose `Host` is an IP address, `localhost` or one of `names`, and refuses all others.

    A page on the web may let its own name point to this machine and then read what this server says (DNS rebinding);
    its requests still carry that name. An address cannot be made to point elsewhere.

    Args:
        app: gets the requests that are let through.
        names: by which people reach this machine.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self._app = app
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request (ASGI)."""
        if scope["type"] == "http":
            name = host_name(Headers(scope=scope).get("host", ""))
            if name not in self._names and not _is_address(name):
                words = (
                    "this server does not know the host name of the request; open the page by its IP address or as "
                    "localhost, or start the server with --allow-host NAME"
                )
                await JSONResponse({"detail": words}, 421)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def host_name(header: str) -> str:
    """Return the name or address in a `Host` header, in small letters, without port and brackets; "" if it is none."""
    found = _HOST.fullmatch(header)
    if found is None:
        return ""
    return (found["bracketed"] or found["name"]).lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
