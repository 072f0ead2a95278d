"""Read a YAML file with `--set` overrides into a validated `Config`; write YAML and the JSON schema; find recipes."""

import contextlib
import difflib
import functools
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema

from translator.config.keys import Section, absolute_path, section_in, shipped_folder, show_value
from translator.config.sections import REMOVED_KEYS, Config
from translator.errors import ConfigError

KeyPath = tuple[str | int, ...]

_OVERRIDE: Final = "--set "
_EXPECTED: Final = {
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "a section of keys",
    "too_short": "a list with at least one item",
}
"""The expected value in YAML terms, by pydantic error type."""
UNKNOWN_KEY: Final = ("extra_forbidden", "unexpected_keyword_argument")
"""Names that pydantic gives to an unknown key: of a model, and of a dataclass."""
_LINE: Final = re.compile(r"line (\d+)")
_CHOICE: Final = re.compile(r"literal\[.*\]|constrained-(int|float)|int|float")
"""Names that pydantic gives to the members of a union."""


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path))


class RecipeLoader(yaml.SafeLoader):
    """The safe loader, with `1e-4` read as a number (YAML 1.1 requires `1.0e-4`)."""


RecipeLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+0123456789.")
)


_MOST_VALUES: Final = 100_000
"""Largest number of values in a document, with those of an alias counted at each of its places."""


