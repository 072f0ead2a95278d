"""Pairs from the rows of a table, with or without a line of names, and with or without scores."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from translator.config import SourceConfig
from translator.corpus.reading.cells import pair_of_texts, score_in
from translator.corpus.reading.columns import Columns, columns_by_name, place_of_column, usual_columns
from translator.corpus.reading.lines import BAD_ROW, Pair, Unreadable, numbered_lines
from translator.corpus.scripts import ARABIC_LETTER, ARABIC_SCRIPT_WORD
from translator.errors import CorpusError

_NO_NAMES: Final = "; line 1 has no such name; if the table has no line of names, give numbers, from 1"
_ROWS_FOR_WIDTH: Final = 1000
_PERSIAN_SHARE: Final = 0.9  # of the rows, with which a first row without Persian has names
_NUMERIC_SHARE: Final = 0.99  # of the cells of a column, with which it has numbers and no text
# No key, no address.
_ENGLISH_WORD: Final = re.compile(r"(?<![^\s\"'(“‘])(?:[A-Z]?[a-z]{2,}|[A-Z]{2,})(?![^\s\"').,;:!?”’…])")
_WORDS_OF_TEXT: Final = 0.2  # of the largest vocabulary, which a column of texts has; codes and names repeat
SEPARATOR_LINE: Final = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # tells Excel the delimiter of the next lines


class Row(NamedTuple):
    """A row of a table."""

    line: int  # on which it starts, from 1
    text: str  # its first line, or an `Unreadable`
    cells: list[str]  # none if it does not have the right form


def rows_of_tsv(lines: Iterable[str]) -> Iterator[Row]:
    """Yield a row for each line, with tabs between its cells; a `sep=` first, and blank lines last, are no rows."""
    for number, line in numbered_lines(lines):
        if number == 1 and SEPARATOR_LINE.fullmatch(line):
            continue
        yield Row(number, line, line.split("\t"))


def pairs_of_table(
    rows: Iterable[Row], source: SourceConfig, label: str, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pairs of a table.

    The table has as many columns as most of its first 1,000 rows, at least two. A row with another number of columns
    gives a pair with the defect `BAD_ROW`. The first row is a line of names, and no pair, if it has the names that
    `source` gives or, without these, usual names (see `usual_columns`). So is a first row with words but no Persian, if
    90% of the others have Persian. Without usual names, English and Persian are the first columns with text in their
    scripts; if there is no Persian, the first two columns that are not numbers.

    Args:
        source: with `source_column`, `target_column` and `min_score`.
        label: name of the table in messages.
        note: is called with a message on line 1 if it has names, and on the columns that are read or ignored.

    Raises CorpusError: a column that `source` names is missing, or no two columns remain beside the scores.
    """
    rows = iter(rows)
    first_rows = list(islice(rows, _ROWS_FOR_WIDTH))
    if not first_rows:
        return
    width = _width(first_rows)
    names = _names(first_rows, width, source, label)
    if names is None:
        columns = _unnamed_columns(first_rows, width, source, label)
        if _starts_with_names(first_rows, width, columns):
            names = [cell.strip() for cell in first_rows[0].cells]
            first_rows = first_rows[1:]
    else:
        columns = columns_by_name(names, source, label, absence=_NO_NAMES)
        first_rows = first_rows[1:]
    _note_ignored(columns, width, names, label, note)

    english_place, persian_place, score_place = columns
    for line, text, cells in chain(first_rows, rows):
        if len(cells) == width:
            if score_place is None:
                yield Pair(line, cells[english_place], cells[persian_place])
            else:
                yield pair_of_texts(line, cells[english_place], cells[persian_place], cells[score_place], source)
        elif isinstance(text, Unreadable):
            yield Pair(line, "", "", str(text))
        elif text:
            yield Pair(line, text, "", BAD_ROW)
        else:
            yield Pair(line, "", "")


def _width(rows: Iterable[Row]) -> int:
    """Return the number of columns that most `rows` have, at least two; of equally frequent numbers the smallest."""
    counts = Counter(len(row.cells) for row in rows if len(row.cells) > 1)
    if not counts:
        return 2
    return min(counts, key=lambda width: (-counts[width], width))


def _names(rows: Sequence[Row], width: int, source: SourceConfig, label: str) -> list[str] | None:
    """Return the names of the columns, if the first row has them; raise CorpusError if `source` needs them."""
    first_cells = [cell.strip() for cell in rows[0].cells]
    given_columns = [source.source_column, source.target_column]
    if source.min_score is not None:
        given_columns.append(source.min_score.column)
    needs_names = any(isinstance(column, str) for column in given_columns)
    if not needs_names and usual_columns(first_cells, label) is None:
        return None
    if len(first_cells) != width:
        raise CorpusError(
            f"{label}: line 1 has the names of {len(first_cells)} columns, and most rows have {width}; correct line 1, "
            "or give columns by their numbers, from 1"
        )
    return first_cells


