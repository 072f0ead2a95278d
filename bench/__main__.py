"""Run the benchmarks: `python -m bench PART ... [--config FILE] [--set KEY.PATH=VALUE ...] ...`."""

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench.options import FailedError, Options
from translator.errors import Interrupted, TranslatorError

PARTS = {
    "training": "training speed compared with nn.Transformer and Hugging Face Marian",
    "search": "translation speed compared with CTranslate2 and Hugging Face generate",
    "preparation": "time and memory of preparing up to 4,000,000 pairs",
    "gpu": "a GPU in eight minutes: training, search, the sample",
    "torture": "kill, stop and disturb training, and compare the bits with those of an undisturbed run",
    "verbs": "kill the other verbs, alone and two at a time, beside files of the user's that must keep their bytes",
    "quality": "our recipe compared with eole and Marian at equal size and training time (hours; resumes)",
    "experiments": "train the variants of a recipe and compare them on validation text (hours; resumes)",
}
"""The parts; `bench.PART:bench` yields the lines of its report."""
DEFAULT_PARTS = ("training", "search", "preparation")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report of each part, and return the exit code."""
    about = "\n".join(f"  {name:<12} {text}" for name, text in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="bench", epilog=f"parts:\n{about}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"see below; default: {' '.join(DEFAULT_PARTS)}")
    parser.add_argument("--config", metavar="FILE", help="recipe or plan (default: the part's own)")
    parser.add_argument("--set", dest="overrides", action="extend", nargs="+", default=[], metavar="KEY.PATH=VALUE")
    parser.add_argument("--output", type=Path, default=Options.output, metavar="FOLDER", help="for runs and exports")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="contestant, size, variant, ...")
    parser.add_argument("--table", action="store_true", help="quality, experiments: only the table of finished work")
    for name in ("rounds", "steps", "seed", "kills"):
        default = getattr(Options, name)
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"default: {default}")
    values = vars(parser.parse_args(arguments))
    parts = values.pop("parts") or list(DEFAULT_PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"unknown part: {', '.join(unknown)}; choose from: {', '.join(PARTS)}")
    options, code = Options(**values), 0
    try:
        for part in parts:
            bench: Callable[[Options], Iterable[str]] = importlib.import_module(f"bench.{part}").bench
            try:
                for line in bench(options):
                    print(line, flush=True)
            except FailedError as error:
                print(f"bench: {error}", file=sys.stderr)
                code = 1
            print(flush=True)
    except (Interrupted, KeyboardInterrupt) as stop:
        print("bench: stopped; the same command resumes `quality` and `experiments`", file=sys.stderr)
        return stop.exit_code if isinstance(stop, Interrupted) else 130
    except TranslatorError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
