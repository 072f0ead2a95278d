"""What comes with the product besides code: the recipes, by name, and the embedded sample.

In a checkout they lie where people edit them, in `configs/` and `data/sample/`; the build puts them into the package.
"""

import contextlib
import re
from pathlib import Path
from typing import Final, NamedTuple

SCHEMA: Final = "schema.json"
"""The schema of recipes, beside them: what an editor completes and checks them by."""
_RECIPES: Final = "configs"
_SAMPLE: Final = "data/sample"
_PACKAGED: Final = "shipped"
"""Folder of the package that the build puts them into (see pyproject.toml)."""
_SCHEMA_LINE: Final = re.compile(r"^(# yaml-language-server: \$schema=).*$", re.MULTILINE)


class Recipe(NamedTuple):
    """A recipe that comes with the product."""

    name: str
    """What `--config` takes: `sample`, `reference/r1`."""
    path: Path
    summary: str
    """The first sentence of its comment."""


def shipped_folder() -> Path:
    """Return the folder that `configs` and `data/sample` are in: a part of the package, or the checkout."""
    package = Path(__file__).parent
    packaged = package / _PACKAGED
    return packaged if packaged.is_dir() else package.parent


def shipped_recipes() -> list[Recipe]:
    """Return the recipes that come with the product, by name, those of folders last."""
    folder = shipped_folder() / _RECIPES
    names = (path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))
    return [_recipe(name, folder / f"{name}.yaml") for name in sorted(names, key=lambda name: ("/" in name, name))]


def shipped_recipe(name: str) -> Path | None:
    """Return the file of the recipe `name`; None if there is none of this name."""
    return next((recipe.path for recipe in shipped_recipes() if recipe.name == name), None)


def recipe_text(path: Path) -> str:
    """Return the recipe at `path`, to be kept elsewhere: it names the schema as a file beside it."""
    return _SCHEMA_LINE.sub(rf"\g<1>{SCHEMA}", path.read_text(encoding="utf-8"))


def present_path(path: str) -> Path:
    """Return `path` or, where nothing is there and it is one of the embedded sample, the file that is shipped.

    So the recipe of the sample finds its text wherever a person stands.
    """
    found = Path(path)
    with contextlib.suppress(OSError):  # too long for the file system: whoever opens it says so
        if found.is_relative_to(_SAMPLE) and not found.exists() and (shipped_folder() / found).exists():
            return shipped_folder() / found
    return found


def _recipe(name: str, path: Path) -> Recipe:
    comments = re.findall(r"^# (?!yaml-language-server)(.*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return Recipe(name, path, comments[0] if comments else "")
