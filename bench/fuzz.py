"""The long run of the fuzz test: `python -m bench.fuzz --inputs 200000 --seed 1`; the same seed is the same input."""

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Final

_SAY_EVERY: Final = 10.0
"""Seconds between two lines of progress."""
_SHOWN: Final = 20
"""Failures that are shown in full."""


def main() -> int:
    """Play the inputs with the seeds from `--seed` on, and print what became of them; 1 if any found a bug."""
    parser = argparse.ArgumentParser(prog="bench.fuzz", description="Read and prepare corpora with wrong bytes.")
    parser.add_argument("--inputs", type=int, default=200_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first input; the others follow")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from corpus.fuzz_cases import drawn_case
    from corpus.fuzzing import play

    outcomes: Counter[str] = Counter()
    failed: list[int] = []
    began = said = time.monotonic()
    for number, seed in enumerate(range(options.seed, options.seed + options.inputs)):
        try:
            outcomes[play(drawn_case(seed))] += 1
        except Exception:  # noqa: BLE001  # any is a finding, and the run goes on
            failed.append(seed)
            if len(failed) <= _SHOWN:
                traceback.print_exc()
        if time.monotonic() - said >= _SAY_EVERY:
            said = time.monotonic()
            print(f"{number + 1:,} inputs in {said - began:,.0f} s, {len(failed)} failures", flush=True)
    seconds = time.monotonic() - began
    print(f"{options.inputs:,} inputs, seeds {options.seed} to {options.seed + options.inputs - 1}, {seconds:,.0f} s")
    for outcome, count in outcomes.most_common():
        print(f"  {count:>9,}  {outcome}")
    print(f"  {len(failed):>9,}  failures{': seeds ' + ', '.join(map(str, failed[:100])) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
