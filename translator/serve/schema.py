"""What the API takes and gives; OpenAPI is made from it."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class TranslateRequest(BaseModel):
    """English text, and what is wanted of its translations."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: Annotated[str | None, Field(description="English; each line is translated by itself")] = None
    lines: Annotated[list[str] | None, Field(description="English lines, in place of `text`")] = None
    count: Annotated[int, Field(ge=1, description="translations of each line, best first")] = 1
    attention: Annotated[
        bool, Field(description="also say where the model looked, and which words belong together")
    ] = False

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.lines is None):
            raise ValueError("give either `text` or `lines`")
        try:
            "".join(self.texts()).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("the text has half of a character (a lone surrogate)") from None
        return self

    def texts(self) -> list[str]:
        """Return what is to be translated, line by line."""
        if self.lines is not None:
            return self.lines
        return [line.removesuffix("\r") for line in (self.text or "").split("\n")]


class Alignment(BaseModel):
    """Which words belong together."""

    source: Annotated[list[str], Field(description="words of the source, as the model reads it")]
    target: Annotated[list[str], Field(description="words of the translation")]
    pairs: Annotated[list[tuple[int, int]], Field(description="source word and target word, from 0")]
    weights: Annotated[
        list[list[tuple[int, float]]],
        Field(description="for each target word the source words that it looked at, each with its share of attention"),
    ]


class AttentionMap(BaseModel):
    """Where the model looked, piece by piece."""

    source: list[str]
    target: list[str]
    weights: Annotated[list[list[float]], Field(description="a row for each target piece, which sums to 1")]


class Translation(BaseModel):
    """One translation of a line."""

    text: str
    score: Annotated[float | None, Field(description="sum of the log-probabilities of its tokens")]
    normalized_score: Annotated[float | None, Field(description="the score over the length penalty")]
    tokens: Annotated[int, Field(description="of the translation, its end included")]
    pieces: Annotated[int, Field(description="parts that the line was cut into because it was too long; 0 if empty")]
    finished: Annotated[bool, Field(description="false where it was stopped at its longest length")]
    alignment: Alignment | None = None
    attention: Annotated[list[AttentionMap] | None, Field(description="one for each part of the line")] = None


class TranslatedLine(BaseModel):
    """A line and its translations."""

    line: Annotated[int, Field(description="its number, from 1")]
    source: str
    translations: Annotated[list[Translation], Field(description="best first")]


class TranslateAnswer(BaseModel):
    """As many lines as were asked for, in their order."""

    lines: list[TranslatedLine]


class Health(BaseModel):
    """Whether the server translates."""

    status: str
    waiting: Annotated[int, Field(description="requests that are not answered yet")]


class ServedLimits(BaseModel):
    """How much a request may ask for."""

    characters: int
    lines: int
    translations: Annotated[int, Field(description="of a line")]
    seconds: float


class Model(BaseModel):
    """What translates."""

    name: str
    checkpoint: str
    engine: str
    search: dict[str, Any]
    attention: Annotated[bool, Field(description="whether the engine tells where its model looks")]
    limits: ServedLimits
    versions: dict[str, str | None]


class Problem(BaseModel):
    """What went wrong."""

    detail: str
