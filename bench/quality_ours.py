"""The contestant that is ours: `translator train`, `average` and `translate`."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.quality_contestant import Contestant, Trained, carry_out, threads
from bench.quality_weights import count_weights
from translator.checkpoint import MODEL_FILE, find_checkpoint, load_checkpoint
from translator.config import Config
from translator.run_folder import RunFolder
from translator.storage import write_text

_TRANSLATOR: Final = (sys.executable, "-m", "translator")


class Ours(Contestant):
    """Our recipe. A stopped or killed training goes on where it was.

    A way is `{processes: P, threads: T}`.
    """

    name = "translator"

    @property
    def ways(self) -> Sequence[Mapping[str, Any]]:
        """Ways to use the cores."""
        return self.plan.translator.ways

    @property
    def length_penalties(self) -> Sequence[float]:
        """Alpha of the recipe's form."""
        return self.plan.translator.length_penalties

    @property
    def _run_folder(self) -> RunFolder:
        return RunFolder(self.folder / "training")

    def _config(self, way: Mapping[str, Any], *settings: str) -> Config:
        return self.plan.config((f"training.processes={way['processes']}", f"run.threads={way['threads']}", *settings))

    def try_way(self, way: Mapping[str, Any], folder: Path) -> Trained:
        """Take steps of the recipe, nothing else."""
        recipe, result = folder / "config.json", folder / "result.json"
        write_text(recipe, self._config(way).model_dump_json())
        launch = ["-m"]
        if way["processes"] > 1:
            launch += ["torch.distributed.run", "--standalone", f"--nproc-per-node={way['processes']}", "-m"]
        command = [sys.executable, *launch, "bench.quality_speed", str(recipe), str(self.plan.trial_seconds)]
        carry_out(self.run, [*command, str(result)], folder / "log.txt", threads(way["threads"]))
        return Trained.from_json(json.loads(result.read_text(encoding="utf-8")))

    def settings(self, way: Mapping[str, Any], trial: Trained) -> list[str]:
        """Return what the contest sets in our recipe: the budget, and all that is counted in steps in proportion.

        The steps are about what the speed of the trial makes of the budget. Should the machine be slower than it was
        then, the minutes end the training, and with a recipe whose schedule goes by them the schedule as well.
        """
        recipe, arm = self.plan.config(), self.plan.translator
        budget = 60 * self.plan.minutes
        steps = max(1, int(trial.steps / trial.seconds * budget * arm.steps_share))
        counted = {
            key: max(1, round(getattr(recipe.training, key) * steps / recipe.training.max_steps))
            for key in ("warmup_steps", "dropout_from", "validate_every", "checkpoint_every")
        }
        values = {"max_steps": steps, "max_minutes": self.plan.minutes, "keep_checkpoints": arm.average, **counted}
        return [
            *self.plan.settings,
            *(f"training.{key}={value}" for key, value in values.items()),
            f"training.processes={way['processes']}",
            f"run.threads={way['threads']}",
            f"run.directory={self._run_folder.path}",
        ]

    def train(self, way: Mapping[str, Any], trial: Trained) -> Trained:
        """Train, and average the last checkpoints."""
        log = self.folder / "training.log"
        flags = [flag for setting in self.settings(way, trial) for flag in ("--set", setting)]
        alone = threads(way["threads"])
        carry_out(self.run, [*_TRANSLATOR, "train", "--config", self.plan.recipe, *flags], log, alone)
        run = self._run_folder
        last = find_checkpoint(run.checkpoints_folder, "last")
        saved = len([path for path in run.checkpoints_folder.glob("step-*") if path.is_dir()])
        best = find_checkpoint(run.checkpoints_folder, "best")
        candidates = ["last", *(["best"] if best.resolve() != last.resolve() else [])]
        if count := min(saved, self.plan.translator.average):
            average = [*_TRANSLATOR, "average", "--run", str(run.path), "--count", str(count), "--of", "last"]
            carry_out(self.run, average, log, alone)
            candidates.append("averaged")
        progress = load_checkpoint(last, with_training=False).state.progress
        return Trained(
            seconds=float(progress["seconds"]),
            steps=int(progress["step"]),
            target_tokens=int(progress["target_tokens"]),
            weights=count_weights(last / MODEL_FILE),
            candidates=tuple(candidates),
        )

    def translate(self, checkpoint: str, penalty: float, source: str, output: Path) -> None:
        """Translate the text as read: the translator normalizes it by itself."""
        command = [*_TRANSLATOR, "translate", "--run", str(self._run_folder.path), "--checkpoint", checkpoint]
        form = self.plan.config().search.length_normalization
        command += ["--beam", str(self.plan.beam_size), "--set", f"search.length_penalty={penalty}"]
        command += ["--set", f"search.length_normalization={form}"]
        command += ["--input", str(self.text.folder / f"{source}.en"), "--output", str(output)]
        carry_out(self.run, command, self.folder / "translating.log", threads(self.plan.cores))
