"""What the steps between two reports come to; tensors stay on the device until a report reads them all at once."""

import math
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from translator.special_tokens import PAD
from translator.training.breakdown import Breakdown, Numbers
from translator.training.step import StepResult

_MIB = 2**20


@dataclass(frozen=True)
class Speed:
    """What the share of the matrix rate is counted with."""

    flops: Callable[[Numbers, Numbers], float]
    """Operations of training on sentences of these source and target lengths, as `StepFlops` counts them."""
    matrix_rate: float
    """Operations a second that this process could do, as `matrix_rate` measures them."""


@dataclass(frozen=True)
class StepLosses:
    """The losses of one step: of all ranks together, and of this rank's sentences one by one."""

    step: int
    loss: float
    """Mean negative log-likelihood of a target token, in nats; NaN where the update was skipped."""
    losses: NDArray[np.float64]
    """(N,) of each sentence of this rank."""
    tokens: Numbers
    """(N,) target tokens of each."""
    numbers: Numbers
    """(N,) number of each pair in its split."""

    def worst(self, count: int) -> list[tuple[int, float]]:
        """Return pair number and mean loss of a token for the `count` sentences that were the hardest."""
        means = self.losses / np.maximum(1, self.tokens)
        return [(int(self.numbers[place]), float(means[place])) for place in np.argsort(-means)[:count]]


@dataclass(frozen=True)
class Report:
    """The numbers of the steps since the last report; only what is timed, and the memory, are this rank's own."""

    step: int
    """The last of them."""
    train: dict[str, float]
    """Loss, perplexity, norm of the gradient, and what the trainer adds."""
    speed: dict[str, float]
    """Tokens a second, padding, waiting, memory, share of the matrix rate."""
    loss_by_length: dict[str, float]
    loss_by_source: dict[str, float]
    mixture: dict[str, float]
    """Share of the target tokens by source."""
    steps: tuple[StepLosses, ...]

    @property
    def short(self) -> str:
        """What a progress bar shows."""
        return f"loss {self.train['loss']:.3f}  {self.speed['tokens_per_second']:,.0f} tokens/s"

    @property
    def line(self) -> str:
        """All of it on one line, for the log."""
        groups: dict[str, Mapping[str, float]] = {
            "": {**self.train, **self.speed},
            "loss by length: ": self.loss_by_length,
            "loss by source: ": self.loss_by_source,
        }
        parts = [
            title + "  ".join(f"{name} {value:.6g}" for name, value in numbers.items())
            for title, numbers in groups.items()
            if numbers
        ]
        return f"step {self.step:,}: {'; '.join(parts)}"


@dataclass(frozen=True)
class _Step:
    """A step as it was added."""

    step: int
    result: StepResult
    tokens: Numbers
    numbers: Numbers


