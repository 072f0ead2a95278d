"""Reading a source: its raw pairs as a stream, from any layout, in place; texts that cannot be a corpus are refused."""

import functools
import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Final

from translator.config import SourceConfig
from translator.corpus.bad_rows import BadRowCounter
from translator.corpus.csv_rows import rows_of_csv
from translator.corpus.file_forms import Form
from translator.corpus.json_lines import pairs_of_json_lines
from translator.corpus.lines import BAD_ROW, Pair, UnequalSidesError, pairs_of_sides
from translator.corpus.parquet import pairs_of_parquet
from translator.corpus.remarks import Remarks
from translator.corpus.side_languages import refuse_other_scripts, refuse_swapped
from translator.corpus.sources import files_by_corpus, held_out_names, listing
from translator.corpus.tables import pairs_of_table, rows_of_tsv
from translator.corpus.text_files import TextFile, texts_of
from translator.corpus.tmx import pairs_of_tmx
from translator.errors import CorpusError
from translator.run.logging import LOGGER

_PAIRS_LOOKED_AT: Final = 1000  # the first ones, which show whether this can be a corpus


@functools.cache
def _tell_once(message: str) -> None:
    """Log a message, once in a process: a command may read a source several times."""
    LOGGER.info(message)


def read_pairs(source: SourceConfig, note: Callable[[str], None] = _tell_once) -> Generator[Pair, None, None]:
    """Yield the pairs of `source` in order, raw, at most `max_pairs` of them; memory stays flat.

    The corpora of a folder are read one after the other, in the order of their names. A pair that cannot be used has
    the name of its `defect`: a line of more than 1 MiB, or one that is not UTF-8 under `invalid_utf8: drop`, a row or a
    unit without the right form, a unit of a TMX without one of the languages, a score below `min_score`. Blank lines at
    the end are no pairs.

    Args:
        source: the corpus.
        note: is called with messages on what is not read.

    Raises:
        CorpusError: a file is missing, damaged, empty, not UTF-8, not a table, or its sides are swapped or unequal; or
            more than 1% of its rows, and more than three, do not have the right form; or a column is missing.
        InputError: a Parquet file needs pyarrow, which is missing.
    """
    if left_out := held_out_names(source):
        note(f"{source.path}: held-out text is not read: {listing(left_out)}; give it as a test set")
    pairs_read = 0
    for files in files_by_corpus(source):
        limit = None if source.max_pairs is None else source.max_pairs - pairs_read
        for pair in _pairs_of_corpus(files, source, limit, note):
            pairs_read += 1
            yield pair
        if pairs_read == source.max_pairs:
            break


def _pairs_of_corpus(
    files: Sequence[Path], source: SourceConfig, limit: int | None, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pairs of one corpus of `source`, at most `limit`; raises as `read_pairs` does."""
    label = f"corpus source `{source.name}`: {' and '.join(map(str, files))}"
    texts = texts_of(source, files, label)
    form = None if len(texts) == 2 else texts[0].form()
    _refuse_columns(source, form, label)
    remarks = Remarks(texts[0].label, note)
    pairs = itertools.islice(_pairs_of(texts, form, source, remarks.add), limit)
    try:
        # 1. The first pairs show whether this can be a corpus.
        first_pairs = list(itertools.islice(pairs, _PAIRS_LOOKED_AT))
        if not first_pairs:
            raise CorpusError(f"{label}: it has no lines; check that it is the right file")
        refuse_swapped(first_pairs, label, [text.label for text in texts], remarks)
        refuse_other_scripts(first_pairs, label, remarks)

        # 2. All pairs.
        counter = BadRowCounter(label, form or Form.TSV, source, remarks)
        count = 0
        for count, pair in enumerate(itertools.chain(first_pairs, pairs), start=1):
            if pair.defect == BAD_ROW:
                counter.add(pair.line, count)
            yield pair
        counter.refuse_too_many(count)
    except UnequalSidesError:
        raise _unequal_sides(source.name, texts) from None


def _refuse_columns(source: SourceConfig, form: Form | None, label: str) -> None:
    """Raise CorpusError if `source` names columns of a corpus that has none; None is the form of two texts."""
    if source.source_column is None and source.min_score is None:
        return
    if form is None or not form.has_columns:
        kind = "two text files" if form is None else f"a {form}"
        keys = "`source_column`, `target_column` and `min_score`"
        raise CorpusError(f"{label}: {keys} choose columns of a table, and this is {kind}; remove them")


def _pairs_of(
    texts: Sequence[TextFile], form: Form | None, source: SourceConfig, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pairs of two texts, one per side, or of one text that holds both sides, in `form`."""
    drop_invalid = source.invalid_utf8 == "drop"
    if len(texts) == 2:
        english, persian = texts
        return pairs_of_sides(english.lines(drop_invalid=drop_invalid), persian.lines(drop_invalid=drop_invalid))
    (text,) = texts
    if form is Form.TMX:
        return pairs_of_tmx(text.blocks(), text.label, drop_invalid=drop_invalid)
    if form is Form.PARQUET:
        return pairs_of_parquet(text.file, source, text.label, note, drop_invalid=drop_invalid)
    lines = text.lines(drop_invalid=drop_invalid)
    if form is Form.JSON_LINES:
        return pairs_of_json_lines(lines, source, text.label, note)
    rows = rows_of_csv(lines, text.label, note) if form is Form.CSV else rows_of_tsv(lines)
    return pairs_of_table(rows, source, text.label, note)


def _unequal_sides(name: str, texts: Sequence[TextFile]) -> CorpusError:
    """Return an error with the number of lines of each side, and the first empty line of each."""
    line_counts = []
    empty_lines = []
    for text in texts:
        count = 0
        first_empty = None
        for count, line in enumerate(text.lines(drop_invalid=True), start=1):
            is_empty = type(line) is str and not line.strip()  # a line that cannot be read has another type
            if is_empty and first_empty is None:
                first_empty = count
        line_counts.append(count)
        if first_empty is not None:
            empty_lines.append(f"line {first_empty:,} of {text.label}")
    english, persian = texts
    message = (
        f"corpus source `{name}`: the two sides differ in length: {english.label} has {line_counts[0]:,} lines, "
        f"{persian.label} has {line_counts[1]:,}; line N of both sides must be a pair, so get the corpus again or "
        "correct it"
    )
    if empty_lines:
        message += f". First empty line: {' and '.join(empty_lines)}"
    return CorpusError(message)
