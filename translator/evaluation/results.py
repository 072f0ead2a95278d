"""Files of an evaluation folder: each translated test set as JSON lines, and scores.json."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel, Field, TypeAdapter

from translator.errors import InputError, RunError
from translator.evaluation.metrics import Score
from translator.inference.translation import Translation, finite
from translator.run.files import hold_folder, storage_errors, write_bytes, write_json
from translator.run.folder import RunFolder
from translator.run.records import STRICT, RecordError, WholeNumber, read_record

ENDING: Final = ".sentences.jsonl"
VERSION: Final = 1  # of the format of these files
_ENTRIES: Final = TypeAdapter(list[Score])
_Value = TypeVar("_Value")
_LOCK_SECONDS: Final = 30  # an update takes milliseconds


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
        return cls(
            score=finite(scored.score),
            normalized_score=finite(scored.normalized_score),
            tokens=scored.tokens,
            pieces=scored.pieces,
            finished=scored.finished,
            text=None if scored.text == sentence else scored.text,
        )

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
        return (*self.scores, *[noisy.score for noisy in self.typed])

    @property
    def name(self) -> str:
        """Name of the set in file names."""
        return f"{self.test_set}.{self.checkpoint}.{self.search}"


def json_lines(rows: Sequence[Any]) -> bytes:
    """Return each of `rows` as a line of JSON in UTF-8."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows)


# --- the text of a test set ---


def text_sides(sources: Sequence[str], references: Sequence[tuple[str, ...]]) -> dict[str, bytes]:
    """Return the text of a test set as the content of its files, by the ending of their names.

    Line N of every file is sentence N; an extra reference that it lacks is a blank line.

    Args:
        sources: N sentences.
        references: one or more for each.
    """
    sides = {"source": _file_of_lines(sources)}
    for number, texts in enumerate(zip_longest(*references, fillvalue=""), start=1):
        sides[_reference_name(number)] = _file_of_lines(texts)
    return sides


def claim_name(folder: Path, name: str, sides: Mapping[str, bytes], *, replaces: bool) -> None:
    """Write the text of the test set `name` to `folder`, which keeps the name from other texts.

    Args:
        sides: its text, as `text_sides` returns it.
        replaces: whether another text of that name is replaced.

    Raises RunError: another process has given the name to another text meanwhile, or holds the folder.
    """
    with _updating(folder):
        # Look again: a plan was made before this folder was locked.
        saved_sides = read_text_sides(folder, name)
        if saved_sides == sides:
            return
        if saved_sides and not replaces:
            raise RunError(
                f"another process is evaluating a different text named {name} in {folder}; wait for it, then repeat "
                "the command"
            )
        # The source comes last: where it is, all references are, and no reference of a text that was never complete.
        _side_file(folder, name, "source").unlink(missing_ok=True)
        number = 1
        while (side := _reference_name(number)) in sides:
            write_bytes(_side_file(folder, name, side), sides[side])
            number += 1
        _side_file(folder, name, _reference_name(number)).unlink(missing_ok=True)
        write_bytes(_side_file(folder, name, "source"), sides["source"])


def read_text_sides(folder: Path, name: str) -> dict[str, bytes]:
    """Return the text of the test set `name` as `claim_name` wrote it; empty if it is not there."""
    sides: dict[str, bytes] = {}
    side, number = "source", 0
    with storage_errors(folder, "read"):
        while (file := _side_file(folder, name, side)).is_file():
            sides[side] = file.read_bytes()
            number += 1
            side = _reference_name(number)
    return sides


