"""The web application: the page, the JSON API, and the server that listens until a signal arrives."""

import asyncio
import contextlib
import ipaddress
import math
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from importlib.metadata import version
from platform import python_version
from typing import Annotated, Any, Final, Self

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.middleware.trustedhost import TrustedHostMiddleware

from translator import __version__
from translator.config.corpus_section import Languages
from translator.errors import InputError, TranslatorError
from translator.inference.alignment import word_weights
from translator.inference.input_texts import checked_texts
from translator.inference.translation import Translation
from translator.inference.translator import Translator
from translator.run.pages import page_script, render_page
from translator.run.signals import StopRequest
from translator.serve import RECEIVING_SECONDS, Limits
from translator.serve.batcher import Batcher, BusyError, Form
from translator.serve.receiving import BodyReceiver, TimedProtocol

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page: only its own files; no inline scripts, other sites or frames."""
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1", "[::1]")
EXAMPLE: Final = '{"text": "The door is open."}'
_ANSWER: Final = (
    "`lines`, in order, each with `line` (its number), `source` and `translations`, best first: text, score, "
    "normalized_score, tokens, pieces, finished; if `attention` is true, also alignment and attention"
)
_PROBLEMS: Final = {
    400: "the host name of the request is unknown (plain text)",
    408: "the request did not arrive in time",
    413: "the text, or the whole request, is too long",
    422: "the request is invalid, or asks for something that this model does not support",
    500: "internal server error; see the log of the server",
    503: "too many requests are waiting; try again after `Retry-After` seconds",
    504: "the translation took too long and was cancelled",
}


class TranslateRequest(BaseModel):
    """Body of a translation request."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: Annotated[str | None, Field(description="text; each line is translated separately")] = None
    lines: Annotated[list[str] | None, Field(description="lines, in place of `text`")] = None
    count: Annotated[int, Field(ge=1, description="translations of each line, best first")] = 1
    attention: Annotated[bool, Field(description="also return attention maps and word alignment")] = False

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.lines is None):
            raise ValueError("give either `text` or `lines`")
        return self

    def texts(self) -> list[str]:
        """Return what is to be translated, line by line; raise InputError where a line cannot be encoded."""
        split = [line.removesuffix("\r") for line in (self.text or "").split("\n")]
        return checked_texts(split if self.lines is None else self.lines, "lines")


