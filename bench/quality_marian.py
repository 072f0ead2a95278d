"""The contestant `MarianMTModel` of Hugging Face transformers, trained by the usual loop on our batches."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.quality_contestant import WARM_UP, Contestant, Trained, carry_out, emptied, threads
from translator.storage import write_json


class Marian(Contestant):
    """Marian with batches, subwords and seed of the plan's recipe. A killed training begins anew.

    A way is `{processes: P, threads: T, matmul: highest|medium, attention: sdpa|eager, precision: float32|bf16}`.
    """

    name = "marian"

    @property
    def ways(self) -> Sequence[Mapping[str, Any]]:
        """Ways to use the cores."""
        return self.plan.marian.ways

    @property
    def length_penalties(self) -> Sequence[float]:
        """The power of the length that the sum of log-probabilities is divided by."""
        return self.plan.marian.length_penalties

    def try_way(self, way: Mapping[str, Any], folder: Path) -> Trained:
        """Train without saving."""
        return self._trained(way, folder, self.plan.trial_seconds, saves=0)

    def train(self, way: Mapping[str, Any], trial: Trained) -> Trained:
        """Train for the budget; its schedule goes by the clock, so the speed is not needed."""
        return self._trained(way, emptied(self.folder / "training"), 60 * self.plan.minutes, self.plan.marian.saves)

    def _trained(self, way: Mapping[str, Any], folder: Path, seconds: float, saves: int) -> Trained:
        job = {
            "config": self.plan.config(self.plan.marian.settings).model_dump(mode="json"),
            "model": self.plan.marian.model,
            "way": dict(way),
            "seconds": seconds,
            "warm_up": 0 if saves else WARM_UP,
            "saves": saves,
            "keep": self.plan.marian.average,
            "folder": str(folder),
        }
        write_json(folder / "job.json", job)
        launch = ["-m"]
        if way["processes"] > 1:
            launch += ["torch.distributed.run", "--standalone", f"--nproc-per-node={way['processes']}", "-m"]
        command = [sys.executable, *launch, "bench.quality_marian_process", "train", str(folder / "job.json")]
        carry_out(self.run, command, folder / "log.txt", threads(way["threads"]))
        return Trained.from_json(json.loads((folder / "result.json").read_text(encoding="utf-8")))

    def translate(self, checkpoint: str, penalty: float, source: str, output: Path) -> None:
        """Translate normalized text."""
        job = {
            "config": self.plan.config(self.plan.marian.settings).model_dump(mode="json"),
            "model": str(self.folder / "training" / checkpoint),
            "source": str(self.text.input(source)),
            "output": str(output),
            "beam_size": self.plan.beam_size,
            "length_penalty": penalty,
        }
        write_json(self.folder / "translating.json", job)
        command = [sys.executable, "-m", "bench.quality_marian_process", "translate"]
        command.append(str(self.folder / "translating.json"))
        carry_out(self.run, command, self.folder / "translating.log", threads(self.plan.cores))
