"""What the server answers if a request is too large, invalid or refused: one sentence in `detail`, as JSON."""

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from translator.errors import TranslatorError

PROBLEMS: Final = {
    411: "the request does not name its length",
    413: "the text, or the whole request, is too long",
    422: "the request is invalid, or asks for something that this model does not support",
    504: "the translation took too long and was cancelled",
}
"""The status codes of problems, for the description of the API."""
_EXAMPLE: Final = '{"text": "The door is open."}'


class BodyLimit:
    """Middleware that refuses a request, before any of its body is read, if its body is too large or of any length."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self._app = app
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 411 or 413, or pass the request on."""
        # Without a length, or with one that is too large, the answer is a problem in place of the application's.
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        answer: ASGIApp = self._app
        if "transfer-encoding" in headers:
            answer = _problem("send the length of the request, in place of chunks", 411)
        elif int(headers.get("content-length", 0)) > self._most_bytes:
            detail = f"the request has more than {self._most_bytes} bytes, the limit; send the text in parts"
            answer = _problem(detail, 413)
        await answer(scope, receive, send)


def _problem(detail: str, code: int) -> JSONResponse:
    """Return an answer that clients of this API and of LibreTranslate understand."""
    return JSONResponse({"detail": detail, "error": detail}, code)


def answer_problems(app: FastAPI) -> None:
    """Let `app` answer a mistake of a client with 422 and a message in `detail`."""

    @app.exception_handler(RequestValidationError)
    async def answer_invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"detail": "; ".join(map(_message, error.errors()))}, 422)

    @app.exception_handler(TranslatorError)
    async def answer_refused(_: Request, error: TranslatorError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)


def _message(mistake: dict[str, Any]) -> str:
    """Return what is wrong with a request, from one of pydantic's errors."""
    if mistake["type"] == "json_invalid":
        return f"the body is not valid JSON: {mistake['ctx']['error']}"
    # pydantic's path begins with `body`, which a client does not know; the rest is the key, "" for the whole body.
    key = ".".join(map(str, mistake["loc"][1:]))
    message = str(mistake["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    if mistake["type"] == "extra_forbidden":
        message = "unknown key"
    elif not key and mistake["type"] != "value_error":
        message = f"send a JSON object such as {_EXAMPLE}, as application/json"
    return f"{key}: {message}" if key else message
