"""Prepare one recipe, given as JSON, and print how long each stage took: a process of its own, to be watched."""

import json
import sys
from dataclasses import asdict

from translator.config import parse_config
from translator.data import DataHandler
from translator.stages import collect_stages


def main() -> None:
    """Print a line of JSON."""
    with collect_stages() as stages:
        data = DataHandler(parse_config(sys.argv[1], "recipe"))
    kept = sum(sum(source.kept.values()) for source in data.corpus.report.sources)
    print(json.dumps({"stages": [asdict(stage) for stage in stages], "kept": kept}))


if __name__ == "__main__":
    main()
