"""Run the benchmarks: `python -m bench [training|search|preparation ...] [--config FILE] [--set KEY.PATH=VALUE]`."""

import argparse
import sys

from bench.preparation import bench_preparation
from bench.search import bench_search
from bench.training import bench_training
from translator.config import load_config
from translator.errors import TranslatorError

PARTS = {"training": bench_training, "search": bench_search, "preparation": bench_preparation}


def main() -> int:
    """Print the report of each part."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure speed, as ratios inside one run.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument("--config", default="configs/sample.yaml", metavar="FILE")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY.PATH=VALUE")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    try:
        config = load_config(options.config, options.overrides)
        for part in options.parts or PARTS:
            print("\n".join(PARTS[part](config)), end="\n\n", flush=True)
    except TranslatorError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
