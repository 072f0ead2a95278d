"""Reading a parallel corpus in place, as a stream of raw pairs, with every defect told by file and line."""

import contextlib
import itertools
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from translator.config import SourceConfig
from translator.corpus.sources.alignment import first_shifted_line, traits_of
from translator.corpus.sources.archives import chosen_members, is_zip, member_blocks, member_label, open_archive
from translator.corpus.sources.compression import file_blocks
from translator.corpus.sources.folders import corpora_of_folder
from translator.corpus.sources.lines import Run, read_lines
from translator.corpus.sources.pairs import Pair, pairs_of_sides, pairs_of_table
from translator.corpus.sources.sides import SideNames, check_sides
from translator.errors import CorpusError
from translator.shipped import present_path
from translator.storage import storage_errors
from translator.text_table import excerpt

_SHOWN: Final = 80
"""Characters of a suspicious line that a message shows."""


class _Sides(NamedTuple):
    """The two texts of a corpus, open for reading."""

    english: Iterator[Run]
    persian: Iterator[Run]
    names: SideNames


def source_files(source: SourceConfig) -> list[Path]:
    """Return the files that hold the text of `source`, in the order in which they are read.

    Raises:
        CorpusError: one of them is not there; the message says how to get it, if the configuration does. Or one is a
            pipe or a device, or a folder holds what cannot be read.
        StorageError: a file or the folder may not be read.
    """
    return list(itertools.chain.from_iterable(_corpora(source)))


def read_pairs(source: SourceConfig) -> Generator[Pair, None, None]:
    """Yield the pairs of `source` in order, raw, at most `max_pairs` of them; memory stays flat.

    A line ends at "\\n" or "\\r\\n" and nowhere else; byte order marks at the start of lines are dropped. Of a folder,
    each corpus is read after the other, in the order of their names. A pair with a line of more than 1 MiB, or one that
    is not UTF-8 where the source says to drop these, comes without its texts and with the name of its `defect`.

    Raises:
        CorpusError: a file is missing, damaged, hostile, not UTF-8 or empty, the two sides differ in length, are
            swapped or blank, or a TSV line has not exactly two columns.
        StorageError: a file may not be read.
    """
    left = source.max_pairs
    for files in _corpora(source):
        with contextlib.closing(_read_corpus(source, files, left)) as blocks:
            for block in blocks:
                yield from block
                left = None if left is None else left - len(block)
        if left == 0:
            break


def _corpora(source: SourceConfig) -> list[tuple[Path, ...]]:
    """Return the corpora of a source: a zip or a TSV alone, or an English file and its Persian one."""
    if source.path is not None:
        files = [present_path(source.path)]
    else:
        assert source.source_path is not None and source.target_path is not None  # held by SourceConfig
        files = [present_path(source.source_path), present_path(source.target_path)]
        if files[0] == files[1]:
            raise CorpusError(f"corpus source `{source.name}`: both sides are the same file, {files[0]}")
    for file in files:
        with storage_errors(file, "read"):
            is_there, is_folder, is_plain = file.exists(), file.is_dir(), file.is_file()
        if not is_there:
            advice = source.obtain or "check the path (it is relative to the folder the command is run in)"
            raise CorpusError(f"corpus source `{source.name}`: {file} does not exist. {advice.strip()}")
        if is_folder:
            if source.path is None:
                raise CorpusError(f"corpus source `{source.name}`: {file} is a folder; give a file")
            if source.source_member is not None:
                raise CorpusError(
                    f"corpus source `{source.name}`: {file} is a folder; "
                    "`source_member` and `target_member` name members of a zip"
                )
            return corpora_of_folder(file)
        if not is_plain:  # it is read more than once, and a pipe or a device may never end
            raise CorpusError(
                f"corpus source `{source.name}`: {file} is a pipe or a device; write its text to a file and give that"
            )
    return [tuple(files)]


