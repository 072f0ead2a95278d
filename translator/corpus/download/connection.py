"""Asking a server for a file, and sorting what can go wrong into what may pass and what will not."""

import http
import http.client
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from email.message import Message
from typing import IO, Final, cast

from translator import __version__
from translator.corpus.download.foreign_text import printable

_CHUNK: Final = 1 << 16
_START: Final = 512
_PASSING: Final = frozenset({408, 425, 429})
"""Client errors that another attempt may not meet."""


class BrokenConnectionError(Exception):
    """The connection failed or ended early; another attempt may go better."""


class RefusedError(Exception):
    """The server or the network says no in a way that another attempt will not change."""


class RangeRefusedError(Exception):
    """The server has no bytes after those that are here."""

    def __init__(self, size: int | None) -> None:
        super().__init__()
        self.size = size
        """Of the whole file, if the server says."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https, and none from https to http."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage | Message,
        newurl: str,
    ) -> urllib.request.Request | None:
        scheme = urllib.parse.urlsplit(newurl).scheme.lower()
        if scheme not in ("http", "https") or (req.type == "https" and scheme == "http"):
            raise RefusedError(f"the server redirects to {printable(newurl)}, which is not a safe address to follow")
        return super().redirect_request(req, fp, code, msg, cast(http.client.HTTPMessage, headers), newurl)


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener that speaks http and https alone; a standard one would read local files too."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def open_address(address: str, headers: Mapping[str, str], timeout: float) -> http.client.HTTPResponse:
    """Send a request for `address` and return the answer, its body unread; `timeout` is in seconds of silence.

    Raises:
        BrokenConnectionError: the server cannot be reached, or is in trouble.
        RangeRefusedError: the server has nothing after the asked-for start of a range.
        RefusedError: the server has no such file, will not give it, or sends the request to an unsafe place.
    """
    request = urllib.request.Request(
        address,
        headers={"User-Agent": f"translator/{__version__}", "Accept-Encoding": "identity", **headers},
    )
    try:
        return cast(http.client.HTTPResponse, _opener().open(request, timeout=timeout))
    except urllib.error.HTTPError as error:
        with error:
            raise _explained(error) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise RefusedError(
                f"the certificate of the server is not trusted ({error.reason.verify_message}); a proxy that inspects "
                "traffic needs its own certificate in SSL_CERT_FILE"
            ) from error
        raise BrokenConnectionError(_system_words(error.reason)) from error
    except (OSError, http.client.HTTPException) as error:
        raise BrokenConnectionError(_system_words(error)) from error
    except ValueError as error:
        raise RefusedError(f"the server redirects to an address that makes no sense ({error})") from error


def read_chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body of `response` as it comes; the first piece has 512 bytes if there are so many.

    Raises:
        BrokenConnectionError: the connection fails. One that merely ends early is not told from the end of the body.
    """
    try:
        chunk = response.read(_START)
        while chunk:
            yield chunk
            chunk = response.read1(_CHUNK)  # what is there, so that a stop loses nothing that has come
    except (OSError, http.client.HTTPException) as error:
        raise BrokenConnectionError(_system_words(error)) from error


def range_size(content_range: str | None) -> int | None:
    """Return the size of the whole file in a Content-Range header, if it is there."""
    size = (content_range or "").rpartition("/")[2].strip()
    return int(size) if size.isascii() and size.isdigit() else None


def _system_words(reason: BaseException | str) -> str:
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return printable(str(reason)) or type(reason).__name__


def _explained(error: urllib.error.HTTPError) -> Exception:
    try:
        status = f"{error.code} {http.HTTPStatus(error.code).phrase}"
    except ValueError:
        status = str(error.code)
    if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return RangeRefusedError(range_size(error.headers.get("Content-Range")))
    if 300 <= error.code < 400:
        target = printable(error.headers.get("Location") or "nowhere")
        return RefusedError(f"the server redirects to {target}, which is not a safe address, or redirects without end")
    if error.code >= 500 or error.code in _PASSING:
        return BrokenConnectionError(f"the server answers {status}")
    if error.code in (404, 410):
        return RefusedError(f"the server has no such file (it answers {status}); it may have moved")
    return RefusedError(f"the server will not give it (it answers {status})")
