"""The API of LibreTranslate, which many programs speak already: `/translate`, `/languages` and `/health`.

See https://docs.libretranslate.com; answers and errors have its form.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from urllib.parse import parse_qs

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response

from translator.config.corpus_section import Languages
from translator.errors import TranslatorError
from translator.inference.text.checks import checked_texts
from translator.serve.batcher import Form, LineTranslations
from translator.subword.source_text import is_mostly_in_script

Translate = Callable[[Sequence[str], Form, Request], Awaitable[Sequence[LineTranslations] | None]]
"""Returns the translations of each line, or None if the client has left; raises what the API answers."""
_FORM: Final = "application/x-www-form-urlencoded"


class _InvalidError(Exception):
    """A request that LibreTranslate would refuse."""


def add_libretranslate(app: FastAPI, translate: Translate, languages: Languages, most_translations: int) -> None:
    """Let `app` answer as a server of LibreTranslate with one pair of `languages` does."""
    source, target = languages

    @app.get("/languages", summary="LibreTranslate: the languages")
    async def read_languages() -> list[dict[str, Any]]:
        return [
            {"code": source.code, "name": source.name, "targets": [target.code]},
            {"code": target.code, "name": target.name, "targets": []},
        ]

    @app.get("/health", summary="LibreTranslate: whether the server is up")
    async def read_health() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/translate", summary="LibreTranslate: translate a text or a list of texts")
    async def translate_texts(request: Request) -> Response:
        try:
            values = await _values(request)
            texts, count = _checked(values, languages, most_translations)
            lines = [text.split("\n") for text in texts]  # each line is translated alone
            translations = await translate([line for text in lines for line in text], Form(count), request)
        except _InvalidError as error:
            return JSONResponse({"error": f"Invalid request: {error}"}, 400)
        except HTTPException as error:
            return JSONResponse({"error": error.detail}, error.status_code)
        except TranslatorError as error:
            return JSONResponse({"error": str(error)}, 400)
        if translations is None:
            return Response(status_code=499)  # nobody reads it

        # The best translation of each text, then the others.
        remaining = iter(translations)
        ranked = [_joined([next(remaining) for _ in text], count) for text in lines]
        is_list = isinstance(values["q"], list)
        answer: dict[str, Any] = {"translatedText": _one_or_all([texts[0] for texts in ranked], is_list)}
        if count > 1:
            answer["alternatives"] = _one_or_all([texts[1:] for texts in ranked], is_list)
        if values.get("source") == "auto":
            detected = [_detected(text, languages) for text in texts]
            answer["detectedLanguage"] = _one_or_all(detected, is_list)
        return JSONResponse(answer)


async def _values(request: Request) -> dict[str, Any]:
    """Return the parameters of a request, from JSON or a form."""
    body = await request.body()
    if request.headers.get("content-type", "").partition(";")[0].strip() == _FORM:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        return {name: texts[0] if len(texts) == 1 else texts for name, texts in fields.items()}
    try:
        values = json.loads(body)
    except ValueError as error:
        raise _InvalidError(f"the body is neither JSON nor a form ({error})") from error
    if not isinstance(values, dict):
        raise _InvalidError("the body is no JSON object")
    return values


def _checked(values: dict[str, Any], languages: Languages, most_translations: int) -> tuple[list[str], int]:
    """Return the texts of a request, and how many translations it asks for."""
    for name in ("q", "source", "target"):
        if not values.get(name):
            raise _InvalidError(f"missing {name} parameter")
    source, target = languages
    if values["source"] not in (source.code, "auto") or values["target"] != target.code:
        raise _InvalidError(
            f"{values['source']} to {values['target']} is not supported, only {source.code} to {target.code}"
        )
    if values.get("format", "text") != "text":
        raise _InvalidError(f"format {values['format']} is not supported, only text")
    alternatives = values.get("alternatives", 0)
    if not str(alternatives).isdecimal():
        raise _InvalidError("alternatives must be a whole number")
    texts = values["q"] if isinstance(values["q"], list) else [values["q"]]
    return checked_texts(texts, "q"), min(1 + int(alternatives), most_translations)


def _joined(translations: Sequence[LineTranslations], count: int) -> list[str]:
    """Return up to `count` translations of a text from those of its lines; a line with fewer repeats its last."""
    length = min(count, max(map(len, translations)))
    texts = []
    for rank in range(length):
        texts.append("\n".join(line[min(rank, len(line) - 1)].text for line in translations))
    return texts


def _one_or_all(answers: list[Any], is_list: bool) -> Any:
    """Return the answers of a list of texts, or the answer of a single text."""
    return answers if is_list else answers[0]


def _detected(text: str, languages: Languages) -> dict[str, Any]:
    """Return the language of a text by its script."""
    source, target = languages
    is_source = is_mostly_in_script(text, source.script)
    return {"language": source.code if is_source else target.code, "confidence": 100.0}
