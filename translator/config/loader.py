"""From a YAML file and `--set` overrides to a validated `Config`, with all mistakes reported together."""

import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from translator.config.document import Document, KeyPath, apply_override, parse_document, show_path
from translator.config.sections import Config
from translator.errors import ConfigError


def load_config(path: Path | str, overrides: Sequence[str] = ()) -> Config:
    """Read the recipe at `path`, apply `key.path=value` overrides in order, and validate the result.

    Raises:
        ConfigError: the file cannot be read, or anything in it is wrong; the message lists every mistake with its line,
            its key path and, for an unknown key, the nearest known one.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        known = sorted(str(file) for file in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        hint = f"; there is: {', '.join(known)}" if known else ""
        raise ConfigError(f"no configuration file at {path}{hint}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    return parse_config(text, str(path), overrides)


def parse_config(text: str, name: str, overrides: Sequence[str] = ()) -> Config:
    """Do what `load_config` does for YAML `text`; `name` stands for it in messages."""
    document = parse_document(text, name)
    for override in overrides:
        apply_override(document, override)
    config: Config | None = None
    problems = list(document.problems)
    try:
        config = Config.model_validate(document.values)
    except ValidationError as error:
        problems += [_explain(dict(detail), document) for detail in error.errors(include_url=False)]
    if problems or config is None:
        problems.sort(key=_line_number)
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        raise ConfigError(f"{name} has {count}:\n" + "\n".join(f"  {problem}" for problem in problems))
    return config


def resolved_yaml(config: Config) -> str:
    """Return `config` as YAML with every key spelled out; parsing it gives an equal `Config`."""
    return yaml.safe_dump(config.model_dump(mode="json"), allow_unicode=True, sort_keys=False, width=120)


def _line_number(problem: str) -> int:
    """Return the line that a message begins with; overrides come after the whole file."""
    number = re.match(r"line (\d+)", problem)
    return int(number[1]) if number else sys.maxsize


def known_keys(model: type[BaseModel], prefix: str = "") -> list[str]:
    """Return every key path of `model`, list items left out of the path."""
    paths = []
    for key, info in model.model_fields.items():
        paths.append(prefix + key)
        section = _section_of(info.annotation)
        if section is not None:
            paths += known_keys(section, f"{prefix}{key}.")
    return paths


def _section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the section type named in an annotation such as `tuple[SourceConfig, ...]`, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        section = _section_of(argument)
        if section is not None:
            return section
    return None


def _explain(detail: dict[str, Any], document: Document) -> str:
    """Return one line for one of pydantic's findings: place, key path, what is wrong, what would be right."""
    path: KeyPath = tuple(detail["loc"])
    where = f"{document.place(path)}: "
    where += f"{show_path(path)}: " if path else ""
    kind, context = detail["type"], detail.get("ctx", {})
    given = detail.get("input")
    if kind == "extra_forbidden":
        return where + "unknown key" + _nearest(path)
    if kind == "missing":
        return where + "this key is required"
    if kind == "value_error":
        return where + str(context["error"])
    if kind == "literal_error":
        return where + f"{_show(given)} is not one of {context['expected']}"
    if kind == "string_pattern_mismatch":
        return where + f"{_show(given)} does not fit the pattern {context['pattern']}"
    message = detail["msg"]
    message = message.replace("Input should be a valid dictionary or instance of", "expected a section of keys,")
    message = message.replace("Input should be", "expected").replace("Input should have", "expected")
    return where + f"{message}, got {_show(given)}"


def _show(value: Any) -> str:
    """Return a value as the user wrote it, with its type where the type is the point."""
    names = {str: "text", bool: "truth value", int: "number", float: "number", list: "list", dict: "section"}
    text = "null" if value is None else repr(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return f"{text} ({names[type(value)]})" if type(value) in names else text


def _nearest(path: KeyPath) -> str:
    """Return a hint at the known key most like the unknown one: in its own section first, then anywhere."""
    keys = known_keys(Config)
    named = [part for part in path if isinstance(part, str)]
    section, last = named[:-1], str(named[-1]) if named else str(path[-1])
    prefix = ".".join(section) + "." if section else ""
    siblings = [key[len(prefix) :] for key in keys if key.startswith(prefix) and "." not in key[len(prefix) :]]
    close = difflib.get_close_matches(last, siblings, n=1, cutoff=0.6)
    if close:
        return f"; did you mean `{close[0]}`?"
    elsewhere = [key for key in keys if key.rpartition(".")[2] == last]
    if not elsewhere:
        leaf = difflib.get_close_matches(last, [key.rpartition(".")[2] for key in keys], n=1, cutoff=0.8)
        elsewhere = [key for key in keys if leaf and key.rpartition(".")[2] == leaf[0]]
    if elsewhere:
        return f"; did you mean `{elsewhere[0]}`?"
    return f"; known here: {', '.join(siblings)}" if siblings else ""
