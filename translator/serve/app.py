"""The web application: the page and the JSON API."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final, Self

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.middleware.trustedhost import TrustedHostMiddleware

from translator import __version__
from translator.config.corpus_section import Languages
from translator.errors import InputError
from translator.inference.files.paragraphs import joined_paragraphs
from translator.inference.text.checks import checked_texts
from translator.inference.translator import Translator
from translator.run.pages import page_script, render_page
from translator.serve import Limits, most_translations
from translator.serve.batcher import Batcher, LineOptions, LineTranslations
from translator.serve.libretranslate import add_libretranslate
from translator.serve.problems import PROBLEMS, BodyLimit, answer_problems
from translator.serve.request_log import RequestLog

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page: only its own files; no inline scripts, other sites or frames."""
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1", "[::1]")
_ANSWER: Final = (
    "`lines`, in order, each with `line` (its number), `source` and `translations`, best first: text, score, "
    "normalized_score, tokens, pieces, finished, and confidence if the run has one; if `attention` is true, also "
    "alignment and attention"
)


class TranslateRequest(BaseModel):
    """Body of a translation request."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: Annotated[str | None, Field(description="text; each line is translated separately")] = None
    lines: Annotated[list[str] | None, Field(description="lines, in place of `text`")] = None
    count: Annotated[int, Field(ge=1, description="translations of each line, best first")] = 1
    attention: Annotated[bool, Field(description="also return attention maps and word alignment")] = False

    paragraphs: Annotated[bool, Field(description="join lines that were wrapped at a column")] = False
    glossary: Annotated[dict[str, str], Field(description="terms, and the translations that they must have")] = {}

    @model_validator(mode="after")
    def _text_or_lines(self) -> Self:
        if (self.text is None) == (self.lines is None):
            raise ValueError("give either `text` or `lines`")
        return self

    def texts(self) -> list[str]:
        """Return what is to be translated, line by line; raise InputError where a line cannot be encoded."""
        lines = self.lines
        if lines is None:
            lines = [line.removesuffix("\r") for line in (self.text or "").split("\n")]
        lines = checked_texts(lines, "lines")
        if not self.paragraphs:
            return lines
        return [text for text in joined_paragraphs(lines) if text is not None]

    def terms(self) -> tuple[tuple[str, str], ...]:
        """Return the glossary; raise InputError where a term or its translation is blank."""
        if not all(term.strip() and translation.strip() for term, translation in self.glossary.items()):
            raise InputError("a term of the glossary, or its translation, is blank")
        return tuple(sorted(self.glossary.items()))


def make_app(translator: Translator, limits: Limits, hosts: Iterable[str] = ()) -> FastAPI:
    """Return the application that serves `translator`.

    Args:
        limits: what a request may ask for, and how long it may take.
        hosts: the allowed `Host` headers, which protects from DNS rebinding; an empty list allows all.
    """
    # 1. The application, and what each request passes through: allowed hosts, the size of the body, the log.
    batcher = Batcher(translator)
    description = _model_description(translator, limits)
    source, target = translator.normalizer.languages
    app = FastAPI(
        title="translator",
        version=__version__,
        summary=f"Translates {source.name} into {target.name}",
        lifespan=lambda _: batcher.running(),
        # FastAPI's documentation pages load scripts from other sites.
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts) or ["*"], www_redirect=False)
    app.add_middleware(BodyLimit, most_bytes=limits.bytes)
    app.add_middleware(RequestLog)
    answer_problems(app)

    # 2. The page, and what it and other clients ask.
    _add_page(app, description, translator.normalizer.languages)

    @app.head("/api/health", include_in_schema=False)  # as monitors ask
    @app.get("/api/health", summary="Status of the server and number of waiting requests")
    async def read_health() -> dict[str, str | int]:
        return {"status": "ok", "waiting": batcher.unanswered}

    @app.get("/api/model", summary="The model, its search settings, and the limits of a request")
    async def read_model() -> dict[str, Any]:
        return description

    # 3. Translations, by our own API and by that of LibreTranslate.
    problems: dict[int | str, Any] = {code: {"description": text} for code, text in PROBLEMS.items()}

    @app.post("/api/translate", summary="Translate lines", response_description=_ANSWER, responses=problems)
    async def translate(body: TranslateRequest, request: Request) -> Response:
        lines = body.texts()
        translations = await translated(lines, LineOptions(body.count, body.attention, body.terms()), request)
        records = []
        for number, (line, line_translations) in enumerate(zip(lines, translations, strict=True), start=1):
            records.append(_line_record(number, line, line_translations))
        return JSONResponse({"lines": records})

    async def translated(lines: Sequence[str], options: LineOptions, request: Request) -> list[LineTranslations]:
        """Return the translations of each line; each API answers the errors in its own form."""
        request.scope["lines"] = len(lines)  # for the log
        _check_limits(description, lines, options)
        return await _while_connected(batcher.translate(lines, options), request, limits.seconds)

    largest_count = description["limits"]["translations"]
    add_libretranslate(app, translated, translator.normalizer.languages, largest_count)
    return app


def _model_description(translator: Translator, limits: Limits) -> dict[str, Any]:
    """Return what the page and `/api/model` say of the model; its limits also have that of the translations."""
    return {
        "name": translator.label,
        "languages": [language.code for language in translator.normalizer.languages],
        "checkpoint": translator.checkpoint_name,
        "engine": translator.searcher.name,
        "search": translator.search.model_dump(mode="json"),
        "attention": translator.searcher.gives_attention,
        "confidence": translator.confidence is not None,
        "placeholders": len(translator.subword.source.placeholders),
        "limits": {
            **asdict(limits),
            "bytes": limits.bytes,
            "translations": most_translations(translator.search),
        },
    }


def _add_page(app: FastAPI, description: dict[str, Any], languages: Languages) -> None:
    """Let `app` serve the page and its files; the content policy lets the page load nothing else."""
    # All files are rendered once, at the start: they are the same for every client. Their addresses inside the page are
    # relative, so that a proxy may serve the page below any path.
    files = {
        "/": (render_page("serve.html.j2", model=description, source=languages[0], target=languages[1]), "text/html"),
        "/style.css": (render_page("serve.css.j2"), "text/css"),
        "/script.js": (str(page_script("serve.js")), "text/javascript"),
        "/icon.svg": (render_page("serve_icon.svg.j2"), "image/svg+xml"),
    }
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": POLICY}

    async def read_file(request: Request) -> Response:
        text, media_type = files[request.url.path]
        return Response(text, media_type=media_type, headers=headers)

    for path in files:
        app.add_api_route(path, read_file, methods=["GET", "HEAD"], include_in_schema=False)


def _check_limits(description: dict[str, Any], lines: Sequence[str], options: LineOptions) -> None:
    """Raise HTTPException or InputError if a request exceeds a limit of the server or of the engine."""
    # 1. The limits of the server.
    sizes = {"characters": sum(map(len, lines)), "lines": len(lines)}
    for name, size in sizes.items():
        limit = description["limits"][name]
        if size > limit:
            raise HTTPException(413, f"the text has {size} {name}, but the limit is {limit}; send it in parts")
    largest_count = description["limits"]["translations"]
    if options.translations > largest_count:
        raise InputError(
            f"{options.translations} translations of a line are requested, but the limit of this server with "
            f"{description['search']['method']} search is {largest_count}"
        )
    # 2. What the model can do.
    if options.terms and not description["placeholders"]:
        raise InputError("this model has no placeholders for terms, so it takes no glossary")


async def _while_connected(
    translating: Awaitable[list[LineTranslations]], request: Request, seconds: float
) -> list[LineTranslations]:
    """Return the translations; raise HTTPException after `seconds`, or if the client disconnects."""
    # Wait for the first of three: the translations, the end of the connection, the end of the time.
    work = asyncio.ensure_future(translating)
    disconnected = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({work, disconnected}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        if disconnected.done():
            raise HTTPException(499, "the client has left")  # nobody reads it
        raise HTTPException(504, f"the translation took longer than {seconds:g} seconds and was cancelled; send less")
    finally:
        # A cancelled translation leaves the queue, so that its work does not delay others.
        work.cancel()
        disconnected.cancel()


async def _disconnected(request: Request) -> None:
    """Return as soon as the client closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _line_record(number: int, line: str, translations: LineTranslations) -> dict[str, Any]:
    """Return the answer for a line, for JSON; alignments also have their shares, as `weights`."""
    records = []
    for translation in translations:
        record = translation.to_json()
        if translation.alignment is not None:
            record["alignment"]["weights"] = translation.alignment.shares
        records.append(record)
    return {"line": number, "source": line, "translations": records}
