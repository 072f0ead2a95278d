"""Held-out sentences: from test sets or the splits of a corpus, saved in the run folder."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final, Literal

import numpy as np
from pydantic import TypeAdapter, ValidationError

from translator.config import Config, SourceConfig
from translator.config.corpus_section import PERSIAN
from translator.config.paths import expand_homes
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.reading.lines import first_numbers
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.sources import corpus_argument, path_exists
from translator.errors import CorpusError, InputError, RunError
from translator.run.files import storage_errors, write_json
from translator.run.records import RecordError, read_signed_record, sign

VALIDATION: Final = "validation"  # name of the set that training translates at each validation
HeldOutSplit = Literal["validation", "test"]
Sentence = tuple[str, tuple[str, ...], str]  # the source, its references, and the name of its corpus


@dataclass(frozen=True)
class HeldOutSet:
    """Sentences with one or more references each, as read."""

    name: str
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]  # for each sentence those with text, at least one
    origins: tuple[str, ...]  # for each sentence the source of the corpus, or the name of the set
    left_out: tuple[int, ...] = ()  # lines of the files, from 1, that have no source text or no reference


_HELD_OUT_FILE: Final = TypeAdapter(dict[Literal["sets"], list[HeldOutSet]])


def held_out_argument(text: str) -> tuple[SourceConfig, ...]:
    """Return the corpora named by `text`, one for each reference, all with the same English side and name.

    `text` is a corpus in any layout, `ENGLISH:PERSIAN` or `ENGLISH:PERSIAN:PERSIAN...`, optionally after `NAME=`.

    Raises InputError: a file or folder is missing, or the name is invalid.
    """
    # 1. A name may stand before the place; but a file that is there may have a `=` in its own name.
    name = None
    place = text
    named_place = re.match("([^=/:]+)=(.+)", text, re.DOTALL)
    if named_place is not None and not path_exists(text):
        name, place = named_place.groups()

    # 2. The place is one corpus, or an English file and several Persian ones. Each Persian file makes a corpus with the
    # English one.
    place = expand_homes(place)
    files = place.split(":")
    places = [place] if len(files) < 3 else [f"{files[0]}:{persian}" for persian in files[1:]]
    corpora = [corpus_argument(corpus_place) for corpus_place in places]
    if name is None:
        return tuple(corpora)

    # 3. The name for all of them.
    try:
        return tuple(SourceConfig.model_validate({**corpus.model_dump(), "name": name}) for corpus in corpora)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise InputError(f"`{name}` cannot be the name of a test set ({reason}); give NAME=PATH") from error


def read_held_out(corpora: Sequence[SourceConfig], normalizer: Normalizer) -> HeldOutSet:
    """Return the lines of a test set, as read, that have source text and a reference; see `held_out_set`.

    `corpora` has one for each reference, all with the same English side. `normalizer` defines the source language.

    Raises:
        CorpusError: a file cannot be read, its sides are of unequal length, or no line can be scored.
        InputError: there are several Persian sides, and Persian is the source.
    """
    name = corpora[0].name
    from_persian = normalizer.languages[0] == PERSIAN
    if from_persian and len(corpora) > 1:
        raise InputError(f"test set `{name}` has several Persian sides, but a model that translates Persian needs one")
    # Read all corpora line by line. A reader leaves out the blank end of its two files, so one corpus may have fewer
    # lines than another; `zip_longest` gives None for the lines that it lacks.
    lines = []
    for pairs_of_line in zip_longest(*map(read_pairs, corpora)):
        pairs = [pair for pair in pairs_of_line if pair is not None]
        english_texts = [pair.source for pair in pairs]
        persian_texts = [pair.target for pair in pairs]
        source_texts, references = (persian_texts, english_texts) if from_persian else (english_texts, persian_texts)
        # All corpora have the same source text, but a pair with a defect may lack it. So take the first there is.
        source = next((text for text in source_texts if text), "")
        lines.append((source, references))
    return held_out_set(name, lines, normalizer)


def held_out_set(name: str, lines: Iterable[tuple[str, Sequence[str]]], normalizer: Normalizer) -> HeldOutSet:
    """Return the lines that can be scored, with the references they have, and the numbers of the others.

    A line is left out if the source or every reference is blank after normalization.

    Args:
        lines: the source and the references of each line, as read; a reference may be blank.
        normalizer: decides whether a text is blank.

    Raises CorpusError: no line can be scored.
    """
    sentences: list[Sentence] = []
    left_out: list[int] = []
    for number, (source, references) in enumerate(lines, start=1):
        references_with_text = tuple(text for text in references if normalizer.target(text).strip())
        if references_with_text and normalizer.source(source).strip():
            sentences.append((source, references_with_text, name))
        else:
            left_out.append(number)
    if not sentences:
        raise CorpusError(f"test set `{name}`: no line has source text and a reference; check the files")
    return _set_of(name, sentences, left_out)


def left_out_note(sentences: int, left_out: Sequence[int]) -> str:
    """Return a note like `1 of 5 left out (line 3)` on a set of so many scored `sentences`; "" if it is complete."""
    if not left_out:
        return ""
    lines = "line" if len(left_out) == 1 else "lines"
    return f"{len(left_out):,} of {sentences + len(left_out):,} left out ({lines} {first_numbers(left_out)})"


def held_out_of_run(
    config: Config, corpus: PreparedCorpus, split: HeldOutSplit, normalizer: Normalizer
) -> list[HeldOutSet]:
    """Return the non-empty sets that a run is scored on, for `write_held_out`.

    For `test` the test split of each source, then `evaluation.test_sets`; for `validation` the sentences that training
    translates at each validation, as one set.

    Raises:
        CorpusError: a test set cannot be read, or has no line with text on both sides.
        StorageError: the prepared text is damaged.
    """
    # 1. The sentences of each source of the corpus; each sentence has one reference.
    sentences_by_source: dict[str, list[Sentence]] = {}
    for name in corpus.names(split):
        pairs = corpus.pairs(split, name)
        sentences_by_source[name] = [(source, (reference,), name) for source, reference in pairs]

    # 2. For validation, a sample of all sentences, evenly spaced.
    if split == "validation":
        sentences = list(chain.from_iterable(sentences_by_source.values()))
        numbers = evenly_spread(len(sentences), config.training.validation_sentences)
        sample = [sentences[number] for number in numbers]
        return [_set_of(VALIDATION, sample)] if sample else []

    # 3. For testing, a set of each source, and the additional sets. Which lines were left out is known only of a source
    # with `use: test`.
    sets = []
    left_out_lines = {report.name: report.left_out for report in corpus.report.sources if report.use == "test"}
    for name, sentences in sentences_by_source.items():
        sets.append(_set_of(name, sentences, left_out_lines.get(name, ())))
    for source in config.evaluation.test_sources:
        sets.append(read_held_out([source], normalizer))
    return sets


def _set_of(name: str, sentences: Sequence[Sentence], left_out: Sequence[int] = ()) -> HeldOutSet:
    """Return the set with these sentences, at least one, and the lines that were left out."""
    sources, references, origins = zip(*sentences, strict=True)
    return HeldOutSet(name=name, sources=sources, references=references, origins=origins, left_out=tuple(left_out))


def write_held_out(folder: Path, split: HeldOutSplit, sets: Sequence[HeldOutSet]) -> None:
    """Write `sets` to `folder/SPLIT.json`, with a checksum."""
    write_json(folder / f"{split}.json", sign(_HELD_OUT_FILE.dump_python({"sets": list(sets)}, mode="json")))


def read_held_out_folder(folder: Path, split: HeldOutSplit) -> list[HeldOutSet]:
    """Return the sets that `write_held_out` wrote; raise RunError where the file is missing or damaged."""
    path = folder / f"{split}.json"
    advice = "copy it from the machine that trained the run, or resume training, which writes it"
    if not path.is_file():
        raise RunError(f"the {split} text of the run is missing: {path} does not exist; {advice}")
    try:
        with storage_errors(path, "read"):
            return read_signed_record(_HELD_OUT_FILE, path.read_bytes())["sets"]
    except RecordError as error:
        raise RunError(error.about(f"the {split} text of the run, {path},", advice)) from error


def evenly_spread(total: int, count: int) -> list[int]:
    """Return `count` evenly spaced numbers below `total`; all of them if there are fewer."""
    numbers: list[int] = np.linspace(0, total - 1, min(count, total)).round().astype(np.int64).tolist()
    return numbers
