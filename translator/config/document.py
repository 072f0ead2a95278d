"""A YAML document with the line of every key, so that a mistake can be shown where it stands."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from translator.errors import ConfigError

KeyPath = tuple[str | int, ...]

_OVERRIDE = "--set "
_EXAMPLE = "write it as key.path=value, for example training.max_steps=2000"
_MOST_PLACES = 10_000


class _Loader(yaml.SafeLoader):
    """The safe loader, with `1e-4` read as the number that everybody means (YAML 1.1 wants `1.0e-4`)."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


@dataclass
class Document:
    """The values of a YAML file and where they stand."""

    name: str
    """What to call the document in a message: a file name, say."""
    values: dict[str, Any] = field(default_factory=dict)
    """The parsed mapping."""
    places: dict[KeyPath, str] = field(default_factory=dict)
    """For each key path, a phrase for messages: `line 12`, or the override that set it."""
    problems: list[str] = field(default_factory=list)
    """Mistakes of the document itself: keys written twice, say."""

    def place(self, path: KeyPath) -> str:
        """Return the place of `path`, or of the nearest enclosing key that has one."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.places:
                return self.places[path[:end]]
        return "line 1"

    def to_blame(self, paths: Sequence[KeyPath]) -> KeyPath:
        """Return which of the keys at odds to show: one that an override set, else one that is written, else any."""
        return min(paths, key=lambda path: (not self.place(path).startswith(_OVERRIDE), path not in self.places))


class _UnreadableError(Exception):
    """Text that is no YAML, or more of it than a recipe can want; the message says what is wrong."""

    def __init__(self, reason: str, place: str = "") -> None:
        """Keep the `reason`, and the `place` in the text (`line 2, column 1: `) if it is known."""
        super().__init__(reason)
        self.place = place


def _read_yaml(text: str, document: Document) -> Any:
    """Return the values of YAML `text` (None if empty), its places and keys that stand twice noted in `document`.

    A section with an anchor is copied for each of its aliases, so that an override of one leaves the others alone.

    Raises:
        _UnreadableError: the text is not YAML, is nested too deeply or, its aliases written out, is too long.
    """
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return None
        _record(root, (), document, itertools.count(1))
        return _unshared(loader.construct_document(root))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise _UnreadableError(f"not valid YAML: {error.problem or error.context}", place) from error
    except RecursionError as error:
        reason = "nested too deeply; take out the needless brackets, or the alias inside its own anchor"
        raise _UnreadableError(reason) from error
    # PyYAML meets `!!bool x`, `!!timestamp x` and a sexagesimal number of 1000 digits with errors not its own.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise _UnreadableError(f"not valid YAML: {error}") from error
    finally:
        if loader is not None:
            loader.dispose()


def parse_document(text: str, name: str) -> Document:
    """Parse YAML `text`; `name` stands for it in messages.

    Raises:
        ConfigError: the text is not YAML, its top level is not a mapping, or it is too deep or too long for a recipe.
    """
    document = Document(name)
    try:
        values = _read_yaml(text, document)
    except _UnreadableError as error:
        raise ConfigError(f"{name}: {error.place}{error}") from error
    if values is not None and not isinstance(values, dict):
        kind = "list" if isinstance(values, list) else "single value"
        raise ConfigError(f"{name}: expected sections (`run:`, `corpus:`, ...) at the top, found a {kind}")
    document.values = values or {}
    return document


def _record(node: yaml.Node, path: KeyPath, document: Document, visits: Iterator[int]) -> None:
    """Walk the tree of nodes, counting `visits`, noting the line of each key and item, and keys that stand twice."""
    document.places.setdefault(path, f"line {node.start_mark.line + 1}")
    # Aliases of aliases write out as many values as they like: nine lines make a billion.
    if next(visits) > _MOST_PLACES:
        reason = f"too long: more than {_MOST_PLACES:,} keys and items, aliases written out"
        raise _UnreadableError(reason)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _record(item, (*path, index), document, visits)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key_node, value_node in node.value:
            line = f"line {key_node.start_mark.line + 1}"
            if not isinstance(key_node, yaml.ScalarNode):
                raise _UnreadableError("not valid YAML: a list or a section cannot be a key", f"{line}: ")
            key = str(key_node.value)
            child = (*path, key)
            if key in seen:
                document.problems.append(f"{line}: {show_path(child)}: this key stands twice in its section; keep one")
            seen.add(key)
            document.places[child] = line
            _record(value_node, child, document, visits)


def _unshared(value: Any) -> Any:
    """Return `value` with a copy of its own for every section and list, however many aliases shared one."""
    if isinstance(value, dict):
        return {key: _unshared(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unshared(item) for item in value]
    return value


def show_path(path: KeyPath) -> str:
    """Return `corpus.sources.0.path` for `("corpus", "sources", 0, "path")`."""
    return ".".join(str(part) for part in path)


def parse_path(text: str) -> KeyPath:
    """Return `("corpus", "sources", 0, "path")` for `corpus.sources.0.path`."""
    return tuple(int(part) if part.isdecimal() else part for part in text.split("."))


def apply_override(document: Document, override: str) -> None:
    """Set one `key.path=value` in `document`; a mistake is added to its problems.

    The value is YAML: `3` is a number, `true` a truth value, `[a, b]` a list. List items are named by their number
    from 0; the number after the last one appends.
    """
    where = _OVERRIDE + (override if len(override) <= 200 else override[:197] + "...")
    key_path, equals, value_text = override.partition("=")
    if not equals or not key_path.strip():
        document.problems.append(f"{where}: {_EXAMPLE}")
        return
    keys = key_path.strip().split(".")
    if not all(key.strip() for key in keys):
        document.problems.append(f"{where}: a key is missing before or after a dot; {_EXAMPLE}")
        return
    parsed = Document(where)
    try:
        value = _read_yaml(value_text, parsed)
    except _UnreadableError as error:
        document.problems.append(f"{where}: the value is {error}; if it is text, quote it")
        return
    document.problems += [f"{where}: {problem}" for problem in parsed.problems]
    _put(document, keys, value, where)


def _put(document: Document, keys: list[str], value: Any, where: str) -> None:
    """Set the value at `keys`, making the sections on the way, and note `where` as the place of all that is new."""
    holder: Any = document.values
    path: KeyPath = ()
    for depth, key in enumerate(keys):
        part: str | int = key
        here = ".".join(keys[:depth])
        new = False
        if isinstance(holder, list):
            # Nine digits are more than any list has, and more than 4300 are none to Python.
            part = int(key) if key.isdecimal() and len(key) <= 9 else len(holder) + 1
            if part > len(holder):
                reason = f"{here} is a list of {len(holder)}; name an item by number from 0"
                document.problems.append(f"{where}: {reason}")
                return
            if part == len(holder):
                holder.append({})
                new = True
        elif isinstance(holder, dict):
            if holder.get(part) is None:
                holder[part] = {}
                new = True
        else:
            document.problems.append(f"{where}: {here} is a single value, it has no keys inside")
            return
        path = (*path, part)
        if depth == len(keys) - 1:
            holder[part] = value
            new = True
        if new:
            _forget_below(document, path)
            document.places[path] = where
        holder = holder[part]


def _forget_below(document: Document, path: KeyPath) -> None:
    """Drop the lines of what an override replaced."""
    for place in [place for place in document.places if place[: len(path)] == path]:
        del document.places[place]
