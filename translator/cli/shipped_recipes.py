"""The verbs recipe and schema."""

import argparse
import re
from pathlib import Path
from typing import Final

from translator.cli.arguments import option, place, say, verb
from translator.errors import InputError
from translator.run.signals import StopRequest

_SCHEMA_LINE: Final = re.compile(r"^(# yaml-language-server: \$schema=).*$", re.MULTILINE)
"""The line from which an editor finds the schema of a recipe; a copied recipe refers to `schema.json` beside it."""
_COMMENT: Final = re.compile(r"^# (?!yaml-language)(.*)", re.MULTILINE)


@verb(
    "recipe",
    "list the shipped recipes, or print or copy one",
    option("name NAME", "name of the recipe (default: list all)", nargs="?"),
    option("--output FILE", "file for the copy; an existing file is never overwritten", type=place),
    examples=("translator recipe sample --output my.yaml",),
)
def _recipe(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config.loading import shipped_recipes

    texts = {name: path.read_text(encoding="utf-8") for name, path in shipped_recipes().items()}
    if options.name is None:
        _list_recipes(texts)
        return
    if options.name not in texts:
        raise InputError(f"unknown recipe `{options.name}`; shipped recipes: {', '.join(texts)}")
    text = _SCHEMA_LINE.sub(r"\g<1>schema.json", texts[options.name])
    if options.output is None:
        say(text.rstrip("\n"))
    else:
        _copy_recipe(text, Path(options.output))


def _list_recipes(texts: dict[str, str]) -> None:
    """Print the names of recipes with the first comment of each."""
    from translator.run.text import wrapped

    # A recipe begins with a comment that says what it is for.
    for name, text in texts.items():
        comments = _COMMENT.findall(text)
        say(name, *wrapped(comments[0]))


def _copy_recipe(text: str, output: Path) -> None:
    """Write a recipe to a new file; raise InputError if it exists."""
    from translator.run.output_paths import write_output

    if output.exists():
        raise InputError(f"{output} exists; choose another file, or remove it first")
    output.parent.mkdir(parents=True, exist_ok=True)
    write_output(output, text)
    say(f"{output} is written. Next:", f"  translator train --config {output}")
    say(f"  translator schema --output {output.parent / 'schema.json'}    # for editors that complete and check keys")


@verb(
    "schema",
    "print the JSON schema of recipes, which lets editors complete and check keys",
    option("--output FILE", "file to write (default: standard output)", type=place),
    examples=("translator schema --output schema.json",),
)
def _schema(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config.writing import schema_text
    from translator.run.output_paths import refuse_input_as_output, write_output

    if options.output is None:
        say(schema_text().rstrip("\n"))
        return
    refuse_input_as_output([], options.output)  # it reads no file, but a file of a run is no output
    write_output(options.output, schema_text())
    say(f"{options.output} is written; a recipe in the same folder refers to it in its first line:")
    say(f"  # yaml-language-server: $schema={Path(options.output).name}")