def make_app(translator: Translator, limits: Limits, hosts: Iterable[str] = ()) -> FastAPI:
    """Return the application that serves `translator`.

    `hosts` are the allowed `Host` headers, which protects from DNS rebinding; an empty list allows all.
    """
    batcher = Batcher(translator, limits.waiting)
    model = {
        "name": translator.label,
        "languages": [language.code for language in translator.normalizer.languages],
        "checkpoint": translator.checkpoint_name,
        "engine": translator.searcher.name,
        "search": translator.search.model_dump(mode="json"),
        "attention": translator.searcher.gives_attention,
        "limits": asdict(limits) | {"translations": limits.most_translations(translator.search), "bytes": limits.bytes},
        "versions": {"translator": __version__, "python": python_version(), "torch": version("torch")},
    }

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with batcher.running():
            yield

    # FastAPI's documentation pages load scripts from other sites.
    pages: dict[str, Any] = {"docs_url": None, "redoc_url": None, "openapi_url": "/api/openapi.json"}
    source, target = translator.normalizer.languages
    summary = f"Translates {source.name} into {target.name}"
    app = FastAPI(title="translator", version=__version__, summary=summary, lifespan=lifespan, **pages)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts) or ["*"], www_redirect=False)
    app.add_middleware(BodyReceiver, most_bytes=limits.bytes, seconds=RECEIVING_SECONDS)  # before the other one
    _add_page(app, model, translator.normalizer.languages)
    _say_problems(app)

    @app.get("/api/health", summary="Status of the server and number of waiting requests")
    async def read_health() -> dict[str, str | int]:
        return {"status": "ok", "waiting": batcher.unanswered}

    @app.get("/api/model", summary="The model, its search settings, and the limits of a request")
    async def read_model() -> dict[str, Any]:
        return model

    problems: dict[int | str, Any] = {code: {"description": words} for code, words in _PROBLEMS.items()}

    @app.post("/api/translate", summary="Translate lines", response_description=_ANSWER, responses=problems)
    async def translate(asked: TranslateRequest, request: Request) -> Response:
        lines = asked.texts()
        _check_limits(model, lines, asked)
        work = asyncio.ensure_future(batcher.translate(lines, Form(asked.count, asked.attention)))
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait({work, gone}, timeout=limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                if gone.done():
                    return Response(status_code=499)  # the client has disconnected
                raise HTTPException(
                    504, f"the translation took longer than {limits.seconds:g} seconds and was cancelled; send less"
                )
            found = work.result()
        except BusyError:
            raise HTTPException(503, "too many requests are waiting; try again soon", {"Retry-After": "2"}) from None
        finally:
            work.cancel()
            gone.cancel()
        translated = [
            {"line": number, "source": line, "translations": [_record(one) for one in of_line]}
            for number, (line, of_line) in enumerate(zip(lines, found, strict=True), 1)
        ]
        return JSONResponse({"lines": translated})

    return app


def _add_page(app: FastAPI, model: dict[str, Any], languages: Languages) -> None:
    files = {
        "/": (render_page("serve.html.j2", model=model, source=languages[0], target=languages[1]), "text/html"),
        "/style.css": (render_page("serve.css.j2"), "text/css"),
        "/script.js": (str(page_script("serve.js").text), "text/javascript"),
        "/icon.svg": (render_page("serve_icon.svg.j2"), "image/svg+xml"),
    }
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": POLICY}

    async def read_file(request: Request) -> Response:
        text, media_type = files[request.url.path]
        return Response(text, media_type=media_type, headers=headers)

    for path in files:
        app.add_api_route(path, read_file, include_in_schema=False)


def _say_problems(app: FastAPI) -> None:

    @app.exception_handler(RequestValidationError)
    async def unclear(_: Request, error: RequestValidationError) -> JSONResponse:
        said = [_words(one).encode("utf-8", "replace").decode() for one in error.errors()[:5]]
        return JSONResponse({"detail": "; ".join(said)}, 422)

    @app.exception_handler(400)  # FastAPI's answer if the parser fails without a position
    async def unreadable(_: Request, error: Exception) -> JSONResponse:
        words = "the body is not valid JSON: it is not UTF-8, or nested too deeply; send a JSON object such as "
        return JSONResponse({"detail": words + EXAMPLE}, 422)

    @app.exception_handler(TranslatorError)
    async def refused(_: Request, error: TranslatorError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": "internal server error; see the log of the server"}, 500)


def _words(error: dict[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return f"the body is not valid JSON: {error['ctx']['error']}"
    where = ".".join(map(str, error["loc"][1:]))[:100]
    words = str(error["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    if error["type"] == "extra_forbidden":
        words = "unknown key"
    elif not where and error["type"] != "value_error":
        words = f"send a JSON object such as {EXAMPLE}, as application/json"
    return f"{where}: {words}" if where else words


def _check_limits(model: dict[str, Any], lines: list[str], asked: TranslateRequest) -> None:
    for count, what in ((sum(map(len, lines)), "characters"), (len(lines), "lines")):
        if count > (limit := model["limits"][what]):
            raise HTTPException(413, f"the text has {count} {what}, but the limit is {limit}; send it in parts")
    if asked.count > (most := model["limits"]["translations"]):
        raise InputError(
            f"{asked.count} translations of a line are requested, but the limit of this server with "
            f"{model['search']['method']} search is {most}"
        )
    if asked.attention and not model["attention"]:
        raise InputError(f"the {model['engine']} engine does not provide attention")


def _record(translation: Translation) -> dict[str, Any]:
    """Return a translation for JSON; with attention, its alignment also has `weights` (see `word_weights`)."""
    record = translation.to_json()
    if translation.attention is not None:
        record["alignment"]["weights"] = word_weights(translation.attention)
    return record


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


@contextlib.contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket that listens on an address (port 0: a free one); raise InputError if it is not available."""
    try:
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
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(app: FastAPI, bound: socket.socket, stop: StopRequest, patience: float, ready: Callable[[], None]) -> None:
    """Call `ready`, serve until a signal arrives, then answer pending requests and raise Interrupted.

    Unanswered requests get `patience` seconds after the signal; a second signal ends the process immediately.
    """
    quiet: dict[str, Any] = {"log_config": None, "log_level": "warning", "access_log": False, "server_header": False}
    patience = math.ceil(patience)
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=TimedProtocol,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=patience,
        **quiet,
    )
    server = uvicorn.Server(config)
    with stop.deferred(), ThreadPoolExecutor(1, "server") as thread:  # in a thread, uvicorn installs no signal handlers
        work = thread.submit(server.run, [bound])
        try:
            while not work.done() and not server.started:
                wait([work], 0.1)
            if server.started:
                ready()
            while not work.done() and not stop.requested:
                wait([work], 0.1)
        finally:
            server.should_exit = True
        work.result()
    stop.check()
