"""Settings by key path, such as `training.max_steps`: those of a shipped recipe, and changes of others."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from translator.config import load_config
from translator.config.document import RecipeLoader
from translator.config.loading import shipped_recipes


def recipe_values(recipe: str) -> dict[str, Any]:
    """Return what the text of a recipe sets, by section and key; `recipe` is a shipped one, or a path."""
    file = shipped_recipes().get(recipe, Path(recipe))
    values: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), RecipeLoader)  # noqa: S506 - a SafeLoader
    return values


def shipped_settings(recipe: str, *sections: str, defaults: bool = False) -> dict[str, Any]:
    """Return the settings of a recipe by key path.

    Args:
        recipe: the name of a shipped recipe, or a path.
        sections: that count.
        defaults: return also the keys that the recipe does not set, with their default values.

    Raises ConfigError: the recipe is missing or wrong.
    """
    file = shipped_recipes().get(recipe, Path(recipe))
    values = load_config(file).model_dump(mode="json")
    if not defaults:
        values = recipe_values(recipe)
    settings: dict[str, Any] = {}
    for section in sections:
        settings |= _by_key_path(section, values.get(section) or {})
    return settings


def _by_key_path(path: str, value: Any) -> dict[str, Any]:
    """Return the values of a section and its sections, by key path; a list is one value."""
    if not isinstance(value, dict):
        return {path: value}
    values: dict[str, Any] = {}
    for key, child in value.items():
        values |= _by_key_path(f"{path}.{key}", child)
    return values


def put_settings(values: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Set `changes`, by key path, in `values`, whose sections exist."""
    for path, value in changes.items():
        section, key = _section_and_key(values, path)
        section[key] = value


def remove_settings(values: dict[str, Any], paths: Iterable[str]) -> None:
    """Remove the key paths from `values`, whose sections exist; a missing key is ignored."""
    for path in paths:
        section, key = _section_and_key(values, path)
        section.pop(key, None)


def _section_and_key(values: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    *sections, key = path.split(".")
    for section in sections:
        values = values[section]
    return values, key