def _file_of_lines(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def _reference_name(number: int) -> str:
    return "reference" if number == 1 else f"reference-{number}"


def _side_file(folder: Path, name: str, side: str) -> Path:
    return folder / f"{name}.{side}.txt"


# --- translated test sets ---


def write_scored_set(folder: Path, scored: ScoredSet) -> Path:
    """Save `scored` in `folder` as JSON lines, a header and one line per sentence; return the file."""
    header = {
        "version": VERSION,
        "test_set": scored.test_set,
        "system": scored.system,
        "checkpoint": scored.checkpoint,
        "search": scored.search,
        "sentences": len(scored.sources),
        "left_out": scored.left_out,
        "scores": [score.to_json() for score in scored.scores],
    }
    columns: dict[str, Sequence[Any]] = {
        "source": scored.sources,
        "references": scored.references,
        "hypothesis": scored.hypotheses,
        "origin": scored.origins,
    }
    # What was not computed has no column.
    if scored.hypothesis_scores:
        columns["hypothesis_score"] = [score.to_json() for score in scored.hypothesis_scores]
    if scored.reference_scores:
        columns["reference_score"] = [score.to_json() for score in scored.reference_scores]
    if scored.rare_shares:
        columns["rare_share"] = scored.rare_shares

    rows: list[dict[str, Any]] = []
    for values in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, values, strict=True)))
    path = folder / f"{scored.name}{ENDING}"
    write_bytes(path, json_lines([header, *rows]))
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
    # 1. Read the header, then a row for each sentence.
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

    # 2. Turn the rows into columns; a column that some row lacks is unknown.
    return ScoredSet(
        test_set=head.test_set,
        system=head.system,
        checkpoint=head.checkpoint,
        search=head.search,
        left_out=head.left_out,
        sources=tuple(row.source for row in rows),
        references=tuple(row.references for row in rows),
        hypotheses=tuple(row.hypothesis for row in rows),
        origins=tuple(row.origin for row in rows),
        scores=tuple(head.scores),
        hypothesis_scores=_complete([row.hypothesis_score for row in rows]),
        reference_scores=_complete([row.reference_score for row in rows]),
        rare_shares=_complete([row.rare_share for row in rows]) or (),
    )


def _complete(column: Sequence[_Value | None]) -> tuple[_Value, ...] | None:
    """Return the values of a column; None if one is missing."""
    values = []
    for value in column:
        if value is None:
            return None
        values.append(value)
    return tuple(values)


class _Result(NamedTuple):
    """What tells the results of an evaluation apart, apart from the test set."""

    system: str
    checkpoint: str
    search: str
    number: int  # of runs so far that agree in the other three, on the same test set


def distinct_labels(sets: Sequence[ScoredSet]) -> tuple[str, ...]:
    """Return a label for the system of each set: the run, plus checkpoint, search and a number if needed.

    Runs that share a name may agree in all three; then the second result on a test set belongs to the second run.
    """
    # 1. Tell the systems apart.
    result_counts: Counter[tuple[str, ...]] = Counter()
    results: list[_Result] = []
    for scored in sets:
        setting = (scored.test_set, scored.system, scored.checkpoint, scored.search)
        result_counts[setting] += 1
        results.append(_Result(scored.system, scored.checkpoint, scored.search, result_counts[setting]))

    # 2. Name each by its run, and by what differs among the results of runs of that name.
    labels: dict[_Result, str] = {}
    for result in dict.fromkeys(results):
        namesakes = [namesake for namesake in results if namesake.system == result.system]
        parts = [result.system]
        if len({namesake.checkpoint for namesake in namesakes}) > 1:
            parts.append(result.checkpoint)
        if len({namesake.search for namesake in namesakes}) > 1:
            parts.append(result.search)
        name = " ".join(filter(None, parts))

        # 3. Number those that still have the same name.
        label, number = name, 2
        while label in labels.values():
            label = f"{name} ({number})"
            number += 1
        labels[result] = label
    return tuple(labels[result] for result in results)


# --- scores.json ---


def saved_scores(run: RunFolder) -> list[Score]:
    """Return the scores of `run`, newest first; empty if it was never evaluated."""
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
    replaced_settings = {score.setting for score in scores}
    with _updating(folder):
        other_scores = [score for score in read_scores(folder) if score.setting not in replaced_settings]
        merged = [*scores, *other_scores] if first else [*other_scores, *scores]
        write_json(folder / "scores.json", [score.to_json() for score in merged])
    return merged


@contextmanager
def _updating(folder: Path) -> Iterator[None]:
    """Lock an evaluation folder for a short update; make it if it is missing."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with hold_folder(folder, "evaluate another run", _LOCK_SECONDS), storage_errors(folder):
        yield
