"""One test set as one system translated it, with all that is known of each sentence; kept, so as to be looked at later.

The file is JSON lines: the first says what was translated by what and how it scored, and each other one is a sentence.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from translator.errors import InputError
from translator.evaluation.metrics import Score
from translator.storage import storage_errors, write_bytes

if TYPE_CHECKING:
    from translator.inference.translation import Translation

ENDING: Final = ".sentences.jsonl"
"""What the names of these files end with."""
VERSION: Final = 1
"""Raised when the file's form changes."""


@dataclass(frozen=True, kw_only=True)
class ScoredSet:
    """One test set as one system translated it."""

    test_set: str
    """Its name."""
    system: str
    """The run, or the runs joined by +."""
    checkpoint: str
    """Which of the run's, for example step-001250."""
    search: str
    """The label of the search settings, for example beam-5."""
    sources: tuple[str, ...]
    """The English sentences, as read."""
    references: tuple[tuple[str, ...], ...]
    """For each sentence one or more, as read; every sentence has the same number of them."""
    hypotheses: tuple[str, ...]
    """What the system made of each sentence."""
    origins: tuple[str, ...]
    """Which source of the corpus each sentence comes from, or the name of the test set."""
    scores: tuple[Score, ...]
    """BLEU 13a on raw text comes first."""
    hypothesis_scores: "tuple[Translation, ...] | None" = None
    """What the model itself thinks of each hypothesis; None where nobody has asked."""
    reference_scores: "tuple[Translation, ...] | None" = None
    """What it thinks of the first reference of each sentence (teacher forcing), its text as the model sees it; finished
    where a search might have gone so far. None where nobody has asked."""
    rare_shares: tuple[float, ...]
    """The share of each source's words that are rare in the training text, 0 to 1; empty where that is not known."""

    @property
    def name(self) -> str:
        """How the set and what translated it are named in files."""
        return f"{self.test_set}.{self.checkpoint}.{self.search}"

    def score(self, metric: str, normalization: str = "raw") -> Score | None:
        """Return the score of this metric on this variant of the text, if it was computed."""
        found = (one for one in self.scores if (one.metric, one.normalization) == (metric, normalization))
        return next(found, None)


def write_scored_set(folder: Path, scored: ScoredSet) -> Path:
    """Save `scored` in `folder` under its name, and return the file.

    Raises:
        StorageError: the file cannot be written.
    """
    head = {
        "version": VERSION,
        "test_set": scored.test_set,
        "system": scored.system,
        "checkpoint": scored.checkpoint,
        "search": scored.search,
        "sentences": len(scored.sources),
        "scores": [score.to_json() for score in scored.scores],
    }
    rows = [head]
    for number, source in enumerate(scored.sources):
        row: dict[str, Any] = {
            "source": source,
            "references": scored.references[number],
            "hypothesis": scored.hypotheses[number],
            "origin": scored.origins[number],
        }
        if scored.hypothesis_scores is not None:
            row["hypothesis_score"] = _score_to_json(scored.hypothesis_scores[number], row["hypothesis"])
        if scored.reference_scores is not None:
            row["reference_score"] = _score_to_json(scored.reference_scores[number], row["references"][0])
        if scored.rare_shares:
            row["rare_share"] = scored.rare_shares[number]
        rows.append(row)
    path = folder / f"{scored.name}{ENDING}"
    write_bytes(path, b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows))
    return path


def read_scored_set(path: Path) -> ScoredSet:
    """Return what `write_scored_set` saved.

    Raises:
        InputError: the file is not one of these, or it is damaged.
        StorageError: it cannot be read.
    """
    with storage_errors(path, "read"):
        lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    number = 1
    try:
        head = _Head.model_validate_json(lines[0])
        rows: list[_Row] = []
        for line in lines[1:]:
            number += 1
            rows.append(_Row.model_validate_json(line))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _damaged(path, f"line {number:,}: {where + ': ' if where else ''}{first['msg']}") from error
    if len(rows) != head.sentences or not rows:
        raise _damaged(path, f"it has {len(rows):,} sentences, {head.sentences:,} were written")
    if len({len(row.references) for row in rows}) > 1:
        raise _damaged(path, "its sentences have unlike numbers of references")
    rare = [row.rare_share for row in rows if row.rare_share is not None]
    if rare and len(rare) != len(rows):
        raise _damaged(path, "some of its sentences lack their share of rare words")
    references = tuple(tuple(row.references) for row in rows)
    return ScoredSet(
        test_set=head.test_set,
        system=head.system,
        checkpoint=head.checkpoint,
        search=head.search,
        sources=tuple(row.source for row in rows),
        references=references,
        hypotheses=tuple(row.hypothesis for row in rows),
        origins=tuple(row.origin for row in rows),
        scores=tuple(head.scores),
        hypothesis_scores=_translations([row.hypothesis for row in rows], [row.hypothesis_score for row in rows], path),
        reference_scores=_translations([texts[0] for texts in references], [row.reference_score for row in rows], path),
        rare_shares=tuple(rare),
    )


class _Head(BaseModel):
    """The first line."""

    model_config = ConfigDict(strict=True)

    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    test_set: str
    system: str
    checkpoint: str
    search: str
    sentences: int
    scores: list[Score]


class _ModelScore(BaseModel):
    """What of a `Translation` the sentence does not say already."""

    model_config = ConfigDict(strict=True)

    score: float | None
    """None stands for minus infinity, which JSON does not know: the pair was too long for the model."""
    normalized_score: float | None
    tokens: int
    pieces: int
    finished: bool
    text: str | None = None
    """As the model sees it; None where that is as the sentence says."""


class _Row(BaseModel):
    """One sentence."""

    model_config = ConfigDict(strict=True)

    source: str
    references: Annotated[list[str], Field(min_length=1)]
    hypothesis: str
    origin: str
    hypothesis_score: _ModelScore | None = None
    reference_score: _ModelScore | None = None
    rare_share: float | None = None


def _score_to_json(translation: "Translation", text: str) -> dict[str, Any]:
    """Return the record of `translation`, whose row has `text`."""
    from translator.inference.translation import finite  # it brings torch, as whoever has a translation has done

    record = {
        "score": finite(translation.score),
        "normalized_score": finite(translation.normalized_score),
        "tokens": translation.tokens,
        "pieces": translation.pieces,
        "finished": translation.finished,
    }
    return record if translation.text == text else record | {"text": translation.text}


def _translations(
    texts: Sequence[str], scores: Sequence[_ModelScore | None], path: Path
) -> "tuple[Translation, ...] | None":
    """Return texts and scores together; None if there are no scores."""
    from translator.inference.translation import Translation  # it brings torch, which few readers of scores need

    there = [score for score in scores if score is not None]
    if not there:
        return None
    if len(there) != len(texts):
        raise _damaged(path, "some of its sentences lack the model's score")
    return tuple(
        Translation(
            text=text if score.text is None else score.text,
            score=-math.inf if score.score is None else score.score,
            normalized_score=-math.inf if score.normalized_score is None else score.normalized_score,
            tokens=score.tokens,
            pieces=score.pieces,
            finished=score.finished,
        )
        for text, score in zip(texts, there, strict=True)
    )


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(
        f"{path} is not a file of translated sentences, or it is damaged ({reason}); evaluate again to make it anew"
    )
