"""From a YAML file and `--set` overrides to a validated `Config`, with all mistakes reported together."""

import contextlib
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from translator.config.document import Document, KeyPath, apply_override, parse_document, parse_path, show_path
from translator.config.messages import describe
from translator.config.section import Section, section_in
from translator.config.sections import Config
from translator.errors import ConfigError
from translator.shipped import shipped_recipe, shipped_recipes


def load_config(path: Path | str, overrides: Sequence[str] = ()) -> Config:
    """Read the recipe at `path`, apply `key.path=value` overrides in order, and validate the result.

    A path at which there is no file may be the name of a recipe that comes with the product: `sample`.

    Raises:
        ConfigError: the file cannot be read, or anything in it is wrong; the message lists every mistake with its line,
            its key path and, for an unknown key, the nearest known one.
    """
    path = _recipe_file(Path(path))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        known = sorted(str(file) for file in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        hint = f"; there is: {', '.join(known)}" if known else ""
        names = ", ".join(recipe.name for recipe in shipped_recipes())
        raise ConfigError(f"no configuration file at {path}{hint}; recipes by name: {names}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    return parse_config(text, str(path), overrides)


def _recipe_file(path: Path) -> Path:
    """Return `path` if there is a file, else the recipe of this name, if there is one."""
    with contextlib.suppress(OSError):  # whoever reads it says what is wrong
        if not path.is_file():
            return shipped_recipe(path.as_posix()) or path
    return path


def parse_config(text: str, name: str, overrides: Sequence[str] = ()) -> Config:
    """Do what `load_config` does for YAML `text`; `name` stands for it in messages."""
    document = parse_document(text, name)
    for override in overrides:
        apply_override(document, override)
    problems = list(document.problems)
    try:
        config = Config.model_validate(document.values)
    except ValidationError as error:
        problems += _explain(error, document)
    if problems:
        problems.sort(key=_line_number)
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        raise ConfigError(f"{name} has {count}:\n" + "\n".join(f"  {problem}" for problem in problems))
    return config


_KIND = re.compile(r"literal\[.*\]|constrained-(int|float)|int|float")
"""How pydantic names one of several kinds of value."""


def resolved_yaml(config: Config) -> str:
    """Return `config` as YAML with every key spelled out; parsing it gives an equal `Config`."""
    return yaml.safe_dump(config.model_dump(mode="json"), allow_unicode=True, sort_keys=False, width=120)


def _line_number(problem: str) -> int:
    """Return the line that a message begins with; overrides come after the whole file."""
    number = re.match(r"line (\d+)", problem)
    return int(number[1]) if number else sys.maxsize


def _explain(error: ValidationError, document: Document) -> list[str]:
    """Return one line for each mistake: place, key path, what is wrong, what would be right."""
    details = error.errors(include_url=False)
    # A list that lost its bad items is called too short: what is wrong inside it says it all.
    holders = {detail["loc"][:end] for detail in details for end in range(len(detail["loc"]))}
    # A broken rule is a `value_error` of its section, and pydantic asks no rule of a section with a wrong key:
    # all rules are asked here instead, about the keys that are right in themselves.
    details = [detail for detail in details if detail["type"] != "value_error" and detail["loc"] not in holders]
    reasons: dict[KeyPath, list[str]] = {}
    for detail in details:
        reasons.setdefault(_key_of(detail), []).append(describe(detail))
    lines = [_line(document, path, "; or else: ".join(found)) for path, found in reasons.items()]
    known = _right_keys(Config, document.values, (), reasons.keys())
    lines += [_line(document, document.to_blame(paths), reason) for paths, reason in _broken_rules(Config, known, ())]
    return lines


def _key_of(detail: ErrorDetails) -> KeyPath:
    """Return the key of a finding; of a key that takes values of several kinds pydantic names the kind as well."""
    path = detail["loc"]
    named = detail["type"] not in ("extra_forbidden", "invalid_key") and isinstance(path[-1], str)
    return path[:-1] if named and _KIND.fullmatch(str(path[-1])) else path


def _line(document: Document, path: KeyPath, reason: str) -> str:
    """Return one line of the message."""
    return f"{document.place(path)}: " + (f"{show_path(path)}: " if path else "") + reason


def _right_keys(section: type[Section], values: Any, path: KeyPath, wrong: Collection[KeyPath]) -> dict[str, Any]:
    """Return the keys of the section at `path`, defaults included, without those found `wrong`."""
    if path in wrong:
        return {}
    # An unknown key may be any of the absent ones, misspelt: then nothing is known of their values.
    misspelt = not values.keys() <= section.model_fields.keys()
    known: dict[str, Any] = {}
    for key, info in section.model_fields.items():
        here = (*path, key)
        if here in wrong or (misspelt and key not in values):
            continue
        value = values.get(key, info.default)
        inner = section_in(info.annotation)
        if isinstance(value, Section):
            known[key] = value.model_dump()
        elif inner is None:
            if not any(place[:-1] == here for place in wrong):
                known[key] = value
        elif isinstance(value, dict):
            known[key] = _right_keys(inner, value, here, wrong)
        else:
            known[key] = [_right_keys(inner, item, (*here, number), wrong) for number, item in enumerate(value)]
    return known


def _broken_rules(section: type[Section], known: dict[str, Any], path: KeyPath) -> Iterator[tuple[list[KeyPath], str]]:
    """Yield the keys at odds and the reason for each broken rule of the section at `path` and of those inside it."""
    for rule in section.rules:
        for keys, reason in rule.mistakes(known):
            yield [path + (parse_path(key) if key else ()) for key in keys], reason
    for key, value in known.items():
        inner = section_in(section.model_fields[key].annotation)
        if inner is None:
            continue
        if isinstance(value, dict):
            yield from _broken_rules(inner, value, (*path, key))
        else:
            for number, item in enumerate(value):
                yield from _broken_rules(inner, item, (*path, key, number))
