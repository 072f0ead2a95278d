"""Reading a source: its raw pairs as a stream, from any layout, in place; texts that cannot be a corpus are refused."""

import functools
import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final

from translator.config import SourceConfig
from translator.corpus.reading.forms import Form, TextFile, form_of, unread_form
from translator.corpus.reading.languages import refuse_other_scripts, refuse_swapped
from translator.corpus.reading.lines import BAD_ROW, Pair, pairs_of_sides
from translator.corpus.reading.messages import pairs_of_messages
from translator.corpus.reading.packing import members_of, packing_of
from translator.corpus.reading.parquet import rows_of_parquet
from translator.corpus.reading.tables import pairs_of_rows, rows_of_lines
from translator.corpus.reading.tmx import pairs_of_tmx
from translator.corpus.sources import CorpusFiles, corpora_among, files_by_corpus, listing
from translator.errors import CorpusError
from translator.run.logging import LOGGER

_FIRST_PAIRS: Final = 1000  # which show whether this can be a corpus
_BAD_SHARE: Final = 0.01  # of the rows; with more, it is another kind of file
_ALWAYS_ALLOWED: Final = 3  # bad rows of a file of any size
_CHECKED_FROM: Final = 1000  # bad rows, with which the share is looked at before the end of a file
_BAD_ROWS_SHOWN: Final = 5


@functools.cache
def _tell_once(message: str) -> None:
    """Log a message, once in a process: a command may read a source several times."""
    LOGGER.info(message)


def read_pairs(source: SourceConfig, note: Callable[[str], None] = _tell_once) -> Generator[Pair, None, None]:
    """Yield the pairs of `source` in order, raw, at most `max_pairs` of them; memory stays flat.

    The corpora of a folder or a zip are read one after the other, in the order of their names. A pair that cannot be
    used has the name of its `defect`: a line of more than 1 MiB, or one that is not UTF-8 under `invalid_utf8: drop`, a
    row or a unit without the right form, a unit of a TMX without one of the languages, a score below `min_score`. Blank
    lines at the end are no pairs.

    Args:
        source: the corpus.
        note: is called with messages on what is not read.

    Raises:
        CorpusError: a file is missing, damaged, empty, not UTF-8, not a table, or its sides are swapped or unequal; or
            more than 1% of its rows, and more than three, do not have the right form; or a column is missing.
        InputError: a Parquet file needs pyarrow, which is missing.
    """
    yield from itertools.islice(_pairs_of_corpora(source, note), source.max_pairs)


def _pairs_of_corpora(source: SourceConfig, note: Callable[[str], None]) -> Iterator[Pair]:
    for files in files_by_corpus(source, note):
        for texts in _texts_of(source, files, note):
            yield from _pairs_of_corpus(texts, source, note)


def _texts_of(source: SourceConfig, files: CorpusFiles, note: Callable[[str], None]) -> list[list[TextFile]]:
    """Return the texts of each corpus in the files of one: two texts, or one that holds both sides.

    Raises CorpusError: a member of a zip is missing, or `source` names members and this is no zip, or a name tells that
        the lines of a text are no texts.
    """
    # 1. A zip may have several corpora.
    corpora = [[TextFile(file) for file in files]]
    if len(files) == 1 and packing_of(files[0]) == "zip archive":
        (archive,) = files
        names = members_of(archive)
        if source.source_member is not None and source.target_member is not None:
            members: list[tuple[str, ...]] = [(source.source_member, source.target_member)]
            for member in members[0]:
                if member not in names:
                    raise CorpusError(f"{archive} has no member `{member}`. Members: {listing(names)}")
        else:
            members = corpora_among(names, str(archive), note)
        corpora = [[TextFile(archive, member) for member in corpus] for corpus in members]
    elif source.source_member is not None:
        raise CorpusError(f"{files[0]} is not a zip archive; `source_member` and `target_member` name members of a zip")

    # 2. Some forms are not read at all.
    for text in itertools.chain.from_iterable(corpora):
        unread = unread_form(text.name)
        if unread is not None and form_of(text.name) is None:
            raise CorpusError(
                f"{text.label} is {unread.kind}, which cannot be read as a corpus; write its texts to a TSV, with "
                "English, a tab and Persian on each line, or convert it to TMX"
            )
    return corpora


