"""Run the benchmarks: `python -m bench [PART ...] [--config FILE] [--set KEY.PATH=VALUE] ...`."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.gpu import bench_gpu
from bench.kernels import bench_kernels
from bench.options import Options
from bench.preparation import bench_preparation
from bench.search import bench_search
from bench.training import bench_training
from translator.errors import TranslatorError

PARTS: dict[str, Callable[[Options], Iterable[str]]] = {
    "training": bench_training,
    "search": bench_search,
    "preparation": lambda options: bench_preparation(options.load()),
    "gpu": bench_gpu,
    "kernels": bench_kernels,
}
USUAL = ("training", "search", "preparation")
"""What is measured when no part is named: the others need a GPU, or speak to developers."""


def main() -> int:
    """Print the report of each part."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure speed, as ratios inside one run.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: {' '.join(USUAL)})")
    parser.add_argument("--config", metavar="FILE", help="recipe (default: the part's own)")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY.PATH=VALUE")
    parser.add_argument("--output", type=Path, default=Options.output, metavar="FOLDER", help="for files of results")
    parser.add_argument(
        "--rounds", type=_count, default=Options.rounds, help="rounds that count (%(default)s); 0 for curves alone"
    )
    parser.add_argument(
        "--steps", type=_positive, default=Options.steps, help="training steps of a round (%(default)s)"
    )
    parser.add_argument(
        "--curve-steps", type=_count, default=Options.curve_steps, help="of a learning curve, 0 for none (%(default)s)"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="a contestant (training), group (kernels), size (gpu)",
    )
    arguments = vars(parser.parse_args())
    parts = arguments.pop("parts")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    options = Options(**arguments)
    if not options.rounds and parts != ["training"]:
        parser.error("--rounds 0 leaves nothing to measure but the curves of `training`")
    try:
        for part in parts or USUAL:
            for line in PARTS[part](options):
                print(line, flush=True)
            print(flush=True)
    except TranslatorError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return 0


def _count(text: str) -> int:
    """Return a whole number from 0."""
    return 0 if text == "0" else _positive(text)


def _positive(text: str) -> int:
    """Return a whole number from 1."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is no whole number from 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
