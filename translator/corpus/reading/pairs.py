"""Reading a source: its raw pairs as a stream, from any layout, in place; texts that cannot be a corpus are refused."""

import functools
import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Final

from translator.config import SourceConfig
from translator.corpus.reading.forms import Form, TextFile, form_of, texts_by_key, unread_form
from translator.corpus.reading.languages import refuse_other_scripts, refuse_swapped
from translator.corpus.reading.lines import BAD_ROW, Pair, pairs_of_sides
from translator.corpus.reading.messages import pairs_of_messages
from translator.corpus.reading.packing import members_of, packing_of
from translator.corpus.reading.parquet import pairs_of_parquet
from translator.corpus.reading.tables import cells_of_csv, cells_of_tsv, pairs_of_cells, pairs_of_json_lines
from translator.corpus.reading.tmx import pairs_of_tmx
from translator.corpus.sources import choose_members, files_by_corpus, held_out_names, listing
from translator.errors import CorpusError
from translator.run.logging import LOGGER

_FIRST_PAIRS: Final = 1000  # which show whether this can be a corpus
_BAD_SHARE: Final = 0.01  # of the rows; with more, it is another kind of file
_ALWAYS_ALLOWED: Final = 3  # bad rows of a file of any size
_CHECKED_FROM: Final = 1000  # bad rows, with which the share is looked at before the end of a file
_BAD_ROWS_SHOWN: Final = 5
_REQUIREMENTS: Final = {
    Form.TSV: "a row needs English, a tab and Persian, and as many columns as the other rows",
    Form.CSV: (
        "a row needs as many cells as the other rows; a cell with quotation marks must be in quotation marks, with its "
        "own doubled"
    ),
    Form.JSON_LINES: "a line needs one JSON object with a text for each side",
    Form.PARQUET: "a row needs a text for each side",
    Form.PO: "a message needs a translation",
    Form.MO: "a message needs a translation",
    Form.TMX: "the unit of a TMX needs to be well-formed XML, without control characters",
}
"""What a row or unit of each form must be."""


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
    texts = _texts_of(source, files, label)
    form = None if len(texts) == 2 else texts[0].form()
    remarks: list[str] = []  # on the columns that are read; errors repeat them

    def remark(message: str) -> None:
        remarks.append(f"; {message}")
        note(f"{texts[0].label}: {message}")

    # 1. The first pairs show whether this can be a corpus.
    pairs = itertools.islice(_pairs_of_texts(texts, form, source, label, remark), limit)
    first_pairs = list(itertools.islice(pairs, _FIRST_PAIRS))
    if not first_pairs and form in (Form.PO, Form.MO):  # a folder of a system has catalogues without messages
        note(f"{texts[0].label}: it has no messages")
        return
    if not first_pairs:
        raise CorpusError(f"{label}: it has no lines; check that it is the right file")
    sides = ("the column of the English text", "the other") if form else (texts[0].label, texts[1].label)
    try:
        refuse_swapped(first_pairs, sides)
        refuse_other_scripts(first_pairs, are_columns=len(remarks) > 0)
    except CorpusError as error:
        raise CorpusError(f"{label}: {error}{''.join(remarks)}") from None

    # 2. All pairs. A few bad rows are dropped; many mean another kind of file.
    requirement = _REQUIREMENTS[form or Form.TSV]
    if source.min_score is not None:
        requirement += f", and a score that is a number in column `{source.min_score.column}`"
    unit = "row" if form is Form.PARQUET else "line"
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
            f"{label}: {bad_count:,} of {count:,} rows do not have the right form ({unit}s {numbers}), and 1% are "
            f"allowed; {requirement}; correct the file, or give two files as `source_path` and `target_path`"
            f"{''.join(remarks)}"
        )


def _texts_of(source: SourceConfig, files: Sequence[Path], label: str) -> list[TextFile]:
    """Return the two texts of a corpus, or the one that holds both sides.

    Raises CorpusError: a member of a zip is missing, or `source` names members and the corpus is no zip, or a name
        tells that the lines of a text are no texts.
    """
    texts = [TextFile(file) for file in files]
    if len(files) == 1 and packing_of(files[0]) == "zip archive":
        members = choose_members(files[0], members_of(files[0]), source.source_member, source.target_member)
        texts = [TextFile(files[0], member) for member in members]
    elif source.source_member is not None:
        raise CorpusError(f"{label} is not a zip archive; `source_member` and `target_member` name members of a zip")
    for text in texts:
        unread = unread_form(text.name)
        if unread is not None and form_of(text.name) is None:
            raise CorpusError(
                f"{text.label} is {unread.kind}, which cannot be read as a corpus; write its texts to a TSV, with "
                "English, a tab and Persian on each line, or convert it to TMX"
            )
        if len(texts) == 2 and form_of(text.name) is Form.JSON_LINES:
            raise texts_by_key(text.label)
    return texts


def _pairs_of_texts(
    texts: Sequence[TextFile], form: Form | None, source: SourceConfig, label: str, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pairs of two texts, one per side, or of one text that holds both sides, in `form`."""
    has_columns = form not in (None, Form.TMX, Form.PO, Form.MO)
    if not has_columns and (source.source_column is not None or source.min_score is not None):
        kind = "two text files" if form is None else f"a {form}"
        keys = "`source_column`, `target_column` and `min_score`"
        raise CorpusError(f"{label}: {keys} choose columns of a table, and this is {kind}; remove them")
    drop_invalid = source.invalid_utf8 == "drop"
    if form is None:
        english, persian = (text.lines(drop_invalid=drop_invalid) for text in texts)
        return pairs_of_sides(english, persian, f"corpus source `{source.name}`", (texts[0].label, texts[1].label))
    (text,) = texts
    if form is Form.TMX:
        return pairs_of_tmx(text.blocks(), text.label, drop_invalid=drop_invalid)
    if form in (Form.PO, Form.MO):
        return pairs_of_messages(text.blocks(), text.label, compiled=form is Form.MO)
    if form is Form.PARQUET:
        return pairs_of_parquet(text.file, source, text.label, note, drop_invalid=drop_invalid)
    lines = text.lines(drop_invalid=drop_invalid)
    if form is Form.JSON_LINES:
        return pairs_of_json_lines(lines, source, text.label, note)
    rows = cells_of_csv(lines) if form is Form.CSV else cells_of_tsv(lines)
    return pairs_of_cells(rows, source, text.label, note)
