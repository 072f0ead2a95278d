"""The speed of our own training: the steps of a recipe for some seconds, as a command of its own.

python -m bench.quality_speed CONFIG SECONDS RESULT

CONFIG is a whole recipe as JSON in a file. Under torch's launcher the processes share each step, and the first tells.
"""

import logging
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from bench.contest import Contest
from bench.contestants import OURS
from bench.quality_contestant import WARM_UP, Trained
from translator.config import load_config
from translator.device import keep_freed_memory, use_threads
from translator.storage import write_json

AT_ONCE = 2
"""Steps between two looks at the clock."""


def main(arguments: list[str]) -> int:
    """Train for a while, and write how far it came."""
    recipe, seconds, result = arguments
    config = load_config(recipe)
    use_threads(config.run.threads)
    keep_freed_memory()
    logging.getLogger("translator").setLevel(logging.ERROR)
    contest = Contest(OURS, config)
    contest.train(WARM_UP, watched=False)
    took, steps, tokens = 0.0, 0, 0
    began = time.monotonic()
    while not _is_over(time.monotonic() - began >= float(seconds)):
        answer = contest.train(AT_ONCE, watched=False)
        took += answer["seconds"]
        tokens += int(answer["target_tokens"])
        steps += AT_ONCE
    if os.environ.get("RANK", "0") == "0":
        write_json(Path(result), Trained(took, steps, tokens).to_json())
    return 0


def _is_over(over: bool) -> bool:
    """Return what the first process says, so that all take the same steps."""
    if not dist.is_initialized():
        return over
    told = torch.tensor([float(over)])
    dist.broadcast(told, src=0)
    return bool(told)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
