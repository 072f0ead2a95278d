"""Monitoring of a run: what is measured in each update, and reported to progress bar, log and TensorBoard."""

import contextlib
import math
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from tqdm import tqdm

from translator.core.loop import Tick
from translator.core.update import StepResult
from translator.errors import RunError
from translator.evaluation import TranslatedPair
from translator.run.files import storage_errors
from translator.run.logging import LOGGER, RECORD, limit_time_left, progress_bar
from translator.run.text import excerpt
from translator.training.checkpointing import TrainingState
from translator.training.distributed import Distributed
from translator.training.monitoring.event_file import VALIDATION_TAGS, event_file, translations_table
from translator.training.monitoring.losses import LossesBySource
from translator.training.validation import Validation, Validator

_MAX_TEXT: Final = 75  # characters of a sentence on the console
_MIB: Final = 2**20
MOST_SKIPPED: Final = 10  # consecutive updates, in fp16 also of the search for a loss scale; more end the run


class Monitor:
    """Collects the results of updates, and reports them; use it inside `watching`.

    All ranks call their monitors at the same steps, since some numbers are sums over ranks; rank 0 writes. Tensors stay
    on the device until a report reads them.
    """

    def __init__(self, state: TrainingState, distributed: Distributed) -> None:
        """Watch the training of `state` on a rank."""
        self._settings = state.config.training
        self._folder = state.run.tensorboard_folder
        self._distributed = distributed
        self._progress = state.progress
        self._by_source = LossesBySource(state.data.corpus, "train")
        self._results: list[StepResult] = []  # since the last report
        self._waited_of_all_ranks = 0.0  # seconds of waiting for batches since the last report
        self._began = time.perf_counter()
        self._bar: tqdm[object]
        self._events: Any  # torch's `SummaryWriter`, of rank 0

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Show progress and write an event file inside the block; on other ranks than the first, do neither."""
        settings = self._settings
        self._bar = progress_bar(
            description="training",
            unit="step",
            total=settings.max_steps,
            initial=self._progress.step,
            silent=not self._distributed.main,
        )
        if settings.max_minutes is not None:
            limit_time_left(self._bar, 60 * settings.max_minutes - self._progress.seconds)
        with self._bar:
            if not self._distributed.main:
                yield
                return
            with event_file(self._folder, self._progress.step) as self._events:
                yield

    def restart_clock(self) -> None:
        """Exclude the time since the last report from the next report's rates, after a save or a validation."""
        self._began = time.perf_counter()

    def add(self, result: StepResult, tick: Tick) -> None:
        """Add the latest update, without synchronization; report where it is due."""
        self._results.append(result)
        self._waited_of_all_ranks += tick.waiting
        self._bar.update()
        if self._progress.step % self._settings.log_every == 0:
            self.report()

    def report(self) -> None:
        """Report the updates since the last report, if any; raise RunError if too many in a row were skipped."""
        if not self._results:
            return
        results = self._results
        self._results = []

        # 1. Read norms and flags. This waits for the device, so `seconds` includes its work.
        norms = torch.stack([result.gradient_norm for result in results]).tolist()
        finite_flags = torch.stack([result.finite for result in results]).tolist()
        seconds = max(1e-9, time.perf_counter() - self._began)
        self._count_skipped(finite_flags)

        # 2. Add up the losses of all ranks, without skipped updates: their losses may be finite on this rank only.
        for result, is_finite in zip(results, finite_flags, strict=True):
            if is_finite:
                for batch, token_losses in zip(result.step_batches.batches, result.token_losses, strict=True):
                    self._by_source.add(batch, token_losses)
        means = self._by_source.means(self._distributed.sum)

        # 3. On rank 0: log, event file and bar.
        if self._distributed.main:
            finite_norms = [norm for norm, is_finite in zip(norms, finite_flags, strict=True) if is_finite]
            target_tokens = sum(result.step_batches.target_tokens for result in results)
            points: dict[str, float] = {
                "train/perplexity": math.exp(min(means.loss, 700.0)),  # e^710 overflows
                "train/gradient_norm": float(np.mean(finite_norms)) if finite_norms else math.nan,
                "train/learning_rate": results[-1].learning_rate,
                "train/skipped_updates": self._progress.skipped,
                "train/epoch": results[-1].step_batches.next_position.epoch,
                "train/tokens_seen": self._progress.target_tokens,
                "train/minutes": self._progress.seconds / 60,
                "speed/tokens_per_second": target_tokens / seconds,
                # The share of the time in which a rank waits for batches, as a mean.
                "speed/data_wait": self._waited_of_all_ranks / self._distributed.world_size / seconds,
                "speed/padding": _padding(results),
                **_memory_in_use(results[-1].gradient_norm.device),
            }
            for name, loss in means.by_source.items():
                points[f"train_by_source/{name}"] = loss
            self._write(means.loss, points)
        self._waited_of_all_ranks = 0.0
        self.restart_clock()

    def _write(self, loss: float, points: Mapping[str, float]) -> None:
        """Write the loss and the points of other curves, by tag, at the current step."""
        step = self._progress.step
        values = [f"{tag.partition('/')[2]} {value:.6g}" for tag, value in points.items()]
        RECORD.info(f"step {step:,}: loss {loss:.6g}  {'  '.join(values)}")
        with storage_errors(self._folder):
            self._events.add_scalar("loss/train", loss, step)
            for tag, value in points.items():
                self._events.add_scalar(tag, value, step)
        self._bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)

    def _count_skipped(self, finite_flags: Sequence[bool]) -> None:
        """Count the updates that were skipped; raise RunError on all ranks if there are too many in a row."""
        progress = self._progress
        first_step = progress.step - len(finite_flags) + 1  # that of the first flag; the last is of the current step
        for step, is_finite in enumerate(finite_flags, first_step):
            if is_finite:
                progress.skipped_in_a_row = 0
                continue
            progress.skipped += 1
            progress.skipped_in_a_row += 1
            if progress.skipped_in_a_row == 1:
                LOGGER.warning(
                    f"step {step}: the gradient is not finite, so this update is skipped ({progress.skipped} in "
                    f"all; {MOST_SKIPPED} in a row stop the run)"
                )
            if progress.skipped_in_a_row >= MOST_SKIPPED:
                raise RunError(
                    f"{MOST_SKIPPED} updates in a row (steps {step - MOST_SKIPPED + 1} to {step}) were skipped because "
                    "the gradient was not finite. Lower training.learning_rate, raise training.warmup_steps, or "
                    "set training.precision=float32. The last checkpoint is intact, but these settings need a new "
                    "folder (run.directory=...)"
                )

    def validated(self, validation: Validation, is_best: bool, validator: Validator) -> None:
        """On rank 0, report a validation at the current step, with an attention map of `validator`'s model."""
        from translator.plots.attention import attention_figure  # slow to import

        step = self._progress.step
        # 1. The event file.
        with storage_errors(self._folder):
            for name, score in validation.scores.items():
                self._events.add_scalar(VALIDATION_TAGS[name], score, step)
            for source, loss in validation.loss_by_source.items():
                self._events.add_scalar(f"validation_by_source/{source}", loss, step)
            self._events.add_text("validation/translations", translations_table(validation.watched), step)
            source_pieces, target_pieces, weights = validator.translator.attention(validator.drawn_source)
            only_map = ("last layer, mean of its heads", weights)  # title and weights
            figure = attention_figure(target_pieces, source_pieces, [[only_map]], "cross")
            self._events.add_figure("validation/attention", figure, step)
        # 2. The log.
        scores = "  ".join(f"{name} {score:.4g}" for name, score in validation.scores.items())
        LOGGER.info("step %d: validation %s%s", step, scores, "  (best)" if is_best else "")
        self.show_translations(validation.watched)

    def show_translations(self, pairs: Sequence[TranslatedPair]) -> None:
        """Log how the model translates `pairs` now."""
        lines = [f"step {self._progress.step}: the model translates"]
        for pair in pairs:
            lines.append(f"  {excerpt(pair.source, _MAX_TEXT)}")
            lines.append(f"  → {excerpt(pair.hypothesis, _MAX_TEXT)}")
        LOGGER.info("%s", "\n".join(lines))


def _padding(results: Sequence[StepResult]) -> float:
    """Return the share of positions, of both sides, that are PAD in the batches of this rank."""
    tokens = 0
    positions = 0
    for result in results:
        for batch in result.step_batches.batches:
            tokens += int(batch.source_lengths.sum()) + batch.target_tokens
            positions += batch.source.numel() + batch.labels.numel()
    return 1.0 - tokens / positions


def _memory_in_use(device: torch.device) -> dict[str, float]:
    """Return the points of the largest memory of the process and of its GPU so far, in MiB."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = _MIB if sys.platform == "darwin" else 1024  # bytes on macOS, KiB on Linux
    memory = {"speed/memory_mib": largest / unit}
    if device.type == "cuda":
        memory["speed/gpu_memory_mib"] = torch.cuda.max_memory_allocated(device) / _MIB
    if device.type == "mps":
        memory["speed/gpu_memory_mib"] = torch.mps.driver_allocated_memory() / _MIB
    return memory
