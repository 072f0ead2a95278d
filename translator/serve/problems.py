"""What the server answers if a request is invalid, refused, or fails: one sentence, as JSON."""

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from translator.errors import TranslatorError

PROBLEMS: Final = {
    400: "the host name of the request is unknown (plain text)",
    408: "the request did not arrive in time",
    413: "the text, or the whole request, is too long",
    422: "the request is invalid, or asks for something that this model does not support",
    500: "internal server error; see the log of the server",
    503: "too many requests are waiting; try again after `Retry-After` seconds",
    504: "the translation took too long and was cancelled",
}
"""The status codes of problems, for the description of the API."""
EXAMPLE: Final = '{"text": "The door is open."}'
_SHOWN: Final = 5  # mistakes in an answer
_LONGEST_KEY: Final = 100  # characters


def answer_problems(app: FastAPI) -> None:
    """Let `app` answer a problem with a message in `detail`."""

    @app.exception_handler(RequestValidationError)
    async def answer_invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        # An answer has a few mistakes only: a request with a thousand lines may have as many.
        messages = [_message(mistake) for mistake in error.errors()[:_SHOWN]]
        detail = "; ".join(messages).encode("utf-8", "replace").decode()  # a request may name lone surrogates
        return JSONResponse({"detail": detail}, 422)

    @app.exception_handler(400)  # FastAPI's answer if the parser fails without a position
    async def answer_unreadable(_: Request, error: Exception) -> JSONResponse:
        message = "the body is not valid JSON: it is not UTF-8, or nested too deeply; send a JSON object such as "
        return JSONResponse({"detail": message + EXAMPLE}, 422)

    @app.exception_handler(TranslatorError)
    async def answer_refused(_: Request, error: TranslatorError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    @app.exception_handler(Exception)
    async def answer_bug(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": PROBLEMS[500]}, 500)


def _message(mistake: dict[str, Any]) -> str:
    """Return what is wrong with a request, from one of pydantic's errors."""
    if mistake["type"] == "json_invalid":
        return f"the body is not valid JSON: {mistake['ctx']['error']}"
    # pydantic's path begins with `body`, which a client does not know; the rest is the key.
    key = ".".join(map(str, mistake["loc"][1:]))[:_LONGEST_KEY]
    message = str(mistake["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    if mistake["type"] == "extra_forbidden":
        message = "unknown key"
    elif not key and mistake["type"] != "value_error":
        message = f"send a JSON object such as {EXAMPLE}, as application/json"
    return f"{key}: {message}" if key else message
