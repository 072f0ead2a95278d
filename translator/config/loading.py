"""Load a recipe: YAML text with `--set` overrides becomes a validated `Config`; find the shipped recipes."""

import contextlib
import functools
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from translator.config.document import Document
from translator.config.mistakes import explain
from translator.config.paths import shipped_folder
from translator.config.sections import Config
from translator.errors import ConfigError

_LINE: Final = re.compile(r"line (\d+)")


def load_config(path: Path | str, overrides: Sequence[str] = ()) -> Config:
    """Return the config of the recipe at `path`, or of the shipped recipe with that name, after all overrides.

    Overrides (`key.path=value`) apply in order. A `ConfigError` lists every mistake with its line and key path.
    """
    # 1. Find the recipe. A file takes precedence over a shipped recipe of the same name.
    path = Path(path)
    with contextlib.suppress(OSError):  # reading the file reports the error
        if not path.is_file():
            path = shipped_recipes().get(path.as_posix(), path)

    # 2. Read it.
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        recipes_there = ", ".join(sorted(map(str, path.parent.glob("*.yaml"))))
        hint = f"; found there: {recipes_there}" if recipes_there else ""
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
    try:
        document = Document(text)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    if not isinstance(document.values, dict):
        raise ConfigError(f"{name}: expected sections (`run:`, `corpus:`, ...) at the top level, found no keys")
    return _validated(document, name, overrides)


def config_of(values: Mapping[str, Any], name: str, overrides: Sequence[str] = ()) -> Config:
    """Return the config of computed values.

    Args:
        values: sections, each with the values of its keys.
        name: what error messages call the values.
        overrides: `key.path=value`, as for `load_config`.

    Raises ConfigError: it lists every mistake with its key path.
    """
    return _validated(Document(yaml.safe_dump(values), "computed value"), name, overrides)


def _validated(document: Document, name: str, overrides: Sequence[str]) -> Config:
    """Return the config of `document`, which `overrides` change; raise ConfigError with all mistakes."""
    config = _checked(document, overrides)
    _refuse(document.problems, name)
    assert config is not None, "a config without mistakes is valid"
    return config


def check_overrides(overrides: Sequence[str], name: str) -> None:
    """Raise ConfigError for overrides that are wrong in any recipe: unknown keys, and values of a wrong type or range.

    Messages call the recipe `name`; its other values need not be known yet.
    """
    document = Document("")
    _checked(document, overrides, ignored=("rules", "missing"))  # only a whole recipe can be checked for these
    _refuse(document.problems, name)


def _checked(document: Document, overrides: Sequence[str], ignored: Sequence[str] = ()) -> Config | None:
    """Change `document` by the overrides, add its mistakes to its problems, and return its config if it is valid.

    `ignored` are pydantic's types of mistakes that are not added.
    """
    # 1. The overrides.
    for override in overrides:
        document.override(override)

    # 2. Types, ranges and rules.
    try:
        return Config.model_validate(document.values)
    except ValidationError as error:
        document.problems += explain(error.errors(include_url=False), document, ignored)
        return None


def _refuse(problems: Sequence[str], name: str) -> None:
    """Raise ConfigError if there are problems: those of the file in the order of its lines, then those of overrides."""
    if not problems:
        return
    problems = sorted(problems, key=_line_number)
    count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
    listed = "\n".join(f"  {problem}" for problem in problems)
    # If all mistakes are in overrides, the file is right.
    culprit = f"{name} with --set" if all(problem.startswith("--set") for problem in problems) else name
    raise ConfigError(f"{culprit} has {count}:\n{listed}")


def _line_number(problem: str) -> int:
    """Return the number of the line that a problem begins with; a large one if it is in an override."""
    line = _LINE.match(problem)
    return sys.maxsize if line is None else int(line[1])


def shipped_recipes() -> dict[str, Path]:
    """Return the shipped recipes by the names that `--config` accepts; those in subfolders come last."""
    folder = shipped_folder() / "configs"
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml")]
    names.sort(key=lambda name: ("/" in name, name))
    return {name: folder / f"{name}.yaml" for name in names}
