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
    verb.add_argument(
        "--config", required=True, metavar="FILE", help="YAML recipe, or the name of one of ours (translator recipe)"
    )
    add_set(verb)


def place(text: str) -> str:
    """Return the name of a file or folder as given; an empty one, which a shell makes of an unset variable, is none."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; name a run folder, for example runs/sample")
    return text


def add_runs(verb: argparse.ArgumentParser, several: str) -> None:
    """Let `verb` take run folders, as `runs`.

    Args:
        verb: the parser.
        several: what it means that `--run` is given again.
    """
    verb.add_argument(
        "--run",
        dest="runs",
        action="append",
        type=place,
        required=True,
        metavar="FOLDER",
        help=f"run folder, for example runs/sample; {several}",
    )


def add_checkpoint(verb: argparse.ArgumentParser) -> None:
    """Let `verb` take one checkpoint of its runs."""
    verb.add_argument("--checkpoint", default="best", help="best (default), last, averaged, or a step number")


def add_search(verb: argparse.ArgumentParser) -> None:
    """Let `verb` choose how translations are picked."""
    verb.add_argument("--search", choices=("greedy", "beam", "sampling"), help="search.method (default: as in the run)")
    verb.add_argument("--beam", type=int, metavar="N", help="search.beam_size, with beam search")
    add_set(verb)


def add_engine(verb: argparse.ArgumentParser) -> None:
    """Let `verb` choose what computes, and where."""
    verb.add_argument(
        "--engine", choices=("torch", "ctranslate2"), help="what computes (default: torch, or what an export is for)"
    )
    verb.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or cuda:N (default: as in the run)")
    verb.add_argument(
        "--precision", choices=("float32", "bf16", "int8"), help="search.precision (default: as in the run)"
    )


def search_overrides(options: argparse.Namespace) -> list[str]:
    """Return the search flags as overrides; a beam size implies beam search.

    Raises:
        InputError: a beam size is given for a search that has no beam, or is none.
    """
    without_beam = {
        "greedy": "which keeps one hypothesis",
        "sampling": "which draws tokens instead",
    }
    if options.beam is not None and options.search in without_beam:
        raise InputError(
            f"--beam {options.beam} means nothing with --search {options.search}, {without_beam[options.search]}; "
            "leave out --beam, or take --search beam"
        )
    if options.beam is not None and options.beam < 1:
        raise InputError(f"--beam {options.beam}: a beam is at least 1 hypothesis wide; 5 is usual")
    overrides = list(options.overrides)
    if options.search or options.beam is not None:
        overrides.append(f"search.method={options.search or 'beam'}")
    if options.beam is not None:
        overrides.append(f"search.beam_size={options.beam}")
    if getattr(options, "precision", None) is not None:
        overrides.append(f"search.precision={options.precision}")
    return overrides
