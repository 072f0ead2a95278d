"""Columns of a table: which of them hold the English text, the Persian text and the score of a pair."""

import difflib
from collections.abc import Sequence
from typing import Final, NamedTuple

from translator.config import SourceConfig
from translator.corpus.reading.languages import LanguageCode, split_language
from translator.errors import CorpusError
from translator.run.text import excerpt

_ROLES: Final = (("source", "target"), ("source", "targets"), ("src", "tgt"), ("english", "non_english"))
"""Names of the two columns in public corpora without the names of languages: WMT24++, ParsiNLU, and others."""
_NAMES_SHOWN: Final = 20


class Columns(NamedTuple):
    """Places of the columns of a table, from 0."""

    english: int
    persian: int
    score: int | None

    def names_read(self, names: Sequence[str]) -> list[str]:
        """Return those of the `names` of all columns that are read."""
        return [names[place] for place in self if place is not None]

    def note_on_columns_read(self, names: Sequence[str]) -> str:
        """Return a note that tells which of the columns called `names` are read."""
        shown_names = ", ".join(f"`{name}`" for name in self.names_read(names))
        return f"the columns {shown_names} are read"


class SideColumns(NamedTuple):
    """Places of the columns with the two texts, from 0."""

    english: int
    persian: int


def usual_columns(names: Sequence[str], label: str) -> SideColumns | None:
    """Return the columns of the two sides by their names; None if no names are usual.

    Usual are names that differ only in the language, such as `en` and `fa`, `translation.en` and `translation.fa`, or
    `sentence_eng_Latn` and `sentence_pes_Arab`; else `source` and `target`, `src` and `tgt`.

    Raises CorpusError: several pairs of names are usual.
    """
    # 1. Pairs of names that differ only in the language.
    places_of_stem: dict[str, dict[LanguageCode, list[int]]] = {}
    for place, name in enumerate(names):
        side = split_language(name)
        if side is not None:
            places_of_stem.setdefault(side.stem.lower(), {}).setdefault(side.language, []).append(place)
    pairs = []
    for places in places_of_stem.values():
        for english in places.get("en", ()):
            for persian in places.get("fa", ()):
                pairs.append(SideColumns(english, persian))
    if len(pairs) > 1:
        raise CorpusError(
            f"{label}: several columns may hold the two texts; choose with `source_column` and `target_column`, for "
            f"the first source with `--set corpus.sources.0.source_column=NAME corpus.sources.0.target_column=NAME`. "
            f"Columns: {column_listing(names)}"
        )
    if pairs:
        return pairs[0]

    # 2. Names of roles.
    lower_names = [name.lower() for name in names]
    for english_name, persian_name in _ROLES:
        if lower_names.count(english_name) == 1 and lower_names.count(persian_name) == 1:
            return SideColumns(lower_names.index(english_name), lower_names.index(persian_name))
    return None


def columns_by_name(names: Sequence[str], source: SourceConfig, label: str, absence: str = "") -> Columns:
    """Return the columns that `source` names, by default the usual ones.

    Args:
        names: the names of all columns, in order.
        source: with `source_column`, `target_column` and `min_score`; a number counts the columns from 1.
        label: name of the table in messages.
        absence: end of the message on a name that is missing: why, and what to do.

    Raises CorpusError: a column is missing, or both sides are one, or no usual ones are there.
    """
    score = None if source.min_score is None else place_of_column(source.min_score.column, names, label, absence)
    if source.source_column is None or source.target_column is None:
        sides = usual_columns(names, label)
        if sides is None:
            raise CorpusError(
                f"{label}: no columns like `en` and `fa`, or `source` and `target`; name yours in `source_column` and "
                "`target_column`, for the first source with `--set corpus.sources.0.source_column=NAME "
                f"corpus.sources.0.target_column=NAME`. Columns: {column_listing(names)}"
            )
        return Columns(sides.english, sides.persian, score)
    english = place_of_column(source.source_column, names, label, absence)
    persian = place_of_column(source.target_column, names, label, absence)
    # A name and a number may mean one column.
    if english == persian:
        shown = excerpt(names[english], 200)
        raise CorpusError(f"{label}: `source_column` and `target_column` are the same column, `{shown}`")
    return Columns(english, persian, score)


def place_of_column(column: str | int, names: Sequence[str], label: str, absence: str = "") -> int:
    """Return the place, from 0, of a column that is given by its name or by its number from 1.

    Args:
        names: the names of all columns, in order.
        label: name of the table in messages.
        absence: end of the message on a name that is missing: why, and what to do.

    Raises CorpusError: there is no such column, or several have the name.
    """
    if isinstance(column, int):
        if column > len(names):
            raise CorpusError(f"{label}: no column {column}; it has {len(names)}: {column_listing(names)}")
        return column - 1
    if names.count(column) > 1:
        raise CorpusError(f"{label}: several columns are called `{excerpt(column, 200)}`; give the number of one")
    if column not in names:
        similar_names = difflib.get_close_matches(column, names, n=1)
        advice = f"; did you mean `{excerpt(similar_names[0], 200)}`?" if similar_names else "."
        shown = excerpt(column, 200)
        raise CorpusError(f"{label}: no column `{shown}`{advice} Columns: {column_listing(names)}{absence}")
    return names.index(column)


def column_listing(names: Sequence[str]) -> str:
    """Return the first names of columns for a message."""
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return (", ".join(excerpt(name, 100) for name in names[:_NAMES_SHOWN]) or "none") + more
