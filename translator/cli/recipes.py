"""The verbs on what comes with the product: recipe, schema."""

import argparse
from pathlib import Path

from translator.cli.arguments import Verbs
from translator.cli.say import say
from translator.errors import InputError
from translator.signals import StopRequest


def add_verbs(verbs: Verbs) -> None:
    """Add the verbs recipe and schema."""
    summary = "list the recipes that come with translator, show one, or copy one out to change it"
    recipe = verbs.add_parser("recipe", help=summary, description=summary)
    recipe.add_argument("name", nargs="?", metavar="NAME", help="its name; without one, all are listed")
    recipe.add_argument("--output", metavar="FILE", help="where to write it; a file that is there is left alone")
    recipe.set_defaults(verb=_recipe)

    summary = "print the JSON schema of recipes, by which editors complete and check them"
    schema = verbs.add_parser("schema", help=summary, description=summary)
    schema.add_argument("--output", metavar="FILE", help="where to write it (default: standard output)")
    schema.set_defaults(verb=_schema)


def _recipe(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.shipped import SCHEMA, recipe_text, shipped_recipe, shipped_recipes
    from translator.storage import write_text
    from translator.text_table import text_table

    recipes = shipped_recipes()
    if options.name is None:
        if options.output is not None:
            raise InputError("--output says where to write a recipe, and none is named; give its NAME")
        say(text_table(("name", "what"), [(recipe.name, recipe.summary) for recipe in recipes], text_columns=2))
        return
    path = shipped_recipe(options.name)
    if path is None:
        names = ", ".join(recipe.name for recipe in recipes)
        raise InputError(f"no recipe is called `{options.name}`; there are: {names}")
    if options.output is None:
        say(recipe_text(path).rstrip("\n"))
        return
    output = Path(options.output)
    if output.exists():
        raise InputError(f"{output} is there already; choose another file, or remove it first")
    write_text(output, recipe_text(path))
    say(
        f"{output} is written. Next:",
        f"  translator train --config {output}",
        f"  translator schema --output {output.parent / SCHEMA}    # for an editor that completes and checks keys",
    )


def _schema(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import schema_text
    from translator.storage import write_text

    if options.output is None:
        say(schema_text().rstrip("\n"))
        return
    write_text(Path(options.output), schema_text())
    say(f"{options.output} is written; a recipe beside it names it in its first line:")
    say(f"  # yaml-language-server: $schema={Path(options.output).name}")
