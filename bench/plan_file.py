"""A YAML file that says what is to be measured."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import ValidationError

from translator.config.section import Section
from translator.errors import ConfigError

Plan = TypeVar("Plan", bound=Section)


def read_plan_file(path: Path, kind: type[Plan], what: str) -> Plan:
    """Return the file at `path` as a `kind`.

    Args:
        path: of the YAML file.
        kind: what it must hold.
        what: a word for it in messages, such as "the experiments".

    Raises:
        ConfigError: it cannot be read, or something in it is wrong; every mistake is named.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read {what} {path}: {error}") from error
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        rows = [f"  {'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False)]
        raise ConfigError("\n".join([f"{path} has mistakes:", *rows])) from error
