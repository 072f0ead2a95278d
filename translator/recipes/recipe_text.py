"""Recipes as values and as text: YAML, with the reason beside each setting that was chosen."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from translator.config import SourceConfig, load_config
from translator.config.document import RecipeLoader
from translator.config.loading import shipped_recipes

_COMMENT_COLUMN: Final = 31  # characters before the comment of a line


class Choice(NamedTuple):
    """A chosen setting, with the reason."""

    key: str  # like `training.max_steps`, or a whole section, like `model`
    value: Any
    why: str


def recipe_values(recipe: str) -> dict[str, Any]:
    """Return what a recipe sets, by section and key, without defaults; `recipe` is a shipped one, or a path.

    Raises ConfigError: the recipe is missing or wrong.
    """
    load_config(recipe)
    file = Path(recipe)
    if not file.is_file():
        file = shipped_recipes()[recipe]
    values: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), RecipeLoader)  # noqa: S506 - a SafeLoader
    return values


def source_values(sources: Iterable[SourceConfig]) -> list[dict[str, Any]]:
    """Return what a recipe says of its sources: all but the defaults."""
    return [source.model_dump(mode="json", exclude_defaults=True) for source in sources]


def put_settings(values: dict[str, Any], choices: Iterable[Choice]) -> None:
    """Set the chosen keys in the settings of a recipe, by section."""
    for choice in choices:
        *sections, key = choice.key.split(".")
        section = values
        for name in sections:
            section = section.setdefault(name, {})
        section[key] = choice.value


def recipe_text(title: str, values: Mapping[str, Any], choices: Iterable[Choice]) -> str:
    """Return settings as YAML under a comment; the chosen ones get their reasons as comments.

    Args:
        title: lines of the comment at the top.
        values: the settings, by section.
        choices: those that are explained.
    """
    reasons = {choice.key: choice.why for choice in choices}
    lines = [f"# {line}" for line in title.splitlines()]
    path: list[str] = []  # the keys from the section down to the current line
    for line in yaml.safe_dump(dict(values), allow_unicode=True, sort_keys=False, width=1000).splitlines():
        setting = line.lstrip(" ")
        depth = (len(line) - len(setting)) // 2  # YAML indents each level by two spaces
        path[depth:] = [setting.partition(":")[0]]
        if line and depth == 0:
            lines.append("")  # a blank line before each section
        reason = reasons.get(".".join(path))
        lines.append(line if reason is None else f"{line:<{_COMMENT_COLUMN}} # {reason}")
    return "\n".join(lines) + "\n"
