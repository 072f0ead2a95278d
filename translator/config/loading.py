"""From a YAML file with `--set` overrides to a validated `Config`; and back to YAML, to a JSON schema, to recipes."""

import contextlib
import difflib
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
from translator.config.sections import Config
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
"""What is expected, for types of pydantic's findings whose own words are not those of YAML."""
_LINE: Final = re.compile(r"line (\d+)")
_CHOICE: Final = re.compile(r"literal\[.*\]|constrained-(int|float)|int|float")
"""How pydantic names one of several kinds of value."""


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path))


class RecipeLoader(yaml.SafeLoader):
    """The safe loader, with `1e-4` read as a number (YAML 1.1 wants `1.0e-4`)."""


RecipeLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+0123456789.")
)


@dataclass
class _Document:
    """The values of a YAML text with `--set` overrides, and where they stand."""

    values: Any = None
    places: dict[KeyPath, str] = field(default_factory=dict)  # a phrase for messages: `line 12`, or the override
    problems: list[str] = field(default_factory=list)  # of the document itself, such as keys written twice

    def place(self, path: KeyPath) -> str:
        """Return the place of `path`, or of the nearest enclosing key that has one."""
        found = (self.places[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.places)
        return next(found, "line 1")

    def to_blame(self, paths: Sequence[KeyPath]) -> KeyPath:
        """Return which of the keys at odds to show: one that an override set, else one that is written, else any."""
        return min(paths, key=lambda path: (not self.place(path).startswith(_OVERRIDE), path not in self.places))


def load_config(path: Path | str, overrides: Sequence[str] = ()) -> Config:
    """Read the recipe at `path`, or the shipped one of that name, and apply `key.path=value` overrides in order.

    A `ConfigError` lists every mistake with its line, its key path and, for an unknown key, the nearest one.
    """
    path = Path(path)
    with contextlib.suppress(OSError):  # reading it gives the message
        path = path if path.is_file() else shipped_recipes().get(path.as_posix(), path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        known = ", ".join(sorted(map(str, path.parent.glob("*.yaml"))))
        hint = f"; there is: {known}" if known else ""
        names = ", ".join(shipped_recipes())
        raise ConfigError(f"no configuration file at {path}{hint}; recipes by name: {names}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    return parse_config(text, str(path), overrides)


def parse_config(text: str, name: str, overrides: Sequence[str] = ()) -> Config:
    """Do what `load_config` does for YAML `text`; `name` stands for it in messages."""
    document = _Document()
    try:
        document.values = _read_yaml(text, document) or {}
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    if not isinstance(document.values, dict):
        raise ConfigError(f"{name}: expected sections (`run:`, `corpus:`, ...) at the top, found no keys")
    for override in overrides:
        _apply(override, document)
    try:
        config = Config.model_validate(document.values)
    except ValidationError as error:
        document.problems += _explain(error, document)
    if problems := document.problems:
        problems.sort(key=lambda problem: int(line[1]) if (line := _LINE.match(problem)) else sys.maxsize)
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        raise ConfigError(f"{name} has {count}:\n" + "\n".join(f"  {problem}" for problem in problems))
    return config


# --- what is written, and where ---


def _read_yaml(text: str, document: _Document) -> Any:
    """Return the values of YAML `text` (None if empty); note places and keys that stand twice in `document`."""
    try:
        loader = RecipeLoader(text)
        root = loader.get_single_node()
        return None if root is None else _values(root, (), loader, document)
    except RecursionError as error:
        raise ConfigError("nested too deeply; remove brackets, or an alias inside its own anchor") from error
    # PyYAML meets `!!bool x`, `!!timestamp x` and a sexagesimal number of 1000 digits with errors not its own.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(f"{place}not valid YAML: {getattr(error, 'problem', None) or error}") from error


def _values(node: yaml.Node, path: KeyPath, loader: RecipeLoader, document: _Document) -> Any:
    """Return the values of `node`; note the line of each key and item, and keys that stand twice.

    Each alias gets a copy of its own, so that an override of one leaves the others alone.
    """
    document.places.setdefault(path, f"line {node.start_mark.line + 1}")
    if isinstance(node, yaml.SequenceNode):
        return [_values(item, (*path, index), loader, document) for index, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node)
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line, key = f"line {key_node.start_mark.line + 1}", str(key_node.value)
        if key in values:
            document.problems.append(f"{line}: {_dotted((*path, key))}: this key stands twice; keep one")
        document.places[(*path, key)] = line
        values[key] = _values(value_node, (*path, key), loader, document)
    return values


def _apply(override: str, document: _Document) -> None:
    """Set one `key.path=value`, whose value is YAML; a mistake is added to the problems of `document`."""
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
        if isinstance(value, str) and "\n" in text.strip():  # YAML would make a space of it
            raise ConfigError("the value has a line break; write it in one line")
        _put(value, keys, where, document)
    except ConfigError as error:
        document.problems.append(f"{where}: {error}")
    document.problems += [f"{where}: {problem}" for problem in inside.problems]


def _put(value: Any, keys: Sequence[str], where: str, document: _Document) -> None:
    """Set `value` at `keys`, and note `where` as the place of all that is new; lists count from 0, one more appends."""
    holder: Any = document.values
    path: KeyPath = ()
    for depth, key in enumerate(keys, 1):
        part: str | int = key
        if isinstance(holder, list):
            part = int(key) if re.fullmatch("[0-9]{1,9}", key) else len(holder) + 1
            if part > len(holder):
                raise ConfigError(f"{_dotted(path)} is a list of {len(holder)}; name an item by number from 0")
            if part == len(holder):
                holder.append(None)
        elif not isinstance(holder, dict):
            raise ConfigError(f"{_dotted(path)} is a single value, it has no keys inside")
        path = (*path, part)
        last = depth == len(keys)
        if last or (holder.get(part) if isinstance(holder, dict) else holder[part]) is None:
            holder[part] = value if last else {}
            document.places = {old: at for old, at in document.places.items() if old[: len(path)] != path}
            document.places[path] = where
        holder = holder[part]


# --- what is wrong ---


def _explain(error: ValidationError, document: _Document) -> list[str]:
    details = error.errors(include_url=False)
    # A list that lost its bad items is called too short: what is wrong inside it is enough.
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
                path = path[:-1]  # pydantic names the kind too, of a key that takes values of several kinds
            found.setdefault(path, []).append("unknown key" + _nearest(path) if unknown else _describe(detail))
    return [
        f"{document.place(path)}: {f'{_dotted(path)}: ' if path else ''}{'; or else: '.join(reasons)}"
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


def _known_keys(section: type[Section], prefix: str = "") -> Iterator[str]:
    for key, info in section.model_fields.items():
        yield prefix + key
        if inner := section_in(info.annotation):
            yield from _known_keys(inner, f"{prefix}{key}.")


def _nearest(path: KeyPath) -> str:
    """Return a hint at the known key most like the unknown one: in its own section first, then anywhere."""
    keys = list(_known_keys(Config))
    prefix = "".join(f"{part}." for part in path[:-1] if isinstance(part, str))
    siblings = [key[len(prefix) :] for key in keys if key.startswith(prefix) and "." not in key[len(prefix) :]]
    leaves = {key.rpartition(".")[2]: key for key in reversed(keys)}
    close = difflib.get_close_matches(str(path[-1]), siblings, n=1, cutoff=0.6)
    close += [leaves[leaf] for leaf in difflib.get_close_matches(str(path[-1]), list(leaves), n=1, cutoff=0.8)]
    return f"; did you mean `{close[0]}`?" if close else f"; known here: {', '.join(siblings)}"


# --- what is written out ---


def settings(config: Config, *, absolute: bool = False) -> dict[str, Any]:
    """Return every key of `config` with its value, as JSON has it; `absolute` paths mean the same from every folder."""
    return config.model_dump(mode="json", context=absolute_path if absolute else None)


def resolved_yaml(config: Config, *, absolute: bool = False) -> str:
    """Return the `settings` as YAML; parsing it gives an equal `Config`."""
    return yaml.safe_dump(settings(config, absolute=absolute), allow_unicode=True, sort_keys=False, width=120)


class _WithoutTitles(GenerateJsonSchema):
    """Keys have no second name, which editors would show beside the first."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema_text() -> str:
    """Return the JSON schema (2020-12) of a recipe, without the rules of several keys and the form of names."""
    schema = Config.model_json_schema(schema_generator=_WithoutTitles)
    schema = {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": "Recipe"}
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def shipped_recipes() -> dict[str, Path]:
    """Return the recipes that come with the product, by the names that `--config` takes, those of folders last."""
    folder = shipped_folder() / "configs"
    names = (path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))
    return {name: folder / f"{name}.yaml" for name in sorted(names, key=lambda name: ("/" in name, name))}
