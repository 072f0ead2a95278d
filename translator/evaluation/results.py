"""Files of an evaluation folder: each translated test set as JSON lines, and scores.json."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, TypeAdapter

from translator.errors import InputError, RunError
from translator.evaluation.metrics import Score
from translator.inference.segments import Translation, finite
from translator.run.folder import RunFolder
from translator.run.records import STRICT, RecordError, WholeNumber, read_record
from translator.run.storage import exclusive, storage_errors, write_bytes, write_json

ENDING: Final = ".sentences.jsonl"
VERSION: Final = 1  # of the format of these files
_ENTRIES: Final = TypeAdapter(list[Score])
_LOCK_SECONDS: Final = 30  # a process that updates scores.json takes milliseconds


class ModelScore(BaseModel):
    """The model's score of a translation or of a reference, as stored."""

    model_config = STRICT

    score: float | None  # None for minus infinity, which JSON does not have: the pair was too long for the model
    normalized_score: float | None
    tokens: WholeNumber
    pieces: WholeNumber
    finished: bool
    text: str | None = None  # as the model sees it; None if it equals the text of the sentence

    @classmethod
    def of(cls, scored: Translation, sentence: str | None = None) -> "ModelScore":
        """Return the score of a text; `text` is None if it equals `sentence`, which is stored separately."""
        score, normalized = finite(scored.score), finite(scored.normalized_score)
        text = None if scored.text == sentence else scored.text
        return cls(score=score, normalized_score=normalized, tokens=scored.tokens, pieces=scored.pieces,
                   finished=scored.finished, text=text)  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the score for JSON."""
        return self.model_dump(exclude={"text"} if self.text is None else None)


@dataclass(frozen=True)
class TypedScore:
    """A test set translated from noisy input, with its scores."""

    way: str  # one of `robustness.WAYS`
    score: Score  # chrF of all sentences
    loss: float  # in chrF, relative to the original text
    loss_interval: tuple[float, float]  # 95% interval of paired bootstrap resamples
    changed: int  # sentences whose model input changes
    sources: tuple[str, ...]
    hypotheses: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return {**asdict(self), "score": self.score.to_json()}


@dataclass(frozen=True, kw_only=True)
class ScoredSet:
    """One test set of N sentences, translated by one system."""

    test_set: str
    system: str  # name of the run, or of the runs joined by +
    checkpoint: str  # for example step-001250
    search: str  # label of the search settings, for example beam-5
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]  # as read; one or more for each sentence
    hypotheses: tuple[str, ...]
    origins: tuple[str, ...]  # for each sentence the source of the corpus, or the name of the test set
    left_out: tuple[int, ...] = ()  # lines of the test set, from 1, that are not among the N sentences
    scores: tuple[Score, ...]
    hypothesis_scores: tuple[ModelScore, ...] | None = None
    reference_scores: tuple[ModelScore, ...] | None = None  # of each first reference, by teacher forcing
    rare_shares: tuple[float, ...]  # share of rare words of each source, 0 to 1; empty if unknown
    typed: tuple[TypedScore, ...] = ()  # with noisy input, if robustness is measured

    @property
    def all_scores(self) -> tuple[Score, ...]:
        """All scores, including those of noisy input."""
        return (*self.scores, *(one.score for one in self.typed))

    @property
    def name(self) -> str:
        """Name of the set in file names."""
        return f"{self.test_set}.{self.checkpoint}.{self.search}"


def json_lines(rows: Sequence[Any]) -> bytes:
    """Return each of `rows` as a line of JSON in UTF-8."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows)


def write_scored_set(folder: Path, scored: ScoredSet) -> Path:
    """Save `scored` in `folder` as JSON lines, a header and one line per sentence; return the file."""
    head = {name: getattr(scored, name) for name in ("test_set", "system", "checkpoint", "search")}
    head |= {"sentences": len(scored.sources), "left_out": scored.left_out}
    head |= {"scores": [score.to_json() for score in scored.scores]}
    ours, theirs = scored.hypothesis_scores, scored.reference_scores
    columns: dict[str, Sequence[Any]] = {
        "source": scored.sources,
        "references": scored.references,
        "hypothesis": scored.hypotheses,
        "origin": scored.origins,
        "hypothesis_score": [one.to_json() for one in ours or ()],
        "reference_score": [one.to_json() for one in theirs or ()],
        "rare_share": scored.rare_shares,
    }
    columns = {name: column for name, column in columns.items() if column}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path = folder / f"{scored.name}{ENDING}"
    write_bytes(path, json_lines([{"version": VERSION, **head}, *rows]))
    return path


