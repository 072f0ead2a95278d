"""Recipes derived from another run: its settings, changed, with its text among the sources."""

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from translator.config import Config, SourceConfig
from translator.config.loading import config_of
from translator.config.writing import resolved_yaml, settings
from translator.errors import ConfigError, InputError
from translator.recipes.settings import put_settings
from translator.run.files import sha256_of_json, write_text
from translator.run.folder import RunFolder


def derived_folder(output: str, parent: RunFolder) -> Path:
    """Return the folder of a new run; raise InputError or OSError if the path `output` cannot be one."""
    folder = Path(output)
    if folder.name in ("", ".."):
        raise InputError(f"--output {output} has no name of its own; give a new folder, for example runs/new")
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--output {output} is a file; give a new folder, for example runs/new")
    if folder.resolve() == parent.path.resolve():
        raise InputError(f"--output {output} is the folder of the run itself; give another folder")
    return folder


def text_folder(folder: Path) -> Path:
    """Return the folder of the text that is made for the run `folder`; by default no run has such a name."""
    return folder.with_name(f"{folder.name}.text")


def recipe_file(folder: Path) -> Path:
    """Return the recipe of the derived run `folder`."""
    return folder.with_name(f"{folder.name}.yaml")


def free_name(name: str, taken_names: Container[str]) -> str:
    """Return `name`, or `name`-new, or `name`-new-2 and so on: the first that is not taken."""
    if name not in taken_names:
        return name
    candidate = f"{name}-new"
    number = 1
    while candidate in taken_names:
        number += 1
        candidate = f"{name}-new-{number}"
    return candidate


def names_of(config: Config) -> set[str]:
    """Return the names of all sources and test sets of a recipe."""
    return {source.name for source in (*config.corpus.sources, *config.evaluation.test_sets)}


def derived_config(
    parent: RunFolder,
    folder: Path,
    sources: Sequence[SourceConfig],
    changes: Mapping[str, Any],
    overrides: Sequence[str],
) -> Config:
    """Return the settings of a run with other sources, changes and, after these, the overrides of the user.

    Args:
        folder: the folder of the derived run.
        changes: values by key path.
        overrides: the user's settings, as KEY.PATH=VALUE.

    Raises ConfigError: a value is wrong.
    """
    values = settings(parent.config())
    values["corpus"]["sources"] = [source.model_dump(mode="json", exclude_defaults=True) for source in sources]
    put_settings(values, changes)
    config = config_of(values, f"the settings of {parent.path}, changed", overrides)
    return config.model_copy(update={"run": config.run.model_copy(update={"directory": str(folder)})})


def write_derived(parent: RunFolder, file: Path, config: Config) -> str:
    """Write the recipe `file`, derived from the run `parent`; return a line for the user.

    Raises ConfigError: `file` exists, and was made with other settings or by somebody else.
    """
    made_of = f"# {sha256_of_json(config.model_dump(mode='json'))[:12]}: made from the run {parent.path}"
    if file.exists():
        first_line = file.read_bytes().partition(b"\n")[0].decode("utf-8", "replace")
        if not re.match(r"# [0-9a-f]{12}: made from the run ", first_line):
            raise ConfigError(f"{file} was not made by this command; give --output another folder, or move it away")
        if not first_line.startswith(made_of):
            raise ConfigError(
                f"{file} was made with other settings; give --output another folder, or delete the file and its run"
            )
        return f"{file} exists and is reused"
    write_text(file, f"{made_of}; edit it as needed, and repeat the command.\n{resolved_yaml(config)}")
    return f"{file}: a recipe made from {parent.path}"
