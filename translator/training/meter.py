"""Statistics of the updates between two reports: losses by length and source, gradient norms, speed and memory.

Tensors stay on the device until a report reads them.

P parts of a breakdown, N sentences of a batch
"""

import math
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from translator.training.breakdown import Breakdown, Means
from translator.training.flops import StepFlops
from translator.training.step_result import StepResult

_MIB: Final = 2**20


class StepLoss(NamedTuple):
    """The loss of one update over all ranks."""

    step: int
    loss: float  # mean negative log-likelihood per target token in nats; NaN if the update was skipped
    result: StepResult


@dataclass(frozen=True)
class Report:
    """The statistics of the updates since the last report, over all ranks; memory and `cpu_share` are this rank's."""

    curves: dict[str, dict[str, float]]  # by group and name in TensorBoard, such as `loss` and `train`
    steps: list[StepLoss]

    @property
    def line(self) -> str:
        """Return rates, losses and norms as one log line; mixture and block norms are in TensorBoard only."""
        loss = {"loss": self.curves["loss"]["train"]}
        parts = [_listed(loss | self.curves["train"] | self.curves["speed"])]
        if self.curves["train_by_length"]:
            parts.append(f"loss by length: {_listed(self.curves['train_by_length'])}")
            parts.append(f"loss by source: {_listed(self.curves['train_by_source'])}")
        return f"step {self.steps[-1].step:,}: {'; '.join(parts)}"


def _listed(values: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.6g}" for name, value in values.items())


@dataclass
class Meter:
    """Collects the results of updates for reports; all ranks must call `read` at the same steps."""

    breakdown: Breakdown  # of the training split
    flops: StepFlops | None = None  # the operations of the model; None omits the utilisation
    peak_rate: float = 0.0  # operations per second that this process reaches in a large matrix product
    sum_over_ranks: Callable[[Sequence[float]], list[float]] = list

    def __post_init__(self) -> None:
        self._steps: list[tuple[int, StepResult]] = []
        self.waited = 0.0  # seconds of waiting for batches since the last report; the caller adds to it
        self.restart()

    def restart(self) -> None:
        """Exclude the time since the last report from the next report's rates, after a save or a validation."""
        self._began = time.perf_counter()
        self._thread_time = time.thread_time()

    def add(self, step: int, result: StepResult) -> None:
        """Add one update, without device synchronization."""
        self._steps.append((step, result))

    def read(self, extra: Mapping[str, float]) -> Report:
        """Return the report since the last call, with the `extra` numbers in its group `train`, and reset."""
        # 1. Read norms and flags, which waits for the device; so `seconds` covers its work.
        results = [result for _, result in self._steps]
        norms = torch.stack([result.gradient_norm for result in results]).tolist()
        finite = torch.stack([result.finite for result in results]).tolist()
        seconds = max(1e-9, time.perf_counter() - self._began)
        # 2. Add up losses and operations of this rank, then those of all ranks.
        parts, rank_losses, flops = self._sums(finite)
        all_parts = np.array(self.sum_over_ranks(parts.ravel().tolist())).reshape(parts.shape)
        step_losses = self.sum_over_ranks(rank_losses)
        flops, waited, peak_rate, ranks = self.sum_over_ranks([flops, self.waited, self.peak_rate, 1.0])
        # 3. Arrange the statistics as curves.
        means = self.breakdown.means(all_parts)
        speed = self._speed(seconds)
        speed["data_wait"] = waited / ranks / seconds
        if peak_rate > 0.0:
            speed["matrix_rate_share"] = flops / seconds / peak_rate
        report = Report(
            curves={
                "loss": {"train": means.loss},
                "train": _training_statistics(means, norms, finite) | dict(extra),
                "speed": speed,
                "train_by_length": means.by_length,
                "train_by_source": means.by_source,
                "train_mixture": means.mixture,
            },
            steps=self._step_losses(step_losses, finite),
        )
        # 4. Reset.
        self._steps = []
        self.waited = 0.0
        self.restart()
        return report

    def _sums(self, finite: Sequence[bool]) -> tuple[NDArray[np.float64], list[float], float]:
        """Return the sums of this rank: (2, P) of the breakdown, the loss of each update in nats, and the operations.

        `finite` says which updates were not skipped.
        """
        parts = self.breakdown.empty_sums()
        step_losses = []
        flops = 0.0
        for (_, result), is_finite in zip(self._steps, finite, strict=True):
            step_loss = 0.0
            for batch, token_losses in zip(result.batches, result.token_losses, strict=True):
                losses = batch.sum_by_sentence(token_losses.cpu())  # (N,)
                target_lengths = batch.target_lengths
                step_loss += float(losses.sum())
                if is_finite:  # the losses of a skipped update may be finite on this rank
                    parts += self.breakdown.sums(losses, target_lengths, batch.pairs)
                if self.flops is not None:
                    flops += result.passes * self.flops(batch.source_lengths, target_lengths)
            step_losses.append(step_loss)
        return parts, step_losses, flops

    def _step_losses(self, loss_sums: Sequence[float], finite: Sequence[bool]) -> list[StepLoss]:
        """Return the mean loss of each update, from its sum over all ranks."""
        steps = []
        for (step, result), loss_sum, is_finite in zip(self._steps, loss_sums, finite, strict=True):
            loss = loss_sum / result.target_tokens if is_finite else math.nan
            steps.append(StepLoss(step, loss, result))
        return steps

    def _speed(self, seconds: float) -> dict[str, float]:
        """Return rates over the `seconds` since the last report, and the memory in use."""
        results = [result for _, result in self._steps]
        target_tokens = sum(result.target_tokens for result in results)
        source_tokens = sum(result.source_tokens for result in results)
        positions = sum(result.positions for result in results)
        device = results[-1].gradient_norm.device
        speed = _memory_in_use(device)
        speed["tokens_per_second"] = target_tokens / seconds
        speed["padding"] = 1.0 - (target_tokens + source_tokens) / positions
        if device.type == "cpu":
            worked = time.thread_time() - self._thread_time
            speed["cpu_share"] = min(1.0, (worked + self.waited) / seconds)
        return speed


def _training_statistics(means: Means, norms: Sequence[float], finite: Sequence[bool]) -> dict[str, float]:
    """Return perplexity and gradient norms of the updates, without skipped ones."""
    finite_norms = [norm for norm, is_finite in zip(norms, finite, strict=True) if is_finite]
    return {
        "perplexity": math.exp(min(means.loss, 700.0)),
        "gradient_norm": float(np.mean(finite_norms)) if finite_norms else math.nan,
        "gradient_norm_max": max(finite_norms, default=math.nan),
        "skipped_updates": float(len(norms) - len(finite_norms)),
    }


def _memory_in_use(device: torch.device) -> dict[str, float]:
    """Return the largest memory of the process and of its GPU so far, in MiB."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = _MIB if sys.platform == "darwin" else 1024  # bytes on macOS, KiB on Linux
    memory = {"memory_mib": largest / unit}
    if device.type == "cuda":
        memory["gpu_memory_mib"] = torch.cuda.max_memory_allocated(device) / _MIB
        memory["gpu_memory_reserved_mib"] = torch.cuda.max_memory_reserved(device) / _MIB
    if device.type == "mps":
        memory["gpu_memory_mib"] = torch.mps.driver_allocated_memory() / _MIB
    return memory
