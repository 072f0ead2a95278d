"""Reading a source: its raw pairs as a stream, from any layout, in place; texts that cannot be a corpus are refused."""

import functools
import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final

from translator.config import SourceConfig
from translator.corpus.reading.forms import Form, TextFile
from translator.corpus.reading.languages import refuse_other_scripts, refuse_swapped
from translator.corpus.reading.lines import BAD_ROW, Pair, RowCounts, pairs_of_sides
from translator.corpus.reading.messages import pairs_of_messages
from translator.corpus.reading.parquet import rows_of_parquet
from translator.corpus.reading.tables import pairs_of_rows, rows_of_lines
from translator.corpus.reading.tmx import pairs_of_tmx
from translator.corpus.sources import corpora_of
from translator.errors import CorpusError
from translator.run.logging import LOGGER

_FIRST_PAIRS: Final = 1000  # which show whether this can be a corpus
_ALWAYS_ALLOWED: Final = 3  # bad rows of a file of any size


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
    pairs_of_corpora = (_pairs_of_corpus(texts, source, note) for texts in corpora_of(source, note))
    yield from itertools.islice(itertools.chain.from_iterable(pairs_of_corpora), source.max_pairs)


def _pairs_of_corpus(texts: Sequence[TextFile], source: SourceConfig, note: Callable[[str], None]) -> Iterator[Pair]:
    """Yield the pairs of one corpus of `source`; raises as `read_pairs` does."""
    label = f"corpus source `{source.name}`: {' and '.join(text.label for text in texts)}"
    form = None if len(texts) == 2 else texts[0].form()  # two texts of lines have none

    # The messages on the columns that are read go to `note`, and errors repeat them.
    remarks: list[str] = []

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
        if remarks:  # they tell of columns that were chosen, which may be the wrong ones
            refuse_other_scripts(first_pairs)
    except CorpusError as error:
        raise CorpusError(f"{label}: {error}{''.join(remarks)}") from None

    # 2. All pairs. A few bad rows are dropped; many mean another kind of file.
    advice = (
        "each needs a text for both sides, as many columns as the others, and a number as score; correct the file, "
        "name its columns (`source_column`, `target_column`), or give two files as `source_path` and `target_path`"
    )
    row_tally = RowCounts(label, f"{advice}{''.join(remarks)}", _ALWAYS_ALLOWED)
    for pair in itertools.chain(first_pairs, pairs):
        row_tally.add(pair.line, is_bad=pair.defect == BAD_ROW)
        yield pair
    row_tally.check()


def _pairs_of_texts(
    texts: Sequence[TextFile], form: Form | None, source: SourceConfig, label: str, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Return the pairs of two texts, one per side (`form`: None), or of one text that holds both sides, in `form`.

    `note` is called with a message on the columns that are read.
    """
    drop_invalid = source.invalid_utf8 == "drop"
    advice = ", or set `invalid_utf8: drop` for this source to skip such lines"
    lines_of_texts = [text.lines(drop_invalid=drop_invalid, advice=advice) for text in texts]  # nothing is read yet
    text = texts[0]  # the only one, if there is a `form`

    # 1. Tables.
    if form is Form.PARQUET:
        return pairs_of_rows(rows_of_parquet(text), source, text.label, note)
    if form in (Form.TSV, Form.CSV, Form.JSON_LINES):
        # A column that is given by name shows that the first row has names. Else the rows show whether it has (None).
        given_columns = [source.source_column, source.target_column]
        if source.min_score is not None:
            given_columns.append(source.min_score.column)
        has_names = True if any(isinstance(column, str) for column in given_columns) else None
        rows = rows_of_lines(lines_of_texts[0], form, has_names=has_names)
        return pairs_of_rows(rows, source, text.label, note)

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
