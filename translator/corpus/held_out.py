"""Held-out sentences: from test sets or the splits of a corpus, saved in the run folder."""

import contextlib
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from pydantic import ValidationError

from translator.config import Config, SourceConfig
from translator.config.corpus_section import PERSIAN
from translator.corpus.filters import is_empty
from translator.corpus.normalizer import Normalizer
from translator.corpus.prepare import PreparedCorpus
from translator.corpus.sources import corpus_argument, path_exists, read_pairs
from translator.errors import CorpusError, InputError, RunError
from translator.run.storage import storage_errors, write_bytes

VALIDATION: Final = "validation"  # name of the set that training translates at each validation
HeldOutSplit = Literal["validation", "test"]


@dataclass(frozen=True)
class HeldOutSet:
    """Sentences with one or more references each, as read."""

    name: str
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]  # for each sentence; the number is the same for all
    origins: tuple[str, ...]  # for each sentence the source of the corpus, or the name of the set


def held_out_argument(text: str) -> tuple[SourceConfig, ...]:
    """Return the corpora named by `text`, one for each reference, all with the same English side and name.

    `text` is a corpus in any layout, `ENGLISH:PERSIAN` or `ENGLISH:PERSIAN:PERSIAN...`, optionally after `NAME=`.

    Raises InputError: a file or folder is missing, or the name is invalid.
    """
    name, place = None, text
    named = re.match("([^=/:]+)=(.+)", text, re.DOTALL)
    if named is not None and not path_exists(text):
        name, place = named[1], named[2]
    files = place.split(":")
    if len(files) > 2 and not path_exists(place) and all(map(path_exists, files)):
        found = [corpus_argument(f"{files[0]}:{file}") for file in files[1:]]
    else:
        found = [corpus_argument(place)]
    try:
        return tuple(SourceConfig.model_validate({**one.model_dump(), "name": name or one.name}) for one in found)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise InputError(f"`{name}` cannot be the name of a test set ({reason}); give NAME=PATH") from error


def read_held_out(corpora: Sequence[SourceConfig], normalizer: Normalizer) -> HeldOutSet:
    """Return the sentences of a test set, as read, that have text on every side after normalization.

    `corpora` has one for each reference, all with the same English side. `normalizer` defines the source language.

    Raises:
        CorpusError: a file cannot be read, its sides are of unequal length, or no sentence has text on every side.
        InputError: there are several Persian sides, and Persian is the source.
    """
    name = corpora[0].name
    sources: list[str] = []
    references: list[tuple[str, ...]] = []
    from_persian = normalizer.languages[0] == PERSIAN
    if from_persian and len(corpora) > 1:
        raise InputError(f"test set `{name}` has several Persian sides, but a model that translates Persian needs one")
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(contextlib.closing(read_pairs(corpus))) for corpus in corpora]
        for pairs in zip(*readers, strict=True):
            texts = [(pair.target, pair.source) if from_persian else (pair.source, pair.target) for pair in pairs]
            clean = [(normalizer.source(source), normalizer.target(target)) for source, target in texts]
            if not any(pair.defect or is_empty(*both) for pair, both in zip(pairs, clean, strict=True)):
                sources.append(texts[0][0])
                references.append(tuple(target for _, target in texts))
    if not sources:
        raise CorpusError(f"test set `{name}`: no line has text on every side; check the files")
    return HeldOutSet(name, tuple(sources), tuple(references), (name,) * len(sources))


def held_out_of_run(config: Config, corpus: PreparedCorpus, split: HeldOutSplit) -> list[HeldOutSet]:
    """Return the non-empty sets that a run is scored on, for `write_held_out`.

    For `test` the test split of each source, then `evaluation.test_sets`; for `validation` the sentences that training
    translates at each validation, as one set.

    Raises:
        CorpusError: a test set cannot be read, or has no sentence with text on both sides.
        StorageError: the prepared text is damaged.
    """
    parts = []
    for name in corpus.names(split):
        sources, targets = (tuple(corpus.lines(split, name, side)) for side in corpus.sides)
        parts.append(HeldOutSet(name, sources, tuple((text,) for text in targets), (name,) * len(sources)))
    if split == "test":
        normalizer = Normalizer(config.corpus.normalization, config.corpus.languages)
        return [*parts, *(read_held_out([source], normalizer) for source in config.evaluation.test_sources)]
    rows = [row for part in parts for row in zip(part.sources, part.references, part.origins, strict=True)]
    chosen = [rows[number] for number in evenly_spread(len(rows), config.training.validation_sentences)]
    return [HeldOutSet(VALIDATION, *map(tuple, zip(*chosen, strict=True)))] if chosen else []


def write_held_out(folder: Path, split: HeldOutSplit, sets: Sequence[HeldOutSet]) -> None:
    """Write `sets` to `folder/SPLIT.jsonl`: a line with the names, sizes and hash, then a line for each sentence."""

    def row(values: dict[str, Any]) -> bytes:
        return json.dumps(values, ensure_ascii=False).encode("utf-8") + b"\n"

    text = b"".join(
        row({"set": one.name, "source": source, "references": references, "origin": origin})
        for one in sets
        for source, references, origin in zip(one.sources, one.references, one.origins, strict=True)
    )
    sizes = [{"name": one.name, "sentences": len(one.sources)} for one in sets]
    content = row({"split": split, "sets": sizes, "sha256": hashlib.sha256(text).hexdigest()}) + text
    path = folder / f"{split}.jsonl"
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return
    write_bytes(path, content)


def read_held_out_folder(folder: Path, split: HeldOutSplit) -> list[HeldOutSet]:
    """Return the sets that `write_held_out` wrote; raise RunError where the file is missing or damaged."""
    path = folder / f"{split}.jsonl"
    advice = "copy it from the machine that trained the run, or resume training, which writes it"
    with storage_errors(path, "read"):
        if not path.is_file():
            raise RunError(f"the {split} text of the run is missing: {path} does not exist; {advice}")
        first, _, text = path.read_bytes().partition(b"\n")
    try:
        head = json.loads(first)
        if head["split"] != split or head["sha256"] != hashlib.sha256(text).hexdigest():
            raise ValueError("its hash differs")
        rows = [json.loads(row) for row in text.decode("utf-8").split("\n")[:-1]]
        found, start = [], 0
        for one in head["sets"]:
            chosen = rows[start : start + one["sentences"]]
            start += one["sentences"]
            columns = [tuple(row[key] for row in chosen) for key in ("source", "references", "origin")]
            found.append(HeldOutSet(one["name"], columns[0], tuple(map(tuple, columns[1])), columns[2]))
    except (ValueError, TypeError, KeyError) as error:
        raise RunError(f"the {split} text of the run is damaged: {path} has changed; {advice}") from error
    return found


def evenly_spread(total: int, count: int) -> list[int]:
    """Return `count` evenly spaced numbers below `total`; all of them if there are fewer."""
    count = min(count, total)
    numbers: list[int] = np.linspace(0, total - 1, count).round().astype(np.int64).tolist() if count else []
    return numbers
