"""Write the embedded sample corpus (data/sample/*.tsv) from its lexicon and grammar."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scripts.sample_corpus.generate import PAIRS, SEED, SPLITS, generate, write
from translator.errors import TranslatorError

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.sample_corpus", description=__doc__)
    parser.add_argument("--output", type=Path, default=SAMPLE, help="folder for train, validation and test .tsv")
    parser.add_argument("--seed", type=int, default=SEED, help="the committed files have seed %(default)s")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs in all (default %(default)s)")
    options = parser.parse_args(arguments)
    try:
        corpus = generate(SAMPLE, options.seed, options.pairs)
        write(corpus, options.output)
    except TranslatorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name in SPLITS:
        print(f"{name}: {len(corpus.split(name))} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