class Meter:
    """Collects step results and turns them into reports.

    Args:
        breakdown: of the training split.
        speed: for the share of the matrix rate; None leaves it out.
        total: adds numbers up over all ranks, which must ask for their reports at the same steps.
    """

    def __init__(
        self,
        breakdown: Breakdown,
        speed: Speed | None = None,
        total: Callable[[Sequence[float]], list[float]] = list,
    ) -> None:
        self._breakdown = breakdown
        self._speed = speed
        self._total = total
        self._clear()

    def _clear(self) -> None:
        self._steps: list[_Step] = []
        self._flops = self._waited = 0.0
        self._began = time.perf_counter()

    def restart(self) -> None:
        """Leave the time since the last report out of the next one's rates: it was not spent on training steps."""
        self._began = time.perf_counter()

    def waited(self, seconds: float) -> None:
        """Take in that so much time was spent on waiting for a batch."""
        self._waited += seconds

    def add(self, step: int, result: StepResult) -> None:
        """Take in one step, without waiting for the device."""
        tokens, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for batch in result.batches:
            target = (batch.labels != PAD).sum(dim=1).numpy()
            tokens.append(target)
            numbers.append(batch.indices.numpy())
            if self._speed is not None:
                self._flops += self._speed.flops((batch.source != PAD).sum(dim=1).numpy(), target)
        self._steps.append(_Step(step, result, np.concatenate(tokens), np.concatenate(numbers)))

    def read(self, beside: Mapping[str, float]) -> Report:
        """Return the numbers since the last call, and begin anew; this waits for the device, once.

        Skipped updates count in rates, and in no mean of losses or norms.

        Args:
            beside: what else belongs into the report: learning rate, tokens seen, epoch.
        """
        losses, norms, finite = self._fetch()
        seconds = max(1e-9, time.perf_counter() - self._began)
        parts, step_sums = self._breakdown.sums([], [], []), []
        for taken, own, good in zip(self._steps, losses, finite, strict=True):
            step_sums.append(float(own.sum()))
            if good:  # what a rank sees of a skipped step may be NaN, or a number where another has NaN
                parts += self._breakdown.sums(own, taken.tokens, taken.numbers)
        rate = self._speed.matrix_rate if self._speed is not None else 0.0
        summed = self._total([*parts.ravel().tolist(), *step_sums, self._flops, self._waited, rate, 1.0])
        *summed_losses, flops, waited, rate, ranks = summed
        means = self._breakdown.means(np.array(summed_losses[: parts.size]).reshape(parts.shape))
        steps = tuple(
            StepLosses(
                taken.step,
                step_sum / max(1, taken.result.target_tokens) if good else math.nan,
                own,
                taken.tokens,
                taken.numbers,
            )
            for taken, own, good, step_sum in zip(self._steps, losses, finite, summed_losses[parts.size :], strict=True)
        )
        good_norms = norms[finite]
        results = [taken.result for taken in self._steps]
        target = sum(result.target_tokens for result in results)
        source = sum(result.source_tokens for result in results)
        train = {
            "loss": means.loss,
            "perplexity": math.exp(min(means.loss, 700.0)),
            "gradient_norm": float(good_norms.mean()) if len(good_norms) else math.nan,
            "gradient_norm_max": float(good_norms.max()) if len(good_norms) else math.nan,
            "skipped_updates": float(len(finite) - len(good_norms)),
        }
        speed = {
            "tokens_per_second": target / seconds,
            "padding": 1.0 - (target + source) / max(1, sum(result.positions for result in results)),
            "data_wait": waited / ranks / seconds,
            **memory_in_use(results[-1].gradient_norm.device if results else torch.device("cpu")),
        }
        if rate:
            speed["matrix_rate_share"] = flops / seconds / rate
        last = self._steps[-1].step if self._steps else 0
        self._clear()
        return Report(last, train | dict(beside), speed, means.by_length, means.by_source, means.mixture, steps)

    def _fetch(self) -> tuple[list[NDArray[np.float64]], NDArray[np.float64], NDArray[np.bool_]]:
        """Return each step's (N,) losses, all norms, and which steps were finite, in one transfer from the device."""
        results = [taken.result for taken in self._steps]
        tensors: list[Tensor] = [loss for result in results for loss in result.sentence_losses]
        tensors += [result.gradient_norm.reshape(1) for result in results]
        tensors += [result.finite.reshape(1) for result in results]
        if not tensors:
            return [], np.zeros(0), np.zeros(0, np.bool_)
        values = torch.cat([tensor.double() for tensor in tensors]).cpu().numpy()
        count = len(results)
        losses = np.split(values[: len(values) - 2 * count], np.cumsum([len(taken.tokens) for taken in self._steps]))
        return losses[:-1], values[-2 * count : -count], values[-count:].astype(np.bool_)


def memory_in_use(device: torch.device) -> dict[str, float]:
    """Return the most memory that this process has had at a time, in MiB, and the same of a GPU."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    numbers = {"memory_mib": largest / (_MIB if sys.platform == "darwin" else 1024)}  # macOS gives bytes, Linux KiB
    if device.type == "cuda":
        numbers["gpu_memory_mib"] = torch.cuda.max_memory_allocated(device) / _MIB
        numbers["gpu_memory_reserved_mib"] = torch.cuda.max_memory_reserved(device) / _MIB
    return numbers
