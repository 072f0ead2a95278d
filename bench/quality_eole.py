"""eole's command line with a time limit. It runs in a Python that has eole, but not this project.

python quality_eole.py JOB EOLE_ARGUMENTS...

JOB is JSON, or `translate`. The clock starts after three warm-up updates. The learning rate follows the clock, with the
schedule's steps spread over the time. Checkpoints are saved at equal intervals, the last at the end.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

WARM_UP = 3


def main() -> None:
    """Run the command."""
    job, arguments = sys.argv[1], sys.argv[2:]
    sys.argv = ["eole", *arguments]
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    if job != "translate":
        limit_training(**json.loads(job))
    from eole.bin.main import main as eole_main  # type: ignore[import-not-found]

    eole_main()


def limit_training(seconds: float, saves: int, matmul: str, schedule: int, result: str) -> None:
    """Make eole's trainer and its schedule of `schedule` steps end after `seconds`."""
    import torch
    from eole.trainer import Trainer  # type: ignore[import-not-found]

    torch.set_float32_matmul_precision(matmul)
    take_step = Trainer._train_step
    saves_made = 0
    steps = 0
    tokens = 0
    began = 0.0

    def timed_step(self: Any, batches: Any, *arguments: Any, **named_arguments: Any) -> Any:
        nonlocal steps, tokens, began, saves_made
        steps += 1
        if steps == WARM_UP + 1:
            began = time.monotonic()
            tokens = 0
        share = (time.monotonic() - began) / seconds if steps > WARM_UP else 0.0
        self.optim._decay_step = min(schedule, max(1, round(share * schedule)))  # the schedule is a function of it
        take_step(self, batches, *arguments, **named_arguments)
        for batch in batches:
            is_token = batch["tgt"][:, 1:] != self.train_loss.padding_idx
            tokens += int(is_token.sum())
        share = (time.monotonic() - began) / seconds if steps > WARM_UP else 0.0
        if int(share * saves) > saves_made:
            saves_made = int(share * saves)
            self.model_saver.save(self.optim.training_step - 1, moving_average=self.moving_average)
        if share >= 1:
            numbers = {
                "seconds": time.monotonic() - began,
                "steps": steps - WARM_UP,
                "target_tokens": tokens,
                "weights": sum(weight.numel() for weight in self.model.parameters() if weight.requires_grad),
            }
            Path(result).write_text(json.dumps(numbers), encoding="utf-8")
            raise SystemExit(0)

    Trainer._train_step = timed_step


if __name__ == "__main__":
    main()