def _read_corpus(source: SourceConfig, files: tuple[Path, ...], limit: int | None) -> Generator[list[Pair], None, None]:
    whole = f"corpus source `{source.name}`: {' and '.join(map(str, files))}"
    if len(files) == 1 and not is_zip(files[0]):
        if source.source_member is not None:
            raise CorpusError(
                f"{whole} is not a zip archive; `source_member` and `target_member` name members of a zip"
            )
        names = SideNames(whole, "the first column", "the second", "put English into the first column")
        with contextlib.closing(file_blocks(files[0])) as blocks:
            runs = read_lines(blocks, str(files[0]), drop_invalid=source.invalid_utf8 == "drop")
            yield from check_sides(_first_pairs(pairs_of_table(runs, files[0]), limit), names)
        return
    with _open_sides(source, files, whole, drop_invalid=source.invalid_utf8 == "drop") as sides:
        yield from check_sides(_first_pairs(_pairs_or_mismatch(source, files, whole, sides), limit), sides.names)


def _first_pairs(blocks: Iterator[list[Pair]], limit: int | None) -> Iterator[list[Pair]]:
    """Yield the first `limit` pairs and read no further."""
    left = limit
    while left is None or left > 0:
        block = next(blocks, None)
        if block is None:
            return
        if left is not None:
            block = block[:left]
            left -= len(block)
        yield block


@contextlib.contextmanager
def _open_sides(source: SourceConfig, files: tuple[Path, ...], whole: str, *, drop_invalid: bool) -> Iterator[_Sides]:
    with contextlib.ExitStack() as stack:
        if len(files) == 2:
            labels = str(files[0]), str(files[1])
            how_to_swap = (
                "swap the names of the two files"
                if source.path
                else "swap the two files (in a recipe `source_path` and `target_path`)"
            )
            streams = [stack.enter_context(contextlib.closing(file_blocks(file))) for file in files]
        else:
            archive = stack.enter_context(open_archive(files[0]))
            members = chosen_members(files[0], archive, source.source_member, source.target_member)
            labels = member_label(files[0], members[0]), member_label(files[0], members[1])
            how_to_swap = (
                f"set `source_member: {members[1].filename}` and `target_member: {members[0].filename}`"
                if source.path is not None and present_path(source.path) == files[0]
                else "swap the names of its members"
            )
            streams = [
                stack.enter_context(contextlib.closing(member_blocks(files[0], archive, member))) for member in members
            ]
        english, persian = (
            read_lines(stream, label, drop_invalid=drop_invalid) for stream, label in zip(streams, labels, strict=True)
        )
        yield _Sides(english, persian, SideNames(whole, *labels, how_to_swap))


def _pairs_or_mismatch(
    source: SourceConfig, files: tuple[Path, ...], whole: str, sides: _Sides
) -> Generator[list[Pair], None, None]:
    equal = yield from pairs_of_sides(sides.english, sides.persian)
    if not equal:
        raise _mismatch(source, files, whole)


def _mismatch(source: SourceConfig, files: tuple[Path, ...], whole: str) -> CorpusError:
    """Return the error for sides of unequal length, which are read twice more to say where they come apart."""
    with _open_sides(source, files, whole, drop_invalid=True) as sides:
        traits = traits_of(sides.english), traits_of(sides.persian)
    counts = len(traits[0].lengths), len(traits[1].lengths)
    message = (
        f"corpus source `{source.name}`: the two sides differ in length: "
        f"{sides.names.english} has {counts[0]:,} lines, {sides.names.persian} has {counts[1]:,}; "
        "every English line needs its Persian line, so get the corpus again or mend it"
    )
    if min(counts) == 0:
        return CorpusError(message)
    place = first_shifted_line(*sorted(traits, key=lambda side: len(side.lengths)))
    with _open_sides(source, files, whole, drop_invalid=True) as sides:
        english, persian = _excerpt(sides.english, place), _excerpt(sides.persian, place)
    return CorpusError(
        f"{message}. First suspicious line: about {place + 1:,} (a guess), English: {english}; Persian: {persian}"
    )


def _excerpt(runs: Iterator[Run], place: int) -> str:
    text = next(itertools.islice((text for run in runs for text in run.texts), place, None), "(no line)")
    return excerpt(text, _SHOWN)