@dataclass
class _Document:
    """The values of a YAML text with `--set` overrides, and the place of each."""

    values: Any = None
    count: int = 0  # of values, keys excluded
    places: dict[KeyPath, str] = field(default_factory=dict)  # a phrase for messages: `line 12`, or the override
    problems: list[str] = field(default_factory=list)  # in the document itself, such as duplicate keys

    def place(self, path: KeyPath) -> str:
        """Return the place of `path`, or of the nearest enclosing key with a known place."""
        found = (self.places[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.places)
        return next(found, "line 1")

    def to_blame(self, paths: Sequence[KeyPath]) -> KeyPath:
        """Return the conflicting key to report: one set by an override, else one in the file, else any."""
        return min(paths, key=lambda path: (not self.place(path).startswith(_OVERRIDE), path not in self.places))


def load_config(path: Path | str, overrides: Sequence[str] = ()) -> Config:
    """Return the config of the recipe at `path`, or of the shipped recipe with that name, after all overrides.

    Overrides (`key.path=value`) apply in order. A `ConfigError` lists every mistake with its line and key path.
    """
    path = Path(path)
    with contextlib.suppress(OSError):  # reading the file reports the error
        path = path if path.is_file() else shipped_recipes().get(path.as_posix(), path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        known = ", ".join(sorted(map(str, path.parent.glob("*.yaml"))))
        hint = f"; found there: {known}" if known else ""
        names = ", ".join(shipped_recipes())
        raise ConfigError(f"no configuration file at {path}{hint}; shipped recipes: {names}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    return parse_config(text, str(path), overrides)


def parse_config(text: str, name: str, overrides: Sequence[str] = ()) -> Config:
    """Return the config of YAML `text`, as `load_config` does; error messages call the text `name`."""
    return _parsed(text, name, tuple(overrides))


@functools.lru_cache(maxsize=16)  # a command reads the settings of a run several times, and parsing takes 20 ms
def _parsed(text: str, name: str, overrides: tuple[str, ...]) -> Config:
    document = _Document()
    try:
        document.values = _read_yaml(text, document) or {}
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    if not isinstance(document.values, dict):
        raise ConfigError(f"{name}: expected sections (`run:`, `corpus:`, ...) at the top level, found no keys")
    for override in overrides:
        _apply(override, document)
    newer = False
    try:
        config = Config.model_validate(document.values)
    except ValidationError as error:
        document.problems += _explain(error, document)
        newer = may_be_newer(error.errors(include_url=False))
    if problems := document.problems:
        problems.sort(key=lambda problem: int(line[1]) if (line := _LINE.match(problem)) else sys.maxsize)
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        raise ConfigError(f"{name} has {count}:\n" + "\n".join(f"  {problem}" for problem in problems), newer=newer)
    return config


# --- reading values with their places ---


def _read_yaml(text: str, document: _Document) -> Any:
    """Return the values of YAML `text` (None if empty); record places and duplicate keys in `document`."""
    try:
        loader = RecipeLoader(text)
        root = loader.get_single_node()
        return None if root is None else _values(root, (), loader, document)
    except RecursionError as error:
        raise ConfigError("nested too deeply; remove brackets, or an alias inside its own anchor") from error
    # PyYAML raises built-in errors for `!!bool x`, `!!timestamp x` and a sexagesimal number of 1000 digits.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(f"{place}not valid YAML: {getattr(error, 'problem', None) or error}") from error


def _values(node: yaml.Node, path: KeyPath, loader: RecipeLoader, document: _Document) -> Any:
    """Return the values of `node`; record the line of each key and item, and duplicate keys.

    Each alias gets a separate copy, so that an override changes only one of them. A few lines of nested aliases can
    stand for more copies than any memory holds, so their number is limited.
    """
    document.count += 1
    if document.count > _MOST_VALUES:
        raise ConfigError(f"more than {_MOST_VALUES:,} values, each alias (`*name`) copied out; remove aliases")
    document.places.setdefault(path, f"line {node.start_mark.line + 1}")
    if isinstance(node, yaml.SequenceNode):
        return [_values(item, (*path, index), loader, document) for index, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node)
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line, key = f"line {key_node.start_mark.line + 1}", str(key_node.value)
        if key in values:
            document.problems.append(f"{line}: {_dotted((*path, key))}: duplicate key; remove one")
        document.places[(*path, key)] = line
        values[key] = _values(value_node, (*path, key), loader, document)
    return values


def _apply(override: str, document: _Document) -> None:
    """Apply one override `key.path=value` with a YAML value; add mistakes to the problems of `document`."""
    where = _OVERRIDE + (override if len(override) <= 200 else override[:197] + "...").replace("\n", "\\n")
    key_path, equals, text = override.partition("=")
    keys = key_path.strip().split(".")
    inside = _Document()
    try:
        if not equals or not all(key.strip() for key in keys):
            raise ConfigError("write it as key.path=value, for example training.max_steps=2000")
        try:
            value = _read_yaml(text, inside)
        except ConfigError as error:
            raise ConfigError(f"the value is {error}; if it is text, quote it") from error
        if isinstance(value, str) and "\n" in text.strip():  # YAML would replace it by a space
            raise ConfigError("the value contains a line break; write it on one line")
        _put(value, keys, where, document)
    except ConfigError as error:
        document.problems.append(f"{where}: {error}")
    document.problems += [f"{where}: {problem}" for problem in inside.problems]


def _put(value: Any, keys: Sequence[str], where: str, document: _Document) -> None:
    """Set `value` at `keys` with the place `where`; list indices start at 0, and the next free index appends."""
    holder: Any = document.values
    path: KeyPath = ()
    for depth, key in enumerate(keys, 1):
        part: str | int = key
        if isinstance(holder, list):
            part = int(key) if re.fullmatch("[0-9]{1,9}", key) else len(holder) + 1
            if part > len(holder):
                raise ConfigError(f"{_dotted(path)} is a list of {len(holder)} items; give an index, counted from 0")
            if part == len(holder):
                holder.append(None)
        elif not isinstance(holder, dict):
            raise ConfigError(f"{_dotted(path)} is a single value and has no keys")
        path = (*path, part)
        last = depth == len(keys)
        if last or (holder.get(part) if isinstance(holder, dict) else holder[part]) is None:
            holder[part] = value if last else {}
            document.places = {old: at for old, at in document.places.items() if old[: len(path)] != path}
            document.places[path] = where
        holder = holder[part]


# --- describing mistakes ---


def _explain(error: ValidationError, document: _Document) -> list[str]:
    details = error.errors(include_url=False)
    # pydantic drops invalid items and may then call the list too short: report only the mistakes inside it.
    holders = {detail["loc"][:end] for detail in details for end in range(len(detail["loc"]))}
    found: dict[KeyPath, list[str]] = {}
    for detail in details:
        path = detail["loc"]
        if detail["type"] == "rules":
            for keys, reason in detail["ctx"]["broken"]:
                parts = ([int(part) if part.isdecimal() else part for part in key.split(".")] for key in keys)
                found.setdefault(document.to_blame([(*path, *key) for key in parts]), []).append(reason)
        elif path not in holders:
            unknown = detail["type"] == "extra_forbidden"
            if not unknown and isinstance(path[-1], str) and _CHOICE.fullmatch(path[-1]):
                path = path[:-1]  # for a union, pydantic appends the name of the member
            found.setdefault(path, []).append(_describe_unknown(path) if unknown else _describe(detail))
    return [
        f"{document.place(path)}: {f'{_dotted(path)}: ' if path else ''}{'; or: '.join(reasons)}"
        for path, reasons in found.items()
    ]


def _describe(detail: Mapping[str, Any]) -> str:
    kind, given = detail["type"], detail["input"]
    if kind == "missing":
        return "this key is required"
    if kind == "model_type" and given is None:
        return "this section is empty; give it keys or leave it out"
    expected = _EXPECTED.get(kind) or re.sub(r"^(Input|String) should (be|have) ", "", detail["msg"])
    expected = re.sub(r"^(greater|less) ", r"a number \1 ", expected)
    if isinstance(given, list | dict):
        return f"expected {expected}, got {'a list' if isinstance(given, list) else 'a section'}"
    hint = "; put it in quotes" if kind == "string_type" and given is not None else ""
    return f"expected {expected}, got {show_value(given)}{hint}"


def _describe_unknown(path: KeyPath) -> str:
    """Return what is wrong with a key that no section has."""
    section = "".join(f"{part}." for part in path[:-1] if isinstance(part, str))
    return REMOVED_KEYS.get(_dotted(path)) or "unknown key" + _nearest(section, str(path[-1]))


def may_be_newer(details: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the mistakes that pydantic found look like keys or choices that a newer version has added.

    Where a required key is missing, another kind of file is more likely.
    """
    if any(detail["type"] == "missing" for detail in details):
        return False
    for detail in details:
        unknown_choice = detail["type"] == "literal_error" and isinstance(detail["input"], str)
        if unknown_choice or detail["type"] in UNKNOWN_KEY:
            return True
    return False


def _known_keys(section: type[Section], prefix: str = "") -> Iterator[str]:
    for key, info in section.model_fields.items():
        yield prefix + key
        if inner := section_in(info.annotation):
            yield from _known_keys(inner, f"{prefix}{key}.")


@functools.lru_cache(maxsize=1000)  # an unknown key may be in each item of a long list
def _nearest(prefix: str, unknown: str) -> str:
    """Return a hint that names the most similar known key: in the section `prefix` first, then anywhere."""
    keys = list(_known_keys(Config))
    siblings = [key[len(prefix) :] for key in keys if key.startswith(prefix) and "." not in key[len(prefix) :]]
    leaves = {key.rpartition(".")[2]: key for key in reversed(keys)}
    close = difflib.get_close_matches(unknown, siblings, n=1, cutoff=0.6)
    close += [leaves[leaf] for leaf in difflib.get_close_matches(unknown, list(leaves), n=1, cutoff=0.8)]
    return f"; did you mean `{close[0]}`?" if close else f"; keys of this section: {', '.join(siblings)}"


# --- writing ---


def settings(config: Config, *, absolute: bool = False) -> dict[str, Any]:
    """Return every key of `config` with its JSON value; with `absolute`, paths are absolute."""
    return config.model_dump(mode="json", context=absolute_path if absolute else None)


def resolved_yaml(config: Config, *, absolute: bool = False) -> str:
    """Return the `settings` as YAML; parsing this text gives an equal `Config`."""
    return yaml.safe_dump(settings(config, absolute=absolute), allow_unicode=True, sort_keys=False, width=120)


class _WithoutTitles(GenerateJsonSchema):
    """Omits titles of keys, which editors would show beside the key."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema_text() -> str:
    """Return the JSON schema (2020-12) of a recipe; it omits rules across keys and patterns of names."""
    schema = Config.model_json_schema(schema_generator=_WithoutTitles)
    schema = {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": "Recipe"}
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def shipped_recipes() -> dict[str, Path]:
    """Return the shipped recipes by the names that `--config` accepts; those in subfolders come last."""
    folder = shipped_folder() / "configs"
    names = (path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))
    return {name: folder / f"{name}.yaml" for name in sorted(names, key=lambda name: ("/" in name, name))}