class _Head(BaseModel):
    model_config = STRICT

    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    test_set: str
    system: str
    checkpoint: str
    search: str
    sentences: Annotated[int, Field(ge=1)]
    left_out: tuple[WholeNumber, ...] = ()  # an earlier version did not write it
    scores: list[Score]


class _Row(BaseModel):
    model_config = STRICT

    source: str
    references: Annotated[tuple[str, ...], Field(min_length=1)]
    hypothesis: str
    origin: str
    hypothesis_score: ModelScore | None = None
    reference_score: ModelScore | None = None
    rare_share: Annotated[float, Field(ge=0, le=1)] | None = None


_HEAD: Final = TypeAdapter(_Head)
_ROW: Final = TypeAdapter(_Row)


def read_scored_set(path: Path) -> ScoredSet:
    """Return the set that `write_scored_set` saved; raise InputError if the file is damaged or of another kind."""
    with storage_errors(path, "read"):
        lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    rows: list[_Row] = []
    damage = ""
    line_number = 1
    try:
        head = read_record(_HEAD, lines[0])
        for line in lines[1:]:
            line_number += 1
            rows.append(read_record(_ROW, line))
        if len(rows) != head.sentences:
            damage = f"it has {len(rows):,} of {head.sentences:,} sentences"
    except RecordError as error:
        if error.newer:
            raise InputError(error.about(path, "evaluate again")) from error
        damage = f"line {line_number:,}: {error}"
    if damage:
        raise InputError(f"{path} is not a file of translated sentences, or it is damaged ({damage}); evaluate again")
    columns = {key: tuple(getattr(row, key) for row in rows) for key in _Row.model_fields}
    known = {key: None if None in column else column for key, column in columns.items()}
    return ScoredSet(
        **head.model_dump(include={"test_set", "system", "checkpoint", "search", "left_out"}),
        sources=columns["source"],
        references=columns["references"],
        hypotheses=columns["hypothesis"],
        origins=columns["origin"],
        scores=tuple(head.scores),
        hypothesis_scores=known["hypothesis_score"],
        reference_scores=known["reference_score"],
        rare_shares=known["rare_share"] or (),
    )


def distinct_labels(sets: Sequence[ScoredSet]) -> tuple[str, ...]:
    """Return a label for the system of each set: the run, plus checkpoint, search and a number if needed.

    Runs that share a name may agree in all three; then the second result on a test set belongs to the second run.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    system_of_set = []
    for one in sets:
        called = (one.system, one.checkpoint, one.search)
        seen[one.test_set, *called] += 1
        system_of_set.append((*called, seen[one.test_set, *called]))
    labels: dict[tuple[Any, ...], str] = {}
    for system in dict.fromkeys(system_of_set):
        run, *details, _ = system
        others = [others for name, *others, _ in system_of_set if name == run]
        needed = [detail for place, detail in enumerate(details) if len({other[place] for other in others}) > 1]
        name = label = " ".join(filter(None, [run, *needed]))
        number = 2
        while label in labels.values():
            label = f"{name} ({number})"
            number += 1
        labels[system] = label
    return tuple(labels[system] for system in system_of_set)


def saved_scores(run: RunFolder) -> list[Score]:
    """Return the scores of `run`, newest first; none if it was never evaluated."""
    return read_scores(run.evaluation_folder)


def read_scores(folder: Path) -> list[Score]:
    """Return the scores in an evaluation folder, if any; raise RunError if the file is damaged."""
    path = folder / "scores.json"
    with storage_errors(path, "read"):
        if not path.exists():
            return []
        content = path.read_bytes()
    try:
        return read_record(_ENTRIES, content)
    except RecordError as error:
        raise RunError(error.about(path, "delete it and evaluate again")) from error


def add_scores(folder: Path, scores: Sequence[Score], *, first: bool = True) -> list[Score]:
    """Add `scores` to scores.json in `folder`, replacing older ones of the same setting; return all scores.

    With `first` they come before the others; scores on text that is not the run's own come last.

    Raises RunError: the file is damaged (it stays unchanged), or another process holds the folder.
    """
    replaced = {score.setting for score in scores}
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder, _LOCK_SECONDS) as free:
        if not free:
            raise RunError(f"another process holds {folder} and does not release it; wait for it, or stop it")
        kept = [score for score in read_scores(folder) if score.setting not in replaced]
        merged = [*scores, *kept] if first else [*kept, *scores]
        write_json(folder / "scores.json", [score.to_json() for score in merged])
    return merged
