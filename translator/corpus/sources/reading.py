"""Reading a parallel corpus in place, as a stream of raw pairs, with every defect told by file and line."""

import contextlib
import itertools
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from translator.config import SourceConfig
from translator.corpus.sources.layouts import is_zip, open_file, open_members
from translator.errors import CorpusError

_BOM: Final = b"\xef\xbb\xbf"


class Pair(NamedTuple):
    """One line of a parallel corpus, as read."""

    line: int
    """1-based."""
    source: str
    """English."""
    target: str
    """Persian."""


def source_files(source: SourceConfig) -> list[Path]:
    """Return the files that hold the text of `source`: the zip or TSV, or the English and the Persian file.

    Raises:
        CorpusError: one of them is not there; the message says how to get it, if the configuration does.
    """
    if source.path is not None:
        files = [Path(source.path)]
    else:
        assert source.source_path is not None and source.target_path is not None  # held by SourceConfig
        files = [Path(source.source_path), Path(source.target_path)]
        if files[0] == files[1]:
            raise CorpusError(f"corpus source `{source.name}`: both sides are the same file, {files[0]}")
    for file in files:
        if file.is_dir():
            raise CorpusError(f"corpus source `{source.name}`: {file} is a folder; give a file")
        if not file.exists():
            advice = source.obtain or "check the path (it is relative to the folder the command is run in)"
            raise CorpusError(f"corpus source `{source.name}`: {file} does not exist. {advice.strip()}")
    return files


def read_pairs(source: SourceConfig) -> Generator[Pair, None, None]:
    """Yield the pairs of `source` in order, raw, at most `max_pairs` of them; memory stays flat.

    A line ends at "\\n" or "\\r\\n" and nowhere else; a byte order mark at the start of a file is dropped.

    Raises:
        CorpusError: a file is missing, damaged, not UTF-8 or empty, the two sides differ in length, or a TSV line has
            not exactly two columns.
        StorageError: a file may not be read.
    """
    files = source_files(source)
    empty = True
    with contextlib.closing(_read_all(source, files)) as pairs:
        for pair in itertools.islice(pairs, source.max_pairs):
            yield pair
            empty = False
    if empty:
        named = " and ".join(map(str, files))
        raise CorpusError(
            f"corpus source `{source.name}`: there is no line in {named}; check that it is the right file"
        )


def _read_all(source: SourceConfig, files: list[Path]) -> Generator[Pair, None, None]:
    with contextlib.ExitStack() as stack:
        if len(files) == 2:
            yield from _pairs_of_two(source, {str(file): stack.enter_context(open_file(file)) for file in files})
        elif is_zip(files[0]):
            members = open_members(files[0], source.source_member, source.target_member)
            yield from _pairs_of_two(source, stack.enter_context(members))
        elif source.source_member is not None:
            raise CorpusError(
                f"corpus source `{source.name}`: {files[0]} is not a zip archive; "
                "`source_member` and `target_member` name members of a zip"
            )
        else:
            yield from _pairs_of_table(stack.enter_context(open_file(files[0])), files[0])


def _pairs_of_two(source: SourceConfig, streams: dict[str, Iterator[bytes]]) -> Iterator[Pair]:
    labels = list(streams)
    english, persian = (_decoded_lines(stream, label) for label, stream in streams.items())
    for line, (source_text, target_text) in enumerate(itertools.zip_longest(english, persian), start=1):
        if source_text is None or target_text is None:
            longer = streams[labels[0] if target_text is None else labels[1]]
            more, fewer = line + sum(1 for _ in longer), line - 1
            counts = (more, fewer) if target_text is None else (fewer, more)
            raise CorpusError(
                f"corpus source `{source.name}`: the two sides differ in length: {labels[0]} has {counts[0]:,} lines, "
                f"{labels[1]} has {counts[1]:,}; every English line needs its Persian line, so get the corpus again "
                "or find the line where they come apart"
            )
        yield Pair(line, source_text, target_text)


def _pairs_of_table(stream: Iterator[bytes], file: Path) -> Iterator[Pair]:
    for line, text in enumerate(_decoded_lines(stream, str(file)), start=1):
        columns = text.split("\t")
        if len(columns) != 2:
            count = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
            raise CorpusError(
                f"{file}, line {line}: {count} where two are expected (English, one tab, Persian); mend the line, "
                "or give two files as `source_path` and `target_path`"
            )
        yield Pair(line, columns[0], columns[1])


def _decoded_lines(stream: Iterator[bytes], label: str) -> Iterator[str]:
    offset = 0
    for number, raw in enumerate(stream, start=1):  # lines of bytes end at "\n" alone
        line = raw[:-2] if raw.endswith(b"\r\n") else raw.removesuffix(b"\n")
        skipped = 0
        if number == 1 and line.startswith(_BOM):
            line, skipped = line[3:], 3
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{label}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at byte offset "
                f"{offset + skipped + error.start:,} of the text); convert the file to UTF-8 first"
            ) from error
        offset += len(raw)
