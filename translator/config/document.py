"""A recipe as values, each with its place; `--set` overrides replace values."""

import contextlib
import re
from collections.abc import Sequence
from typing import Any, Final

import yaml

from translator.errors import ConfigError

try:
    from yaml import CSafeLoader as FastLoader
except ImportError:  # this PyYAML was built without libyaml
    from yaml import SafeLoader as FastLoader  # type: ignore[assignment]

KeyPath = tuple[str | int, ...]
"""Keys and list indices from the top of a document to a value."""

_OVERRIDE: Final = "--set "
_LONG: Final = 10_000  # characters


class RecipeLoader(yaml.SafeLoader):
    """The safe loader, with `1e-4` read as a number (YAML 1.1 requires `1.0e-4`), and all keys as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.duplicates: list[yaml.Node] = []  # keys that stand twice in a section

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the values of a section by key."""
        keys = [key.value for key, _ in node.value]
        for number, (key, _) in enumerate(node.value):
            if key.value in keys[:number]:
                self.duplicates.append(key)
        return {str(key): value for key, value in super().construct_mapping(node, deep=deep).items()}


class FastRecipeLoader(FastLoader):
    """Finds the same nodes as `RecipeLoader`, by libyaml."""


for _loader in (RecipeLoader, FastRecipeLoader):
    _loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+0123456789.")
    )


def _compose(text: str) -> yaml.Node | None:
    """Return the top node of a YAML text; None: it is empty.

    libyaml takes a tenth of the time. But its messages are worse, and it has no limit for the depth of nested lists, so
    that a long text may need more stack than there is: those go to PyYAML.
    """
    if len(text) < _LONG:
        with contextlib.suppress(yaml.YAMLError):
            return yaml.compose(text, FastRecipeLoader)
    return yaml.compose(text, RecipeLoader)


class Document:
    """The values of a YAML text, which overrides may change.

    Args:
        text: the YAML; an empty one has no keys.
        name: what messages call the place of every value, in place of its line.

    Raises ConfigError: not YAML.
    """

    def __init__(self, text: str, name: str = "") -> None:
        self.problems: list[str] = []  # in the document itself, such as duplicate keys
        self._places: dict[str, str] = {}  # of each value, by its dotted path
        value = self._parse(text, name, "")
        self._places[""] = name or "line 1"
        self.values: Any = {} if value is None else value

    def _parse(self, text: str, name: str, path: str) -> Any:
        """Return the value of a YAML text that stands at `path`; note the places inside it, and its duplicate keys.

        `name` is the place of everything in the text, in messages; "": each key has its line as its place.

        Raises ConfigError: not YAML.
        """
        try:
            # 1. The value.
            node = _compose(text)
            loader = RecipeLoader("")
            value = None if node is None else loader.construct_document(node)

            # 2. The places. The value replaces what stood at the path, so the places at and below it go first.
            for noted_path in list(self._places):
                if f"{noted_path}.".startswith(f"{path}."):  # the dots tell `run.seed` from `run.seeds`
                    del self._places[noted_path]
            self._note_places(node, name, path)
        # PyYAML raises built-in errors for `!!bool x`, `!!timestamp x` and a sexagesimal number of 1000 digits.
        except (yaml.YAMLError, ValueError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            problem_mark = getattr(error, "problem_mark", None)
            place = f"line {problem_mark.line + 1}, column {problem_mark.column + 1}: " if problem_mark else ""
            raise ConfigError(f"{place}not valid YAML: {getattr(error, 'problem', None) or error}") from error

        # 3. Duplicate keys, of which YAML silently takes the last.
        for key in loader.duplicates:
            self.problems.append(f"{_place(key, name)}: {key.value}: duplicate key; remove one")
        return value

    def _note_places(self, node: yaml.Node | None, name: str, path: str) -> None:
        """Note the places of the keys and items inside `node`, which is at `path`; `name` as for `_parse`."""
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                self._places[_below(path, key.value)] = _place(key, name)
                self._note_places(value, name, _below(path, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self._places[_below(path, index)] = _place(item, name)
                self._note_places(item, name, _below(path, index))

    def override(self, override: str) -> None:
        """Apply one override `key.path=value` with a YAML value; a mistake in it becomes one of the problems."""
        place = _OVERRIDE + override
        try:
            self._apply(override, place)
        except ConfigError as error:
            self.problems.append(f"{place}: {error}")

    def _apply(self, override: str, place: str) -> None:
        """Apply one override, which stands at `place` in messages; raise ConfigError for a mistake in it."""
        path, equals, text = override.partition("=")
        keys = [key.strip() for key in path.split(".")]
        if not equals or not all(keys):
            raise ConfigError("write it as key.path=value, for example training.max_steps=2000")
        try:
            value = self._parse(text, place, dotted(keys))
        except ConfigError as error:
            raise ConfigError(f"the value is {error}; if it is text, quote it") from error
        self.values = _with_value(self.values, "", keys, value)
        # Sections that were missing are there because of the override.
        for end in range(len(keys)):
            self._places.setdefault(dotted(keys[: end + 1]), place)

    def place(self, path: KeyPath) -> str:
        """Return the place of `path`, or of the nearest enclosing key: `line 12`, the name, or the override."""
        while dotted(path) not in self._places:
            path = path[:-1]
        return self._places[dotted(path)]

    def to_blame(self, paths: Sequence[KeyPath]) -> KeyPath:
        """Return the conflicting key to report: one set by an override, else one in the file, else any."""

        def rank(path: KeyPath) -> tuple[bool, bool]:
            is_from_override = self.place(path).startswith(_OVERRIDE)
            is_in_document = dotted(path) in self._places
            return is_from_override, is_in_document

        return max(paths, key=rank)  # True is larger than False; of equal ones the first


def dotted(path: Sequence[str | int]) -> str:
    """Return a key path as messages show it, such as `corpus.sources.0.name`."""
    return ".".join(map(str, path))


def _below(path: str, key: str | int) -> str:
    """Return the dotted path of `key` in the section or list at `path`."""
    return f"{path}.{key}" if path else str(key)


def _place(node: yaml.Node, name: str) -> str:
    """Return the place of a node for messages; `name` as for `Document`."""
    return name or f"line {node.start_mark.line + 1}"


def _with_value(old: Any, path: str, keys: Sequence[str], value: Any) -> Any:
    """Return a copy of `old`, which is at `path`, with `value` at `keys` below it; missing sections are added.

    An alias stands for one value at several places; a copy changes only one of them.

    Raises ConfigError: there is no such place.
    """
    if not keys:
        return value
    key, *further_keys = keys
    below = _below(path, key)

    # 1. In a section, replace the value of one key. A missing section begins empty.
    if old is None:
        old = {}
    if isinstance(old, dict):
        return old | {key: _with_value(old.get(key), below, further_keys, value)}
    if not isinstance(old, list):
        raise ConfigError(f"{path} is a single value and has no keys")

    # 2. In a list, replace one item; the index after the last one appends an item. (`int` refuses thousands of digits.)
    if not re.fullmatch("[0-9]{1,9}", key) or int(key) > len(old):
        raise ConfigError(f"{path} is a list of {len(old)} items; give an index, counted from 0")
    index = int(key)
    item = old[index] if index < len(old) else None
    return [*old[:index], _with_value(item, below, further_keys, value), *old[index + 1 :]]
