"""Recipes derived from another run: its settings, changed, with its text among the sources."""

from collections.abc import Container, Sequence
from pathlib import Path

from translator.config import Config, SourceConfig, load_config
from translator.config.loading import config_of
from translator.config.writing import settings
from translator.errors import ConfigError, InputError
from translator.recipes.recipe_text import Choice, put_settings, recipe_text, source_values
from translator.run.files import write_text
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


def free_name(name: str, taken_names: Container[str]) -> str:
    """Return `name`, or `name`-new and so on: the first that is not taken."""
    while name in taken_names:
        name += "-new"
    return name


def names_of(config: Config) -> set[str]:
    """Return the names of all sources and test sets of a recipe."""
    return {source.name for source in (*config.corpus.sources, *config.evaluation.test_sets)}


def derive(
    parent: RunFolder,
    folder: Path,
    sources: Sequence[SourceConfig],
    changes: Sequence[Choice],
    overrides: Sequence[str],
) -> tuple[Path, str]:
    """Return the recipe of a new run, with a line that describes it; write it if it is missing.

    It has the settings of `parent`, then other sources and the changes, then the overrides of the user.

    Args:
        parent: the trained run.
        folder: the run folder to come; the recipe stands beside it, as FOLDER.yaml.
        sources: the corpora of the new run.
        changes: the settings in which the new run differs from `parent`, with the reasons.
        overrides: the user's settings, as KEY.PATH=VALUE.

    Raises ConfigError: a value is wrong, or the file exists and says something else.
    """
    values = settings(parent.config())
    values["corpus"]["sources"] = source_values(sources)
    put_settings(values, changes)
    config = config_of(values, f"the settings of {parent.path}, changed", overrides)
    # The run folder is always `folder`, even if an override sets `run.directory`.
    run_section = config.run.model_copy(update={"directory": str(folder)})
    config = config.model_copy(update={"run": run_section})

    file = folder.with_name(f"{folder.name}.yaml")
    if file.exists():
        try:
            existing = load_config(file)
        except ConfigError:
            existing = None  # a file of the user that is no recipe
        if existing != config:
            raise ConfigError(
                f"{file} exists and is another recipe than this command makes; give --output another folder, or "
                f"delete the file and its run (to train it as it is: translator train --config {file})"
            )
        return file, f"{file} exists and is reused"
    # The reason of a change does not hold for a value that the user has set instead.
    overridden_keys = {override.partition("=")[0] for override in overrides}
    changes = [choice for choice in changes if choice.key not in overridden_keys]
    title = f"Made from the run {parent.path}. A comment tells what was changed, and why."
    write_text(file, recipe_text(title, settings(config), changes))
    return file, f"{file}: a recipe made from {parent.path}"
