"""Declaration of verbs and their output; arguments shared by several verbs."""

import argparse
import difflib
import json
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from translator.errors import InputError
from translator.run.logging import LOGGER
from translator.run.text import printable, write_lines

if TYPE_CHECKING:
    from translator.inference.translator import Translator

Option = tuple[str, dict[str, Any]]
_OVERRIDE: Final = re.compile(r"[a-z_]+(\.\w+)+=")
_PRECISIONS: Final = ("auto", "float32", "bf16", "int8")
_RUNS_FOLDER: Final = Path("runs")  # where all recipes put their runs


def say(*lines: str) -> None:
    """Print `lines` on standard output and flush it, so that a write error is raised here and not at exit."""
    write_lines(sys.stdout, lines)


@dataclass(frozen=True)
class Verb:
    """A verb of the command line; its first word may be a group, such as `plot`."""

    name: str
    summary: str  # first line: list of verbs; all lines: help of this verb
    options: tuple[Option, ...]
    examples: tuple[str, ...]
    run: str  # `module:function`; the function gets the parsed options and the stop request

    def add_to(self, verbs: "argparse._SubParsersAction[VerbParser]") -> None:
        """Add a parser for this verb to those of the other verbs."""
        parser = verbs.add_parser(
            self.name.split()[-1],
            help=self.summary.split("\n")[0],
            description=self.summary,
            epilog="\n  ".join(("examples:", *self.examples)) if self.examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for name, settings in self.options:
            parser.add_argument(name, **settings)
        parser.set_defaults(verb=self)


def option(name: str, help_text: str, **settings: Any) -> Option:
    """Return an argument of a verb: `name` is the flag, a space and the metavar; `settings` go to `add_argument`.

    Where the metavar ends in FILE, FOLDER or PATH, the value is a place; where it is N or K, a whole number.
    """
    flag, _, metavar = name.partition(" ")
    settings["help"] = help_text
    if metavar:
        settings["metavar"] = metavar
    if metavar.endswith(("FILE", "FOLDER", "PATH")):
        settings["type"] = place
    elif metavar in ("N", "K"):
        settings["type"] = int
    return flag, settings


class VerbParser(argparse.ArgumentParser):
    """Answers a mistake with one line, which names the verb that was meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse would list all verbs.
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            self.error(f"there is no verb `{value}`{_nearest(value, action.choices)}")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        """End the program with one message; raises SystemExit."""
        self.exit(2, printable(f"{self.prog}: {message} (help: {self.prog} --help)\n"))


def _nearest(word: str, known_words: Iterable[str]) -> str:
    """Return a question whether the most similar of the known words was meant; nothing if none is similar."""
    similar_words = difflib.get_close_matches(word, known_words, n=1)
    return f"; did you mean {similar_words[0]}?" if similar_words else ""


def advice_on_stray(arguments: Sequence[str], options: Sequence[Option]) -> str:
    """Return a message on arguments that belong to none of the `options` of their verb."""
    first = arguments[0]
    if first.startswith("-"):
        flag = first.partition("=")[0]
        return f"there is no option {flag}{_nearest(flag, [name for name, _ in options])}"
    if "." in first:
        return f"{first} belongs to no option; did you mean --set {shlex.quote(first)}?"
    return f"`{first}` belongs to no option; a key of the recipe needs its section and --set: section.key=value"


def repeat_set(arguments: Sequence[str]) -> list[str]:
    """Return `arguments` with `--set` before each override, so that `--set a.b=1 c.d=2` sets two keys."""
    # With the action "append", argparse takes one value after each `--set`. (With `nargs`, it would also take the text
    # to translate.)
    repeated: list[str] = []
    after_set = False  # whether `--set` stands before, with nothing but overrides between
    for argument in arguments:
        is_override = after_set and _OVERRIDE.match(argument) is not None
        if is_override and repeated[-1] != "--set":
            repeated.append("--set")
        repeated.append(argument)
        after_set = argument == "--set" or is_override
    return repeated


# --- shared arguments ---


def place(text: str) -> str:
    """Return the path of a file or folder; `~` is a home folder.

    Refuses an empty path (an unset shell variable); raises InputError for an unknown home.
    """
    if not text:
        raise argparse.ArgumentTypeError("the path is empty; give a path, for example runs/sample")
    from translator.config.paths import expand_home  # with all of `config`, which `--help` does without

    return expand_home(text)


_SETTINGS: Final = "override config keys; one or more KEY.PATH=VALUE"
SET: Final = option("--set KEY.PATH=VALUE", _SETTINGS, dest="overrides", action="append", default=[])
PARENT_RUN: Final = option("--run FOLDER", "run folder, for example runs/sample", required=True)
_NEWEST: Final = "run folder, for example runs/sample (default: the newest finished one below runs)"
RUN: Final = option("--run FOLDER", _NEWEST)
_RUNS: Final = f"{_NEWEST}; repeat it for an ensemble or to evaluate several systems"
RUNS: Final = option("--run FOLDER", _RUNS, dest="runs", action="append", default=[])
CHECKPOINT: Final = option("--checkpoint", "best (default), last, averaged, or a step number", default="best")
TEXT_FORMS: Final = ("raw", "normalized", "folded")  # in the order of `text_variants`
FORMAT: Final = option(
    "--format", "form of the tables (default: text)", choices=("text", "markdown", "latex", "csv"), default="text"
)
SEARCH: Final = (
    option(
        "--search",
        "search method (default: search.method of the run)",
        choices=("greedy", "beam", "sampling"),
        dest="method",
    ),
    option("--beam N", "beam width; implies --search beam (default: search.beam_size)", dest="beam_size"),
    SET,
    option(
        "--engine",
        "inference engine; auto (default): ctranslate2 on a CPU if it supports the request, else torch",
        choices=("auto", "torch", "ctranslate2"),
        default="auto",
    ),
    option("--device NAME", "cpu, mps, cuda or cuda:N (default: run.device of the run)", default="auto"),
    option("--tag NAME", "source of the recipe with `tag: true` whose style the translations have"),
    option("--glossary FILE", "TSV of terms and the translations that they must have"),
    option("--rerank FOLDER", "run of the other direction, by which the hypotheses of a beam are ranked too"),
    option("--precision", "precision of inference (default: that of the run)", choices=_PRECISIONS),
)
_SEARCH_KEYS: Final = ("method", "beam_size", "precision", "tag", "glossary", "rerank")
"""Keys of `search` that have a flag."""


def chosen_run(folder: str | None) -> Path:
    """Return the run folder that `--run` names; without `--run`, log and return the newest finished run.

    Raises:
        RunError: the folder is no run.
        InputError: no run is named, and none is finished.
    """
    from translator.checkpoint.newest_run import newest_finished_run
    from translator.run.folder import RunFolder

    if folder is not None:
        return RunFolder.open(folder).path
    newest = newest_finished_run(_RUNS_FOLDER)
    if newest is None:
        raise InputError(
            f"no run in the folder {_RUNS_FOLDER} is finished; train one first (translator train --config sample),"
            " or name one with --run FOLDER"
        )
    LOGGER.info("the newest finished run is used: %s (--run names another)", newest)
    return newest


def chosen_runs(folders: Sequence[str]) -> list[Path]:
    """Return the run folders that `--run` names, or the newest finished run; see `chosen_run`."""
    return [chosen_run(folder) for folder in folders] or [chosen_run(None)]


def search_flags(options: argparse.Namespace) -> list[str]:
    """Return the search flags as overrides; a beam size implies beam search."""
    # Flags are short forms of settings. They come after `--set`: of two overrides of a key, the last counts.
    overrides = list(options.overrides)
    for key in _SEARCH_KEYS:
        value = getattr(options, key)
        if value is not None:
            overrides.append(f"search.{key}={json.dumps(value)}")  # overrides are YAML, and so is JSON
    width, method = options.beam_size, options.method
    if width is not None:
        if method in ("greedy", "sampling"):
            raise InputError(
                f"--beam {width} has no effect with --search {method}; leave out --beam, or use --search beam"
            )
        if width < 1:
            raise InputError(f"--beam {width}: the beam width must be at least 1; 5 is usual")
        overrides.append("search.method=beam")
    return overrides


def load_model(
    runs: Sequence[Path | str],
    engine: str = "auto",
    checkpoint: str = "best",
    device: str = "auto",
    overrides: Sequence[str] = (),
) -> "Translator":
    """Return the translator of the runs; set the number of torch threads to that of the run.

    Args:
        runs: run folders; several are an ensemble.
        engine: `torch`, `ctranslate2`, or `auto`.
        checkpoint: `best`, `last`, `averaged` or a step number.
        device: `cpu`, `mps`, `cuda`, `cuda:N`, or `auto`.
        overrides: `key.path=value` for the configuration of the runs.
    """
    from translator.inference.translator import Translator

    translator = Translator.load(runs, engine=engine, checkpoint=checkpoint, device=device, overrides=overrides)
    translator.use_own_threads()
    return translator
