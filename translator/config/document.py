"""Values of a recipe with their places: those of YAML text, and those that `--set` overrides change."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from translator.errors import ConfigError

KeyPath = tuple[str | int, ...]
"""Keys and list indices from the top of a document to a value."""

_OVERRIDE: Final = "--set "


class RecipeLoader(yaml.SafeLoader):
    """The safe loader, with `1e-4` read as a number (YAML 1.1 requires `1.0e-4`)."""


RecipeLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+0123456789.")
)


@dataclass
class Document:
    """The values of a YAML text with `--set` overrides, and the place of each."""

    values: Any = None
    places: dict[KeyPath, str] = field(default_factory=dict)  # a phrase for messages: `line 12`, or the override
    problems: list[str] = field(default_factory=list)  # in the document itself, such as duplicate keys

    def place(self, path: KeyPath) -> str:
        """Return the place of `path`, or of the nearest enclosing key with a known place."""
        for end in range(len(path), -1, -1):
            place = self.places.get(path[:end])
            if place is not None:
                return place
        return "line 1"

    def to_blame(self, paths: Sequence[KeyPath]) -> KeyPath:
        """Return the conflicting key to report: one set by an override, else one in the file, else any."""

        def order(path: KeyPath) -> tuple[bool, bool]:
            is_from_override = self.place(path).startswith(_OVERRIDE)
            has_own_place = path in self.places
            return (not is_from_override, not has_own_place)

        return min(paths, key=order)


def dotted(path: Sequence[str | int]) -> str:
    """Return a key path as messages show it, such as `corpus.sources.0.name`."""
    return ".".join(map(str, path))


def read_yaml(text: str, document: Document) -> Any:
    """Return the values of YAML `text` (None if empty); record places and duplicate keys in `document`.

    Raises ConfigError: not YAML.
    """
    try:
        loader = RecipeLoader(text)
        # Nodes still have their lines, which plain values lack.
        root = loader.get_single_node()
        if root is None:
            return None
        return _values(root, (), loader, document)
    # PyYAML raises built-in errors for `!!bool x`, `!!timestamp x` and a sexagesimal number of 1000 digits.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(f"{place}not valid YAML: {getattr(error, 'problem', None) or error}") from error


def _values(node: yaml.Node, path: KeyPath, loader: RecipeLoader, document: Document) -> Any:
    """Return the values of `node`; record the line of each key and item, and duplicate keys.

    Each alias gets a separate copy, so that an override changes only one of them.
    """
    document.places.setdefault(path, f"line {node.start_mark.line + 1}")

    # A list, or a single value.
    if isinstance(node, yaml.SequenceNode):
        return [_values(item, (*path, index), loader, document) for index, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node)

    # A section: the place of a value is the line of its key.
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        line = f"line {key_node.start_mark.line + 1}"
        if key in values:
            document.problems.append(f"{line}: {dotted((*path, key))}: duplicate key; remove one")
        document.places[(*path, key)] = line
        values[key] = _values(value_node, (*path, key), loader, document)
    return values


def apply_override(override: str, document: Document) -> None:
    """Apply one override `key.path=value` with a YAML value; add mistakes to the problems of `document`."""
    place = _OVERRIDE + override.replace("\n", "\\n")

    # The key path and its value, which may hold a list or a section with mistakes of its own.
    key_path, equals, text = override.partition("=")
    keys = key_path.strip().split(".")
    value_document = Document()
    try:
        if not equals or not all(key.strip() for key in keys):
            raise ConfigError("write it as key.path=value, for example training.max_steps=2000")
        try:
            value = read_yaml(text, value_document)
        except ConfigError as error:
            raise ConfigError(f"the value is {error}; if it is text, quote it") from error
        if isinstance(value, str) and "\n" in text.strip():  # YAML would replace it by a space
            raise ConfigError("the value contains a line break; write it on one line")
        _put(value, keys, place, document)
    except ConfigError as error:
        document.problems.append(f"{place}: {error}")
    # Duplicate keys inside the value count as mistakes of the override.
    for problem in value_document.problems:
        document.problems.append(f"{place}: {problem}")


def _put(value: Any, keys: Sequence[str], place: str, document: Document) -> None:
    """Set `value` at `keys` with its place; missing sections on the way are added."""
    # 1. Walk down to the section or list that holds the last key.
    holder: Any = document.values
    path: KeyPath = ()
    for key in keys[:-1]:
        part = _part(holder, key, path)
        path = (*path, part)
        if holder[part] is None:
            holder[part] = {}
            document.places[path] = place
        holder = holder[part]

    # 2. Set the value; places of what it replaces are forgotten.
    part = _part(holder, keys[-1], path)
    path = (*path, part)
    holder[part] = value
    document.places = _places_outside(document.places, path)
    document.places[path] = place


def _part(holder: Any, key: str, path: KeyPath) -> str | int:
    """Return `key` as `holder`, the value at `path`, takes it: a key of a section, or an index of a list.

    A key that is not there yet, or the index after the last item, gets the value None. Raises ConfigError: `holder`
    has no such place.
    """
    if isinstance(holder, dict):
        holder.setdefault(key, None)
        return key
    if not isinstance(holder, list):
        raise ConfigError(f"{dotted(path)} is a single value and has no keys")
    is_index = re.fullmatch("[0-9]{1,9}", key) is not None
    if not is_index or int(key) > len(holder):
        raise ConfigError(f"{dotted(path)} is a list of {len(holder)} items; give an index, counted from 0")
    if int(key) == len(holder):
        holder.append(None)
    return int(key)


def _places_outside(places: dict[KeyPath, str], path: KeyPath) -> dict[KeyPath, str]:
    """Return the places of all values but those at and below `path`."""
    depth = len(path)
    return {key_path: place for key_path, place in places.items() if key_path[:depth] != path}
