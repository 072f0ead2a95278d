"""A YAML document with the line of every key, so that a mistake can be shown where it stands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from translator.errors import ConfigError

KeyPath = tuple[str | int, ...]

_OVERRIDE = "--set "


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


def parse_scalar(text: str) -> Any:
    """Parse the value of an override as YAML: `3` is a number, `true` a truth value, `[a, b]` a list."""
    loader = _Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def parse_document(text: str, name: str) -> Document:
    """Parse YAML `text`; `name` stands for it in messages.

    Raises:
        ConfigError: the text is not YAML, or its top level is not a mapping.
    """
    document = Document(name)
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return document
        if not isinstance(root, yaml.MappingNode):
            kind = root.tag.rpartition(":")[2]
            raise ConfigError(f"{name}: expected sections (`run:`, `corpus:`, ...) at the top, found a {kind}")
        _record(root, (), document)
        values = loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(f"{name}: {where}not valid YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: not valid YAML: {error}") from error
    finally:
        if loader is not None:
            loader.dispose()
    document.values = values
    return document


def _record(node: yaml.Node, path: KeyPath, document: Document) -> None:
    """Walk the tree of nodes, noting the line of each key and item, and keys that stand twice."""
    document.places.setdefault(path, f"line {node.start_mark.line + 1}")
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _record(item, (*path, index), document)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key_node, value_node in node.value:
            key = str(key_node.value)
            child = (*path, key)
            line = f"line {key_node.start_mark.line + 1}"
            if key in seen:
                document.problems.append(f"{line}: {show_path(child)}: this key stands twice in its section; keep one")
            seen.add(key)
            document.places[child] = line
            _record(value_node, child, document)


def show_path(path: KeyPath) -> str:
    """Return `corpus.sources.0.path` for `("corpus", "sources", 0, "path")`."""
    return ".".join(str(part) for part in path)


def parse_path(text: str) -> KeyPath:
    """Return `("corpus", "sources", 0, "path")` for `corpus.sources.0.path`."""
    return tuple(int(part) if part.isdecimal() else part for part in text.split("."))


def apply_override(document: Document, override: str) -> None:
    """Set one `key.path=value` in `document`; a mistake is added to its problems.

    List items are named by their number from 0; the number after the last one appends.
    """
    where = f"{_OVERRIDE}{override}"
    key_path, equals, value_text = override.partition("=")
    if not equals or not key_path.strip():
        document.problems.append(f"{where}: write it as key.path=value, for example training.max_steps=2000")
        return
    try:
        value = parse_scalar(value_text)
    except (yaml.YAMLError, ValueError):
        document.problems.append(f"{where}: the value is not valid YAML; quote it if it is text")
        return
    parts = list(parse_path(key_path.strip()))
    holder: Any = document.values
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        if isinstance(holder, list):
            if not isinstance(part, int) or part > len(holder):
                here = show_path(tuple(parts[:depth]))
                document.problems.append(f"{where}: {here} is a list of {len(holder)}; name an item by number from 0")
                return
            if part == len(holder):
                holder.append({})
        elif isinstance(holder, dict):
            part = str(part)
            if not last and holder.get(part) is None:
                holder[part] = {}
        else:
            document.problems.append(
                f"{where}: {show_path(tuple(parts[:depth]))} is a single value, it has no keys inside"
            )
            return
        if last:
            holder[part] = value
        else:
            holder = holder[part]
    _forget_below(document, tuple(parts))
    document.places[tuple(parts)] = where


def _forget_below(document: Document, path: KeyPath) -> None:
    """Drop the lines of what an override replaced."""
    for place in [place for place in document.places if place[: len(path)] == path]:
        del document.places[place]