def _starts_with_names(rows: Sequence[Row], width: int, columns: Columns) -> bool:
    """Return whether the first row has words without Persian, and 90% of the others have Persian in its column."""
    # 1. Names are words in another script.
    first_cells = rows[0].cells
    if len(first_cells) != width or any(score_in(cell) is not None for cell in first_cells):
        return False
    names = [first_cells[columns.english].strip(), first_cells[columns.persian].strip()]
    if not all(names) or ARABIC_LETTER.search(names[1]):
        return False

    # 2. Nearly all texts below are in the Arabic script.
    texts = [row.cells[columns.persian] for row in rows[1:] if len(row.cells) == width]
    persian_texts = [text for text in texts if ARABIC_LETTER.search(text)]
    return len(persian_texts) > 0 and len(persian_texts) >= _PERSIAN_SHARE * len(texts)


def _unnamed_columns(rows: Sequence[Row], width: int, source: SourceConfig, label: str) -> Columns:
    """Return the columns of a table without a line of names; raise CorpusError for a number beyond the last."""
    numbers = [str(number) for number in range(1, width + 1)]
    score = None
    if source.min_score is not None:
        score = place_of_column(source.min_score.column, numbers, label)
    if source.source_column is not None and source.target_column is not None:
        english = place_of_column(source.source_column, numbers, label)
        persian = place_of_column(source.target_column, numbers, label)
        return Columns(english=english, persian=persian, score=score)

    places = _text_places(rows, width, score)
    if len(places) < 2:
        raise CorpusError(f"{label}: it has no column for each text beside the scores; see `min_score`")
    persian_place = _place_of_words(rows, width, places, ARABIC_SCRIPT_WORD)
    if persian_place is None:
        return Columns(english=places[0], persian=places[1], score=score)
    places.remove(persian_place)
    english_place = _place_of_words(rows, width, places, _ENGLISH_WORD)
    if english_place is None:
        english_place = places[0]
    return Columns(english=english_place, persian=persian_place, score=score)


def _place_of_words(rows: Sequence[Row], width: int, places: Sequence[int], word: re.Pattern[str]) -> int | None:
    """Return the first of `places` with about as many different words as any, in half of its texts or more."""
    # Keys, addresses and codes of languages have no words, or the same ones in each row.
    vocabulary_sizes: dict[int, int] = {}
    for place in places:
        texts = [row.cells[place] for row in rows if len(row.cells) == width and row.cells[place].strip()]
        words_of_texts = [word.findall(text) for text in texts]
        if 2 * sum(map(bool, words_of_texts)) >= len(texts) > 0:
            vocabulary_sizes[place] = len(set(chain.from_iterable(words_of_texts)))
    most = max(vocabulary_sizes.values(), default=0)
    return next((place for place, size in vocabulary_sizes.items() if size >= _WORDS_OF_TEXT * most), None)


def _text_places(rows: Sequence[Row], width: int, score: int | None) -> list[int]:
    """Return the places of the columns that are no numbers; of all but the scores, if fewer than two have texts."""
    whole_rows = [row.cells for row in rows if len(row.cells) == width]
    # The first row may have names.
    rows_of_values = whole_rows[1:] or whole_rows
    places = [place for place in range(width) if place != score]
    text_places = []
    for place in places:
        numbers = sum(_is_number(cells[place]) for cells in rows_of_values)
        if numbers < _NUMERIC_SHARE * len(rows_of_values):
            text_places.append(place)
    return text_places if len(text_places) > 1 else places


def _is_number(cell: str) -> bool:
    """Return whether a cell of a column of numbers could be so: a number, "nan" or nothing."""
    cell = cell.strip()
    return cell == "" or cell.lower() == "nan" or score_in(cell) is not None


def _note_ignored(
    columns: Columns, width: int, names: Sequence[str] | None, label: str, note: Callable[[str], None]
) -> None:
    """Call `note` if the table has columns that are not read."""
    if names is not None:
        note(f"{label}: line 1 has names; {columns.note_on_columns_read(names)}")
        return
    message = f"{label}: English is read from column {columns.english + 1}, Persian from column {columns.persian + 1}"
    if (columns.english, columns.persian, columns.score) == (0, 1, None):
        if width == 2:
            return
        message += "; the third column is not read" if width == 3 else f"; columns 3 to {width} are not read"
    note(message)
