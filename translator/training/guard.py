"""Stops a run whose updates are skipped again and again because loss or gradient is not finite."""

import json
import logging
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import Tensor

from translator.errors import RunError
from translator.storage import new_folder, write_json
from translator.training.breakdown import Sources
from translator.training.ranks import Ranks
from translator.training.step import StepResult

LOGGER = logging.getLogger("translator")

STOPPED_BATCH: Final = "stopped-batch"
"""Folder inside the run, with the last step that was skipped."""
_LATE: Final = 2
"""Steps after which a GPU's flag is looked at: it has long come by then, and waiting for it stalls nothing.

A fixed number, not a question whether it has come, so that all ranks stop at the same step.
"""


@dataclass(frozen=True)
class _Pending:
    """A step whose flag is on its way."""

    step: int
    result: StepResult
    finite: Tensor
    """() bool on the CPU."""
    arrived: "torch.cuda.Event | None"


class Guard:
    """Counts skipped updates, and ends the run when there are too many in a row.

    Args:
        run_folder: where the last skipped step is written for inspection.
        max_skipped: `training.max_skipped_updates`.
        seed: of the run; with the number of the step it gives the dropout noise.
        sources: of the training split.
        ranks: all of which must call `watch` and `settle` at the same steps.
    """

    def __init__(self, run_folder: Path, max_skipped: int, seed: int, sources: Sources, ranks: Ranks) -> None:
        self._folder = run_folder / STOPPED_BATCH
        self._max_skipped = max_skipped
        self._seed = seed
        self._sources = sources
        self._ranks = ranks
        self._pending: deque[_Pending] = deque()
        self.skipped = 0
        """Updates skipped since the run began."""
        self.in_a_row = 0
        """Updates skipped since the last one that was not."""

    def watch(self, step: int, result: StepResult) -> None:
        """Take in a step; on a GPU its flag is read two steps later.

        Raises:
            RunError: too many updates in a row were skipped; the last of them is in `stopped-batch`.
        """
        if result.finite.device.type != "cuda":
            self._judge(_Pending(step, result, result.finite, None))
            return
        finite = torch.empty((), dtype=torch.bool, pin_memory=True)
        finite.copy_(result.finite, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record(torch.cuda.current_stream(result.finite.device))
        self._pending.append(_Pending(step, result, finite, arrived))
        if len(self._pending) > _LATE:
            self._judge(self._pending.popleft())

    def settle(self) -> None:
        """Read all flags that are still on their way; call it before a checkpoint.

        Raises:
            RunError: as `watch`.
        """
        while self._pending:
            self._judge(self._pending.popleft())

    def state_dict(self) -> dict[str, int]:
        """Return the counts as JSON values; all flags must have been read."""
        assert not self._pending, "call settle() first"
        return {"skipped": self.skipped, "in_a_row": self.in_a_row}

    def restore(self, state: dict[str, int]) -> None:
        """Go on with the counts of a checkpoint."""
        self.skipped, self.in_a_row = state["skipped"], state["in_a_row"]

    def _judge(self, pending: _Pending) -> None:
        """Count one step whose flag is needed now."""
        if pending.arrived is not None:
            pending.arrived.synchronize()
        if bool(pending.finite):
            self.in_a_row = 0
            return
        self.skipped += 1
        self.in_a_row += 1
        if self.in_a_row == 1 and self._ranks.main:
            LOGGER.warning(
                "step %d: loss or gradient is not finite, so this update is skipped (%d in all; "
                "training.max_skipped_updates=%d in a row stop the run)",
                pending.step,
                self.skipped,
                self._max_skipped,
            )
        if self.in_a_row >= self._max_skipped:
            self._stop(pending)

    def _stop(self, pending: _Pending) -> None:
        """Write the step down and end the run, on all ranks together."""
        described = json.dumps(_describe(pending.result, self._sources))
        everybody = [json.loads(text) for text in self._ranks.gather_text(described)]
        if self._ranks.main:
            self._write(pending, [batch for batches in everybody for batch in batches])
        first = pending.step - self.in_a_row + 1
        raise RunError(
            f"{self.in_a_row} updates in a row (steps {first} to {pending.step}) were skipped because the loss or the "
            f"gradient was not finite (training.max_skipped_updates); the sentences of the last are in {self._folder}. "
            "Look for what is odd in them; or lower training.learning_rate, raise training.warmup_steps, or set "
            "training.precision=float32. The last checkpoint is unharmed, but these settings shape the run: train "
            "into a new folder (run.directory=...)"
        )

    def _write(self, pending: _Pending, batches: list[dict[str, Any]]) -> None:
        """Write `step.json`, for a person, and `ids.safetensors`, the batches as they were."""
        with new_folder(self._folder) as folder:
            tensors = {}
            for number, batch in enumerate(batches):
                for side in ("source", "labels"):
                    tensors[f"{number}.{side}"] = np.array(batch.pop(side), dtype=np.int64)
            save_file(tensors, folder / "ids.safetensors")
            about = {
                "step": pending.step,
                "seed": self._seed,
                "skipped_in_a_row": self.in_a_row,
                "gradient_norm": str(pending.result.gradient_norm.item()),
                "batches": batches,
            }
            write_json(folder / "step.json", about)


def _describe(result: StepResult, sources: Sources) -> list[dict[str, Any]]:
    """Return the batches of this rank as JSON values: whose sentences, what loss, which ids."""
    batches = []
    for batch, losses in zip(result.batches, result.sentence_losses, strict=True):
        sentences = []
        for number, loss in zip(batch.indices.tolist(), losses.tolist(), strict=True):
            name, line = sources.origin(number)
            # The loss as text: JSON has no NaN.
            sentences.append({"pair": number, "corpus_source": name, "line_in_train": line, "loss": str(loss)})
        batches.append({"sentences": sentences, "source": batch.source.tolist(), "labels": batch.labels.tolist()})
    return batches
