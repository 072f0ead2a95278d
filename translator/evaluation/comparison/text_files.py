"""Translations in plain text files, from whatever system: one sentence a line, in the order of the source."""

from collections.abc import Sequence
from pathlib import Path

from translator.errors import InputError
from translator.evaluation.scored_set import ScoredSet
from translator.storage import storage_errors


def read_translated_file(path: Path, test_set: str, source: Path, references: Sequence[Path]) -> ScoredSet:
    """Return the translations in `path` with their sources and references.

    Args:
        path: the hypotheses.
        test_set: what to call the test set.
        source: the English text.
        references: one file or more.

    Raises:
        InputError: a file is not UTF-8 or empty, or they differ in length.
        StorageError: a file cannot be read.
    """
    sources = read_sentences(source)
    sides = [read_sentences(file) for file in references]
    for file, lines in zip(references, sides, strict=True):
        _same_length(file, lines, source, sources)
    return translated_by(path, test_set, sources, list(zip(*sides, strict=True)), source)


def translated_by(
    path: Path, test_set: str, sources: Sequence[str], references: Sequence[tuple[str, ...]], origin: Path | str
) -> ScoredSet:
    """Return the translations in `path` as those of sentences that are known already.

    Args:
        path: the hypotheses; its name becomes the system's.
        test_set: what to call the test set.
        sources, references: of each sentence.
        origin: where they come from, for messages.

    Raises:
        InputError: the file is not UTF-8, or has not one line for each sentence.
        StorageError: it cannot be read.
    """
    hypotheses = read_sentences(path)
    _same_length(path, hypotheses, origin, sources)
    return ScoredSet(
        test_set=test_set,
        system=path.name,
        checkpoint="",
        search="",
        sources=tuple(sources),
        references=tuple(references),
        hypotheses=tuple(hypotheses),
        origins=(test_set,) * len(sources),
        scores=(),
        rare_shares=(),
    )


def read_sentences(path: Path) -> list[str]:
    """Return the lines of a text file; a line ends at "\\n" or "\\r\\n" and nowhere else, and may be empty.

    Raises:
        InputError: it is not UTF-8, or has no line.
        StorageError: it cannot be read.
    """
    with storage_errors(path, "read"):
        content = path.read_bytes()
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line:,}: not UTF-8 (byte 0x{content[error.start]:02x}); convert the file to UTF-8 first"
        ) from error
    if not text:
        raise InputError(f"{path} is empty; a file of sentences has one a line")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _same_length(path: Path, lines: Sequence[str], other: Path | str, other_lines: Sequence[str]) -> None:
    if len(lines) != len(other_lines):
        raise InputError(
            f"{path} has {len(lines):,} lines, {other} {len(other_lines):,}: line by line they must be the same "
            "sentences; check that both belong to one test set"
        )
