"""A recipe as nodes of YAML, each with its place; `--set` overrides replace nodes."""

import re
from collections.abc import Sequence
from typing import Any, Final

import yaml

from translator.errors import ConfigError

KeyPath = tuple[str | int, ...]
"""Keys and list indices from the top of a document to a value."""

_OVERRIDE: Final = "--set "
_SECTION: Final = "tag:yaml.org,2002:map"
_TEXT: Final = "tag:yaml.org,2002:str"
_NULL: Final = "tag:yaml.org,2002:null"


class RecipeLoader(yaml.SafeLoader):
    """The safe loader, with `1e-4` read as a number (YAML 1.1 requires `1.0e-4`), and all keys as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.duplicates: list[yaml.Node] = []  # keys that stand twice in a section

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the values of a section by key."""
        keys = [key.value for key, _ in node.value]
        self.duplicates += [key for place, (key, _) in enumerate(node.value) if key.value in keys[:place]]
        return {str(key): value for key, value in super().construct_mapping(node, deep=deep).items()}


RecipeLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+0123456789.")
)


class Document:
    """The nodes of a YAML text, which overrides may change.

    Args:
        text: the YAML; an empty one has no keys.
        name: what messages call the place of every value, in place of its line.

    Raises ConfigError: not YAML.
    """

    def __init__(self, text: str, name: str = "") -> None:
        self.problems: list[str] = []  # in the document itself, such as duplicate keys
        self._root = self._read(text, name)
        if self._root.tag == _NULL:
            self._root = yaml.MappingNode(_SECTION, [], self._root.start_mark)

    def _read(self, text: str, name: str) -> yaml.Node:
        """Return the node of a text, whose marks have this name; note its duplicate keys."""
        try:
            loader = RecipeLoader(text)
            loader.name = name
            mark = loader.get_mark()
            root = loader.get_single_node() or yaml.ScalarNode(_NULL, "", mark)
            loader.construct_document(root)
        # PyYAML raises built-in errors for `!!bool x`, `!!timestamp x` and a sexagesimal number of 1000 digits.
        except (yaml.YAMLError, ValueError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            problem_mark = getattr(error, "problem_mark", None)
            place = f"line {problem_mark.line + 1}, column {problem_mark.column + 1}: " if problem_mark else ""
            raise ConfigError(f"{place}not valid YAML: {getattr(error, 'problem', None) or error}") from error
        for key in loader.duplicates:
            self.problems.append(f"{_place(key.start_mark)}: {key.value}: duplicate key; remove one")
        return root

    @property
    def values(self) -> Any:
        """The values of all nodes."""
        return RecipeLoader("").construct_document(self._root)

    def override(self, override: str) -> None:
        """Apply one override `key.path=value` with a YAML value; add mistakes to the problems."""
        place = _OVERRIDE + override
        key_path, equals, text = override.partition("=")
        keys = key_path.strip().split(".")
        try:
            if not equals or not all(key.strip() for key in keys):
                raise ConfigError("write it as key.path=value, for example training.max_steps=2000")
            try:
                value = self._read(text, place)
            except ConfigError as error:
                raise ConfigError(f"the value is {error}; if it is text, quote it") from error
            self._root = _with_value(self._root, "", keys, value)
        except ConfigError as error:
            self.problems.append(f"{place}: {error}")

    def place(self, path: KeyPath) -> str:
        """Return the place of `path`, or of the nearest enclosing key: `line 12`, the name, or the override."""
        return _place(self._marks(path)[-1])

    def to_blame(self, paths: Sequence[KeyPath]) -> KeyPath:
        """Return the conflicting key to report: one set by an override, else one in the file, else any."""

        def order(path: KeyPath) -> tuple[bool, bool]:
            is_from_override = self.place(path).startswith(_OVERRIDE)
            is_in_document = len(self._marks(path)) > len(path)
            return (not is_from_override, not is_in_document)

        return min(paths, key=order)

    def _marks(self, path: KeyPath) -> list[yaml.Mark]:
        """Return the marks of the document, and of the keys and items on the way to `path` as far as they exist."""
        node = self._root
        marks = [node.start_mark]
        for part in path:
            children: dict[str | int, tuple[yaml.Mark, yaml.Node]] = {}
            if isinstance(node, yaml.MappingNode):
                children = {str(key.value): (key.start_mark, value) for key, value in node.value}
            elif isinstance(node, yaml.SequenceNode):
                children = {index: (item.start_mark, item) for index, item in enumerate(node.value)}
            if part not in children:
                break
            mark, node = children[part]
            marks.append(mark)
        return marks


def dotted(path: Sequence[str | int]) -> str:
    """Return a key path as messages show it, such as `corpus.sources.0.name`."""
    return ".".join(map(str, path))


def _place(mark: yaml.Mark) -> str:
    """Return the place of a mark for messages."""
    return mark.name or f"line {mark.line + 1}"


def _with_value(node: yaml.Node, path: str, keys: Sequence[str], value: yaml.Node) -> yaml.Node:
    """Return a copy of `node`, which is at `path`, with `value` at `keys` below it; missing sections are added.

    An alias stands for one node at several places; a copy changes only one of them.

    Raises ConfigError: there is no such place.
    """
    if not keys:
        return value
    key, *further_keys = keys
    below = f"{path}.{key}" if path else key
    empty = yaml.MappingNode(_SECTION, [], value.start_mark)
    if node.tag == _NULL:
        node = empty

    # In a section, the entry of the key moves to the end.
    if isinstance(node, yaml.MappingNode):
        new_name = yaml.ScalarNode(_TEXT, key, value.start_mark)
        name, old_value = new_name, empty
        other_entries = []
        for entry in node.value:
            if entry[0].value != key:
                other_entries.append(entry)
            elif old_value is empty:  # of a key that stands twice, the first entry
                name, old_value = entry
        # An entry keeps its name, and so its line, unless the value itself is replaced.
        if not further_keys:
            name = new_name
        new_value = _with_value(old_value, below, further_keys, value)
        return yaml.MappingNode(node.tag, [*other_entries, (name, new_value)], node.start_mark)

    # In a list, the index after the last item appends one.
    if not isinstance(node, yaml.SequenceNode):
        raise ConfigError(f"{path} is a single value and has no keys")
    items = [*node.value, empty]
    if not re.fullmatch("[0-9]{1,9}", key) or int(key) >= len(items):
        raise ConfigError(f"{path} is a list of {len(node.value)} items; give an index, counted from 0")
    items[int(key)] = _with_value(items[int(key)], below, further_keys, value)
    if int(key) < len(node.value):
        items.pop()
    return yaml.SequenceNode(node.tag, items, node.start_mark)
