"""eole's own command line, run by a Python that has eole, with what the contest needs and its settings lack.

python quality_eole_process.py JOB EOLE_ARGUMENTS...

JOB is JSON `{"seconds": S, "warm_up": N, "matmul": P, "steps": T, "result": FILE}`, or `translate`. The clock starts
with the first step after N, when everything is loaded. The learning rate goes by it, as if the T steps of eole's
schedule were spread over the time; with T 0 it goes by the steps. When the time is over, training saves and ends as
after its last step. Nothing of this house is imported: the other Python need not have it.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


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


def limit_training(seconds: float, warm_up: int, matmul: str, steps: int, result: str) -> None:
    """Let eole's trainer and its schedule of `steps` end when the time is over, and write how far it came."""
    import torch
    from eole.trainer import Trainer  # type: ignore[import-not-found]

    torch.set_float32_matmul_precision(matmul)
    take_step, train = Trainer._train_step, Trainer.train
    progress: dict[str, Any] = {"seconds": 0.0, "steps": 0, "target_tokens": 0}
    began: list[float] = []

    def note() -> None:
        progress["seconds"] = time.monotonic() - began[0]
        beside = Path(f"{result}.new")
        beside.write_text(json.dumps(progress), encoding="utf-8")
        beside.replace(result)

    def timed_step(self: Any, batches: Any, *rest: Any, **named: Any) -> Any:
        nonlocal warm_up
        if warm_up:
            warm_up -= 1
            return take_step(self, batches, *rest, **named)
        if not began:
            began.append(time.monotonic())
        if steps:  # what eole's schedule is a function of
            self.optim._decay_step = scheduled_step((time.monotonic() - began[0]) / seconds, steps)
        take_step(self, batches, *rest, **named)
        progress["steps"] += 1
        for batch in batches:
            labels = batch["tgt"][:, 1:]
            progress["target_tokens"] += int((labels != self.train_loss.padding_idx).sum())
        if time.monotonic() - began[0] >= seconds:
            self.model_saver.save(self.optim.training_step - 1, moving_average=self.moving_average)
            note()
            raise SystemExit(0)
        return None

    def noted_training(self: Any, *rest: Any, **named: Any) -> Any:
        found = train(self, *rest, **named)
        note()
        return found

    Trainer._train_step, Trainer.train = timed_step, noted_training


def scheduled_step(share: float, steps: int) -> int:
    """Return the step, from 1, at which a schedule of `steps` is when `share` (0 to 1) of the time is over."""
    return min(steps, max(1, round(share * steps)))


if __name__ == "__main__":
    main()
