"""Arguments that several verbs share, and what they mean as overrides of settings."""

import argparse
from typing import TYPE_CHECKING

from translator.errors import InputError

if TYPE_CHECKING:
    Verbs = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Verbs = object
"""What verbs are added to."""


def add_set(verb: argparse.ArgumentParser) -> None:
    """Let `verb` take overrides of settings."""
    verb.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY.PATH=VALUE", help="override one setting"
    )


def add_config(verb: argparse.ArgumentParser) -> None:
    """Let `verb` take a recipe."""
    verb.add_argument("--config", required=True, metavar="FILE", help="YAML recipe, for example configs/sample.yaml")
    add_set(verb)


def add_search(verb: argparse.ArgumentParser) -> None:
    """Let `verb` choose how translations are picked."""
    verb.add_argument("--search", choices=("greedy", "beam"), help="search.method (default: as in the run)")
    verb.add_argument("--beam", type=int, metavar="N", help="search.beam_size, with beam search")
    add_set(verb)


def search_overrides(options: argparse.Namespace) -> list[str]:
    """Return the search flags as overrides; a beam size implies beam search.

    Raises:
        InputError: a beam size is given for greedy search, which has no beam.
    """
    if options.search == "greedy" and options.beam is not None:
        raise InputError(
            f"--beam {options.beam} means nothing with --search greedy, which keeps one hypothesis; "
            "leave out --beam, or take --search beam"
        )
    overrides = list(options.overrides)
    if options.search or options.beam is not None:
        overrides.append(f"search.method={options.search or 'beam'}")
    if options.beam is not None:
        overrides.append(f"search.beam_size={options.beam}")
    return overrides
