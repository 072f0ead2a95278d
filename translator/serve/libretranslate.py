"""The API of LibreTranslate, which many programs speak already: `/translate`, `/languages` and `/health`.

See https://docs.libretranslate.com; answers and errors have its form.
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, islice
from typing import Annotated, Any, Final, Literal

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException

from translator.config.corpus_section import Languages
from translator.corpus.reading.languages import language_of
from translator.errors import InputError, TranslatorError
from translator.inference.text.checks import checked_texts
from translator.serve.batcher import LineOptions, LineTranslations

Translate = Callable[[Sequence[str], LineOptions, Request], Awaitable[Sequence[LineTranslations]]]
"""Returns the translations of each line; the API answers its errors."""
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")


class _TranslateRequest(BaseModel):
    """Parameters of a request; others, such as `api_key`, do not matter."""

    q: str | list[str]
    source: str
    target: str
    format: Literal["text"] = "text"
    alternatives: Annotated[int, Field(ge=0)] = 0


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
        # 1. Translate each line of the texts alone. Problems are answered in the form of LibreTranslate.
        try:
            parameters = await _read(request)
            texts = _checked_texts(parameters, languages)
            count = min(1 + parameters.alternatives, most_translations)
            lines_of_texts = [text.split("\n") for text in texts]
            lines = list(chain.from_iterable(lines_of_texts))
            translations = await translate(lines, LineOptions(count), request)
        except ValidationError as error:
            mistake = error.errors()[0]
            place = mistake["loc"]  # begins with the parameter; empty if the body is no JSON object
            key = f"{place[0]}: " if place else ""
            return JSONResponse({"error": f"Invalid request: {key}{mistake['msg']}"}, 400)
        except HTTPException as error:
            return JSONResponse({"error": error.detail}, error.status_code)
        except TranslatorError as error:
            return JSONResponse({"error": str(error)}, 400)

        # 2. Join the lines of each text: its best translation, then the others.
        remaining = iter(translations)
        ranked_translations = []  # of each text
        for text_lines in lines_of_texts:
            ranked_translations.append(_joined(list(islice(remaining, len(text_lines))), count))

        # 3. Answer with a list for each key; a request of one text gets the items alone.
        answers: dict[str, list[Any]] = {"translatedText": [ranked[0] for ranked in ranked_translations]}
        if count > 1:
            answers["alternatives"] = [ranked[1:] for ranked in ranked_translations]
        if parameters.source == "auto":  # it is the language of the model
            answers["detectedLanguage"] = [{"language": source.code, "confidence": 100.0}] * len(texts)
        if isinstance(parameters.q, list):
            return JSONResponse(answers)
        return JSONResponse({key: values[0] for key, values in answers.items()})


async def _read(request: Request) -> _TranslateRequest:
    """Return the parameters of a request, from JSON or a form; raise ValidationError."""
    if not request.headers.get("content-type", "").startswith(_FORMS):
        return _TranslateRequest.model_validate_json(await request.body())
    form = await request.form()
    values: dict[str, Any] = dict(form)
    if len(form.getlist("q")) > 1:  # a list of texts; `dict` has its last one only
        values["q"] = form.getlist("q")
    return _TranslateRequest.model_validate(values)


def _checked_texts(parameters: _TranslateRequest, languages: Languages) -> list[str]:
    """Return the texts of a request; raise InputError for other languages."""
    source, target = languages
    is_source = parameters.source == "auto" or language_of(parameters.source) == source.code
    if not is_source or language_of(parameters.target) != target.code:
        raise InputError(
            f"{parameters.source} to {parameters.target} is not supported, only {source.code} to {target.code}"
        )
    return checked_texts(parameters.q if isinstance(parameters.q, list) else [parameters.q], "q")


def _joined(translations: Sequence[LineTranslations], count: int) -> list[str]:
    """Return up to `count` translations of a text from those of its lines; a line with fewer repeats its last."""
    rank_count = min(count, max(map(len, translations)))
    texts = []
    for rank in range(rank_count):
        texts.append("\n".join(line[min(rank, len(line) - 1)].text for line in translations))
    return texts
