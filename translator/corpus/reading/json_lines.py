"""Pairs from JSON Lines: one object for each pair."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final

from translator.config import SourceConfig
from translator.corpus.reading.cells import pair_of_texts, text_in
from translator.corpus.reading.columns import Columns, columns_by_name
from translator.corpus.reading.lines import BAD_ROW, Pair, Unreadable, numbered_lines

KeyPath = tuple[str, ...]
"""Keys that lead from an object to a value in it."""

_LINES_FOR_COLUMNS: Final = 1000
_DEEPEST: Final = 4  # keys of a path


def pairs_of_json_lines(
    lines: Iterable[str], source: SourceConfig, label: str, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pairs of JSON Lines; the blank lines at the end are no pairs.

    The objects on the first 1,000 lines decide the columns; `translation.en` is the value `en` in the object
    `translation`. A line that is no object, or whose object has no text for a side, gives a pair with the defect
    `BAD_ROW`.

    Args:
        lines: the objects.
        source: with `source_column`, `target_column` and `min_score`.
        label: name of the text in messages.
        note: is called with a message on the columns that are read.

    Raises CorpusError: these objects do not have the columns of a pair.
    """
    # 1. The columns, of which the first objects may lack some.
    numbered = numbered_lines(lines)
    first_lines = list(islice(numbered, _LINES_FOR_COLUMNS))
    paths = paths_in(line for _, line in first_lines)
    names = [".".join(path) for path in paths]
    columns: Columns | None = None
    if paths:
        columns = columns_by_name(names, source, label)
        if len(names) > len(columns.names_read(names)):
            note(f"{label}: {columns.note_on_columns_read(names)}")

    # 2. The pairs.
    for number, line in chain(first_lines, numbered):
        if isinstance(line, Unreadable):
            yield Pair(number, "", "", str(line))
            continue
        if not line:
            yield Pair(number, "", "")
            continue
        content = object_in(line)
        if content is None or columns is None:
            yield Pair(number, line, "", BAD_ROW)
            continue
        english = text_in(value_at(content, paths[columns.english]))
        persian = text_in(value_at(content, paths[columns.persian]))
        if english is None or persian is None:
            yield Pair(number, line, "", BAD_ROW)
            continue
        score = None if columns.score is None else value_at(content, paths[columns.score])
        yield pair_of_texts(number, english, persian, score, source)


def paths_in(lines: Iterable[str]) -> list[KeyPath]:
    """Return the paths of the objects in `lines`, each once, in the order of their first occurrence."""
    paths: dict[KeyPath, None] = {}
    for line in lines:
        content = None if isinstance(line, Unreadable) else object_in(line)
        if content is not None:
            paths.update(dict.fromkeys(_paths(content)))
    return list(paths)


def object_in(line: str) -> dict[str, Any] | None:
    """Return the object that a line holds; None if it holds none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # a number may be too long, and lists too deep
        return None
    return value if isinstance(value, dict) else None


def _paths(content: dict[str, Any], start: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the path of each value of an object that is no object itself."""
    for key, value in content.items():
        path = (*start, key)
        if isinstance(value, dict) and len(path) < _DEEPEST:
            yield from _paths(value, path)
        else:
            yield path


def value_at(content: dict[str, Any], path: KeyPath) -> Any:
    """Return the value at a path; None if there is none."""
    value: Any = content
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