def _pairs_of_corpus(texts: Sequence[TextFile], source: SourceConfig, note: Callable[[str], None]) -> Iterator[Pair]:
    """Yield the pairs of one corpus of `source`; raises as `read_pairs` does."""
    label = f"corpus source `{source.name}`: {' and '.join(text.label for text in texts)}"
    form = None if len(texts) == 2 else texts[0].form()
    remarks: list[str] = []  # on the columns that are read; errors repeat them

    def remark(message: str) -> None:
        remarks.append(f"; {message}")
        note(f"{texts[0].label}: {message}")

    # 1. The first pairs show whether this can be a corpus.
    pairs = _pairs_of_texts(texts, form, source, label, remark)
    first_pairs = list(itertools.islice(pairs, _FIRST_PAIRS))
    if not first_pairs and form in (Form.PO, Form.MO):  # a folder of a system has catalogues without messages
        note(f"{texts[0].label}: it has no messages")
        return
    if not first_pairs:
        raise CorpusError(f"{label}: it has no lines; check that it is the right file")
    try:
        refuse_swapped(first_pairs)
        if remarks:
            refuse_other_scripts(first_pairs)
    except CorpusError as error:
        raise CorpusError(f"{label}: {error}{''.join(remarks)}") from None

    # 2. All pairs. A few bad rows are dropped; many mean another kind of file.
    count = 0
    bad_count = 0
    first_bad_lines: list[int] = []
    for count, pair in enumerate(itertools.chain(first_pairs, pairs), start=1):
        if pair.defect == BAD_ROW:
            bad_count += 1
            if len(first_bad_lines) < _BAD_ROWS_SHOWN:
                first_bad_lines.append(pair.line)
            # A large file of another kind is refused before its end.
            if bad_count > _CHECKED_FROM and bad_count > _BAD_SHARE * count:
                break
        yield pair
    if bad_count == count or bad_count > max(_ALWAYS_ALLOWED, _BAD_SHARE * count):
        numbers = ", ".join(map(str, first_bad_lines)) + (", …" if bad_count > _BAD_ROWS_SHOWN else "")
        raise CorpusError(
            f"{label}: {bad_count:,} of {count:,} rows do not have the right form (lines {numbers}), and 1% are "
            "allowed; each needs a text for both sides, as many columns as the others, and a number as score; correct "
            "the file, name its columns (`source_column`, `target_column`), or give two files as `source_path` and "
            f"`target_path`{''.join(remarks)}"
        )


def _pairs_of_texts(
    texts: Sequence[TextFile], form: Form | None, source: SourceConfig, label: str, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pairs of two texts, one per side, or of one text that holds both sides, in `form`."""
    drop_invalid = source.invalid_utf8 == "drop"
    advice = ", or set `invalid_utf8: drop` for this source to skip such lines"
    lines_of_texts = [text.lines(drop_invalid=drop_invalid, advice=advice) for text in texts]
    text = texts[0]

    # 1. Tables.
    if form is Form.PARQUET:
        return pairs_of_rows(rows_of_parquet(text.file), source, text.label, note)
    if form in (Form.TSV, Form.CSV, Form.JSON_LINES):
        given_columns = [source.source_column, source.target_column, source.min_score and source.min_score.column]
        has_names = True if any(isinstance(column, str) for column in given_columns) else None
        return pairs_of_rows(rows_of_lines(lines_of_texts[0], form, has_names=has_names), source, text.label, note)

    # 2. Texts without columns.
    if source.source_column is not None or source.min_score is not None:
        keys = "`source_column`, `target_column` and `min_score`"
        raise CorpusError(f"{label}: {keys} choose columns of a table, and this is none; remove them")
    if form is None:
        english, persian = lines_of_texts
        return pairs_of_sides(english, persian, f"corpus source `{source.name}`", (text.label, texts[1].label))
    if form is Form.TMX:
        return pairs_of_tmx(text.blocks(), text.label, drop_invalid=drop_invalid)
    return pairs_of_messages(text.blocks(), text.label, compiled=form is Form.MO)
