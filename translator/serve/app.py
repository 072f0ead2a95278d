"""The application: its routes, and what stands before them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp

from translator import __version__
from translator.errors import TranslatorError
from translator.inference import Translator
from translator.serve.batcher import Batcher, BusyError
from translator.serve.body import BoundedBody
from translator.serve.description import describe
from translator.serve.headers import SecureHeaders
from translator.serve.hosts import AllowedHosts
from translator.serve.job import Form, Found
from translator.serve.limits import Limits
from translator.serve.page import icon, page, script, style
from translator.serve.schema import Health, Model, Problem, TranslateAnswer, TranslateRequest

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        408: "the request comes too slowly",
        413: "the text is too long",
        422: "the request cannot be understood, or asks for what this model does not have",
        503: "too many requests wait; try again after `Retry-After` seconds",
        504: "the translation took too long and was dropped",
    }.items()
}
_NO_OBJECT = ("missing", "model_attributes_type", "model_type", "dict_type")
"""What pydantic says of a body that is none, or no object, or sent as something else."""
_CLIENT_GONE = 499
"""What nobody reads."""


def make_app(translator: Translator, limits: Limits, hosts: Iterable[str] = ()) -> ASGIApp:
    """Return the application that serves `translator`.

    Args:
        translator: translates, in one thread.
        limits: of requests.
        hosts: names by which people reach this machine, besides `localhost` and its addresses.
    """
    batcher = Batcher(translator, limits.waiting)
    model = describe(translator, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with batcher.running():
            yield

    # The pages that FastAPI has for its documentation load their scripts from elsewhere.
    app = FastAPI(
        title="translator",
        version=__version__,
        summary="Translates English into Persian",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    _add_files(app, model)
    _add_api(app, batcher, model)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(Exception, _broken)
    bounded = BoundedBody(app, limits.body, limits.seconds)
    return SecureHeaders(AllowedHosts(bounded, hosts))


def _add_files(app: FastAPI, model: Model) -> None:
    """Serve the page and what it names."""
    html = page(model)

    @app.get("/", include_in_schema=False)
    async def read_page() -> HTMLResponse:
        return HTMLResponse(html)

    def add(path: str, text: str, media_type: str) -> None:
        async def read_file() -> Response:
            return Response(text, media_type=media_type)

        app.add_api_route(path, read_file, include_in_schema=False)

    add("/style.css", style(), "text/css")
    add("/script.js", script(), "text/javascript")
    add("/icon.svg", icon(), "image/svg+xml")


def _add_api(app: FastAPI, batcher: Batcher, model: Model) -> None:
    """Serve the JSON API."""

    @app.get("/api/health", summary="Whether the server translates")
    async def read_health() -> Health:
        return Health(status="ok", waiting=batcher.unanswered)

    @app.get("/api/model", summary="What translates, and how much it takes in")
    async def read_model() -> Model:
        return model

    @app.post("/api/translate", summary="Translate English lines", response_model=TranslateAnswer, responses=_PROBLEMS)
    async def translate(asked: TranslateRequest, request: Request) -> Response:
        lines = asked.texts()
        _check(model, lines, asked)
        work = asyncio.ensure_future(batcher.translate(lines, Form(asked.count, asked.attention)))
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait({work, gone}, timeout=model.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return _answer(lines, work.result)
            if gone.done():
                return Response(status_code=_CLIENT_GONE)
            raise HTTPException(
                504, f"the translation took longer than {model.limits.seconds:g} seconds and was dropped; send less"
            )
        finally:
            work.cancel()
            gone.cancel()


def _check(model: Model, lines: Sequence[str], asked: TranslateRequest) -> None:
    """Refuse more than the limits.

    Raises:
        HTTPException: it is more.
    """
    limits = model.limits
    characters = sum(map(len, lines))
    if characters > limits.characters:
        raise HTTPException(
            413, f"the text has {characters} characters, and the limit is {limits.characters}; send it in parts"
        )
    if len(lines) > limits.lines:
        raise HTTPException(413, f"the text has {len(lines)} lines, and the limit is {limits.lines}; send it in parts")
    if asked.count > limits.translations:
        raise HTTPException(
            422,
            f"{asked.count} translations of a line are asked for, and the most that this server gives with its "
            f"{model.search['method']} search are {limits.translations}",
        )
    if asked.attention and not model.attention:
        raise HTTPException(422, f"the engine {model.engine} does not tell where its model looks")


def _answer(lines: Sequence[str], result: Callable[[], list[Found]]) -> JSONResponse:
    """Return the answer, or what is wrong.

    Raises:
        HTTPException: too many requests wait, or the translator refuses the text.
    """
    try:
        found = result()
    except BusyError:
        raise HTTPException(503, "too many requests wait; try again in a moment", {"Retry-After": "2"}) from None
    except TranslatorError as error:
        raise HTTPException(422, str(error)) from error
    numbered = enumerate(zip(lines, found, strict=True), 1)
    return JSONResponse(
        {"lines": [{"line": number, "source": line, "translations": of} for number, (line, of) in numbered]}
    )


async def _disconnected(request: Request) -> None:
    """Wait until the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _misunderstood(_: Request, error: Exception) -> JSONResponse:
    """Say in words what is wrong with a request."""
    assert isinstance(error, RequestValidationError)
    said = []
    for one in error.errors()[:5]:
        if one["type"] == "json_invalid":
            said.append(f"the body is no JSON ({one['ctx']['error']}, at character {one['loc'][-1]})")
            continue
        if one["loc"] == ("body",) and one["type"] in _NO_OBJECT:
            said.append('send a JSON object such as {"text": "The door is open."}, as Content-Type: application/json')
            continue
        where = ".".join(str(part) for part in one["loc"][1:])[:100]
        message = one["msg"].removeprefix("Value error, ")
        said.append(f"{where}: {message}" if where else message)
    # A key of the request may stand in it, which may be no text.
    return JSONResponse({"detail": "; ".join(said).encode("utf-8", "replace").decode("utf-8")}, 422)


async def _broken(_: Request, error: Exception) -> JSONResponse:
    """Say that it is not the client's fault; the server's log has the traceback."""
    return JSONResponse({"detail": "the server made a mistake, which its log tells of"}, 500)
