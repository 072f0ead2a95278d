"""Columns of a table: which of them hold the English text, the Persian text and the score of a pair."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Final

from translator.config import SourceConfig
from translator.corpus.reading.languages import paired_names
from translator.corpus.selecting.scripts import ARABIC_SCRIPT_WORD
from translator.corpus.sources import listing
from translator.errors import CorpusError
from translator.run.text import excerpt

_ROLES: Final = (("source", "target"), ("source", "targets"), ("src", "tgt"), ("english", "non_english"))
"""Names of the two columns in public corpora without the names of languages: WMT24++, ParsiNLU, and others."""
# A word between spaces, quotation marks and punctuation. So keys such as `en_17` and addresses have none.
_ENGLISH_WORD: Final = re.compile(r"(?<![^\s\"'(“‘])(?:[A-Z]?[a-z]{2,}|[A-Z]{2,})(?![^\s\"').,;:!?”’…])")
_SHARE_OF_WORDS: Final = 0.2
"""A column of texts has at least this share of the different words of the richest column; codes and names repeat."""
_HOW_TO_CHOOSE: Final = (
    "`source_column` and `target_column`, for the first source with `--set corpus.sources.0.source_column=NAME "
    "corpus.sources.0.target_column=NAME`"
)


def usual_columns(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the usual names of an English and a Persian column among `names`; several if any of them may be meant.

    Usual are names that differ only in the language, such as `en` and `fa`, `translation.en` and `translation.fa`, or
    `sentence_eng_Latn` and `sentence_pes_Arab`; else `source` and `target`, `src` and `tgt`.
    """
    pairs = paired_names(names)
    if pairs:
        return pairs
    by_lower_name = {name.lower(): name for name in names}
    for english, persian in _ROLES:
        if english in by_lower_name and persian in by_lower_name:
            return [(by_lower_name[english], by_lower_name[persian])]
    return []


def columns_of(
    names: Sequence[str], rows: Sequence[Sequence[str]], source: SourceConfig, label: str
) -> tuple[str, str, str | None]:
    """Return the names of the columns of English, Persian and the score, if there is one.

    They are the columns that `source` names, else the usual ones, else those with text in the two scripts: Persian is
    the first column with at least a fifth as many different words in its script as any column has. English is found
    likewise among the others; without English words, it is the first of them. If no column has Persian, English is the
    first column and Persian the second, not counting that of the score.

    Args:
        names: the names of all columns, in order.
        rows: the texts of the first rows, one for each name.
        source: with `source_column`, `target_column` and `min_score`; a number counts the columns from 1.
        label: name of the table in messages.

    Raises CorpusError: a column is missing, several are usual, or no two columns remain beside the scores.
    """
    # 1. The columns that `source` names, or that have usual names.
    score = None if source.min_score is None else column_name(source.min_score.column, names, label)
    if source.source_column is not None and source.target_column is not None:  # both are given, or neither
        english = column_name(source.source_column, names, label)
        persian = column_name(source.target_column, names, label)
        return english, persian, score
    usual = usual_columns(names)
    if len(usual) > 1:
        raise CorpusError(
            f"{label}: several columns may hold the two texts; choose with {_HOW_TO_CHOOSE}. Columns: {listing(names)}"
        )
    if usual:
        english, persian = usual[0]
        return english, persian, score

    # 2. The columns with text in the two scripts. A place is the index of a column, from 0.
    places = [place for place, name in enumerate(names) if name != score]
    if len(places) < 2:
        raise CorpusError(
            f"{label}: no column for each text; name yours in {_HOW_TO_CHOOSE}. Columns: {listing(names)}"
        )
    persian_place = _place_of_words(rows, places, ARABIC_SCRIPT_WORD)
    if persian_place is None:
        return names[places[0]], names[places[1]], score
    places.remove(persian_place)
    english_place = _place_of_words(rows, places, _ENGLISH_WORD)
    if english_place is None:
        english_place = places[0]
    return names[english_place], names[persian_place], score


def _place_of_words(rows: Sequence[Sequence[str]], places: Iterable[int], word: re.Pattern[str]) -> int | None:
    """Return the place of the first column with at least a fifth as many different words as any column has.

    A column counts only if at least half of its texts have words; None: there is no such column. A place is the index
    of a column in a row; only `places` are compared. `word` matches a word of the language.
    """
    # 1. Count the different words of each column. Words, and different ones, tell texts from keys, addresses and codes
    # of languages, which have no words, or the same ones in each row.
    word_counts: dict[int, int] = {}  # by place
    for place in places:
        texts = [row[place] for row in rows if row[place].strip()]
        vocabulary: set[str] = set()
        texts_with_words = 0
        for text in texts:
            words = word.findall(text)
            vocabulary.update(words)
            texts_with_words += bool(words)
        half_have_words = 2 * texts_with_words >= len(texts) > 0
        if half_have_words:
            word_counts[place] = len(vocabulary)

    # 2. Take the first column whose count is at least a share of the largest.
    largest_count = max(word_counts.values(), default=0)
    for place, count in word_counts.items():
        if count >= _SHARE_OF_WORDS * largest_count:
            return place
    return None


def column_name(column: str | int, names: Sequence[str], label: str) -> str:
    """Return the name of a column that is given by its name or by its number from 1; raise CorpusError for another."""
    if column in names:
        return str(column)
    if isinstance(column, int) and column <= len(names):
        return names[column - 1]
    similar_names = difflib.get_close_matches(str(column), names, n=1)
    advice = f"; did you mean `{excerpt(similar_names[0], 200)}`?" if similar_names else "."
    shown = excerpt(str(column), 200)
    raise CorpusError(f"{label}: no column `{shown}`{advice} A number counts them from 1. Columns: {listing(names)}")
