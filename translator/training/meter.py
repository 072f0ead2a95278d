"""Statistics of the updates between two reports: losses by length and source, norms by block, speed, health.

Tensors stay on the device until a report reads them all at once.

N sentences, P parts: first the length buckets, then the sources of the corpus
"""

import json
import math
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.corpus.prepare import PreparedCorpus
from translator.corpus.split import Split
from translator.errors import RunError
from translator.run.logging import LOGGER
from translator.run.storage import write_json
from translator.special_tokens import PAD
from translator.training.distributed import Distributed

if TYPE_CHECKING:
    from translator.training.step import StepResult

LONGEST: Final = (8, 16, 32, 64)  # upper bounds of length buckets, target tokens with EOS; the last is open
BUCKETS: Final = ("01-08", "09-16", "17-32", "33-64", "65-up")
STOPPED_BATCH: Final = "stopped-batch.json"  # file in the run folder with the last skipped update
_MIB: Final = 2**20
_MEMORY: Final = 0.98  # decay of the running mean of the loss, which covers about fifty updates
_FIRST_STEPS: Final = 100  # updates at the start of a run, in which no spikes are reported
_DEVIATIONS: Final = 6.0
_RATIO: Final = 1.2  # a spike exceeds the running mean by a fifth and by six standard deviations

Numbers = NDArray[np.int64]


class Means(NamedTuple):
    """Mean losses in nats per target token; parts without tokens are omitted."""

    loss: float  # NaN without tokens
    by_length: dict[str, float]
    by_source: dict[str, float]
    mixture: dict[str, float]  # each source's share of the target tokens


class Breakdown:
    """Breaks losses down by length bucket and by source of a split; pairs are numbered source after source."""

    def __init__(self, pairs: Mapping[str, int]) -> None:
        self.names = tuple(pairs)
        self.starts: Numbers = np.cumsum([0, *pairs.values()], dtype=np.int64)
        """Index of the first pair of each source; the last entry is the number of all pairs."""

    @classmethod
    def of_split(cls, corpus: PreparedCorpus, split: Split) -> "Breakdown":
        """Return the breakdown of `split`, numbered as `translator.data` numbers its pairs."""
        return cls({name: corpus.count(split, name) for name in corpus.names(split)})

    def sources(self, numbers: ArrayLike) -> Numbers:
        """Return the index in `names` of each pair's source."""
        places: Numbers = np.searchsorted(self.starts, numbers, side="right").astype(np.int64) - 1
        return places

    def sums(self, losses: ArrayLike, tokens: ArrayLike, numbers: ArrayLike) -> NDArray[np.float64]:
        """Return (2, P): the summed loss and the target tokens of each part; these sums are additive.

        Args:
            losses: (N,) negative log-likelihoods of sentences, in nats.
            tokens: (N,) their target tokens, EOS included.
            numbers: (N,) their numbers in the split.
        """
        counts = np.asarray(tokens, dtype=np.int64)
        result = np.zeros((2, len(BUCKETS) + len(self.names)))
        for places in (np.searchsorted(LONGEST, counts), len(BUCKETS) + self.sources(numbers)):
            np.add.at(result[0], places, np.asarray(losses, dtype=np.float64))
            np.add.at(result[1], places, counts)
        return result

    def means(self, sums: NDArray[np.float64]) -> Means:
        """Return the means of `sums` (2, P)."""
        of_lengths, of_sources = sums[:, : len(BUCKETS)], sums[:, len(BUCKETS) :]
        loss, whole = of_lengths.sum(axis=1).tolist()
        by_length, by_source = (
            {name: loss / own for name, (loss, own) in zip(names, part.T.tolist(), strict=True) if own}
            for names, part in ((BUCKETS, of_lengths), (self.names, of_sources))
        )
        shares = (of_sources[1] / max(1.0, whole)).tolist()
        mixture = dict(zip(self.names, shares, strict=True)) if whole else {}
        return Means(loss / whole if whole else math.nan, by_length, by_source, mixture)


@torch.no_grad()
def block_norms(model: nn.Module, *, gradients: bool) -> dict[str, Tensor]:
    """Return the L2 norm () of weights or gradients of each block (`encoder.layers.0`, `encoder.norm`)."""
    blocks: dict[str, list[Tensor]] = {}
    for name, weight in model.named_parameters():
        parts = name.removeprefix("own_").split(".")
        block = ".".join(parts[: {"layers": 3, "norm": 2}.get(parts[1], 1)])
        tensor = weight.grad if gradients else weight.detach()
        blocks.setdefault(block, []).append(weight.new_zeros(()) if tensor is None else tensor)
    return {block: nn.utils.get_total_norm(tensors) for block, tensors in blocks.items()}


class StepFlops:
    """Computes the floating-point operations of the matrix products of training, from the shapes.

    A product of (n, i) and (i, j) takes 2·n·i·j operations; the backward pass takes twice as many:

        encoder layer, each source token     2 · (4·D² + A·D·F)
        decoder layer, each target token     2 · (6·D² + A·D·F)     self-attention 4·D², query and output of cross 2·D²
                       each source token     2 · 2·D²               keys and values of cross-attention
        attention,     each pair             4·D · S², 4·D · T², 4·D · T·S    scores and mixing, of every layer
        output head,   each target token     2 · D·V

    A number of matrices in the feed-forward sublayer: 2, or 3 for `swiglu`
    D model width, F feed-forward width, V target vocabulary, S source length, T target length
    """

    def __init__(self, config: ModelConfig, target_vocabulary: int) -> None:
        width = config.d_model
        feed_forward = (3 if config.activation == "swiglu" else 2) * width * config.feed_forward
        encoder = config.encoder_layers * (4 * width**2 + feed_forward)
        decoder = config.decoder_layers * (6 * width**2 + feed_forward)
        self._source_token = 2 * (encoder + config.decoder_layers * 2 * width**2)
        self._target_token = 2 * (decoder + width * target_vocabulary)
        self._encoder_attention = 4 * width * config.encoder_layers
        self._decoder_attention = 4 * width * config.decoder_layers

    def __call__(self, source_lengths: ArrayLike, target_lengths: ArrayLike) -> float:
        """Return the operations for N sentences of lengths (N,), EOS included; padded lengths also count padding."""
        source = np.asarray(source_lengths, dtype=np.float64)
        target = np.asarray(target_lengths, dtype=np.float64)
        linear = self._source_token * source.sum() + self._target_token * target.sum()
        over_source = self._encoder_attention * (source * source).sum()
        over_target = self._decoder_attention * (target * target + target * source).sum()
        return 3 * float(linear + over_source + over_target)


class StepLoss(NamedTuple):
    """The loss of one update over all ranks."""

    step: int
    loss: float  # mean negative log-likelihood per target token in nats; NaN if the update was skipped
    result: "StepResult"


@dataclass(frozen=True)
class Report:
    """The statistics of the updates since the last report, over all ranks; times and memory are this rank's."""

    curves: dict[str, dict[str, float]]  # by group and name in TensorBoard, such as `train` and `loss`
    steps: list[StepLoss]

    @property
    def line(self) -> str:
        """Return all values except the mixture as one log line."""
        groups = {"": self.curves["train"] | self.curves["speed"], "loss by length: ": self.curves["loss_by_length"]}
        groups["loss by source: "] = self.curves["loss_by_source"]
        parts = [
            title + "  ".join(f"{name} {value:.6g}" for name, value in numbers.items())
            for title, numbers in groups.items()
            if numbers
        ]
        return f"step {self.steps[-1].step:,}: {'; '.join(parts)}"


@dataclass
class Meter:
    """Collects the results of updates for reports; all ranks must call `read` at the same steps."""

    breakdown: Breakdown  # of the training split
    utilisation: tuple[StepFlops, float] | None = None
    """The model's operations, and the operations per second of this process; None omits FLOPs utilisation."""
    total: Callable[[Sequence[float]], list[float]] = list  # sums over all ranks

    def __post_init__(self) -> None:
        self._steps: list[tuple[int, StepResult]] = []
        self.waited = 0.0  # seconds of waiting for batches since the last report; the caller adds to it
        self.restart()

    def restart(self) -> None:
        """Exclude the time since the last report from the next report's rates, after a save or a validation."""
        self._began, self._worked = time.perf_counter(), time.thread_time()

    def add(self, step: int, result: "StepResult") -> None:
        """Add one update, without device synchronization."""
        self._steps.append((step, result))

    def read(self, beside: Mapping[str, float]) -> Report:
        """Return the report since the last call, plus the numbers `beside`, and reset; synchronizes the device once."""
        rows = self._fetch()
        seconds = max(1e-9, time.perf_counter() - self._began)
        parts, flops = self.breakdown.sums([], [], []), 0.0
        for (_, result), row in zip(self._steps, rows, strict=True):
            lengths = [(_lengths(batch.source), _lengths(batch.labels)) for batch in result.batches]
            if self.utilisation is not None:
                flops += result.passes * sum(self.utilisation[0](*sides) for sides in lengths)
            if row[-1] and lengths:  # in a skipped update, only some ranks may see NaN
                numbers = np.concatenate([batch.indices.numpy() for batch in result.batches])
                parts += self.breakdown.sums(row[:-2], np.concatenate([target for _, target in lengths]), numbers)
        rate = self.utilisation[1] if self.utilisation is not None else 0.0
        own = [*parts.ravel().tolist(), *(row[:-2].sum() for row in rows), flops, self.waited, rate, 1.0]
        *summed, flops, waited, rate, ranks = self.total(own)
        means = self.breakdown.means(np.array(summed[: parts.size]).reshape(parts.shape))
        steps = [
            StepLoss(step, total / max(1, result.target_tokens) if row[-1] else math.nan, result)
            for (step, result), row, total in zip(self._steps, rows, summed[parts.size :], strict=True)
        ]
        results = [result for _, result in self._steps]
        target = sum(result.target_tokens for result in results)
        both = target + sum(result.source_tokens for result in results)
        norms = [row[-2] for row in rows if row[-1]]
        train = {
            "loss": means.loss,
            "perplexity": math.exp(min(means.loss, 700.0)),
            "gradient_norm": float(np.mean(norms)) if norms else math.nan,
            "gradient_norm_max": float(max(norms, default=math.nan)),
            "skipped_updates": float(len(rows) - len(norms)),
        }
        speed = {
            "tokens_per_second": target / seconds,
            "padding": 1.0 - both / max(1, sum(result.positions for result in results)),
            "data_wait": waited / ranks / seconds,
            **_memory_in_use(results[-1].gradient_norm.device),
        }
        if results[-1].gradient_norm.device.type == "cpu":
            speed["cpu_share"] = min(1.0, (time.thread_time() - self._worked + self.waited) / seconds)
        if rate:
            speed["matrix_rate_share"] = flops / seconds / rate
        self._steps, self.waited = [], 0.0
        self.restart()
        curves = {"train": train | dict(beside), "speed": speed, "loss_by_length": means.by_length}
        return Report(curves | {"loss_by_source": means.by_source, "mixture": means.mixture}, steps)

    def _fetch(self) -> list[NDArray[np.float64]]:
        """Return (N + 2,) for each update: its losses, norm, and whether it was finite; one device transfer."""
        tensors = [
            torch.cat([*result.sentence_losses, result.gradient_norm.view(1), result.finite.view(1)])
            for _, result in self._steps
        ]
        values: NDArray[np.float64] = torch.cat(tensors).cpu().double().numpy()
        return np.split(values, np.cumsum([len(tensor) for tensor in tensors])[:-1])


def _lengths(tokens: Tensor) -> Numbers:
    lengths: Numbers = (tokens != PAD).sum(dim=1).numpy()
    return lengths


def _memory_in_use(device: torch.device) -> dict[str, float]:
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    numbers = {"memory_mib": largest / (_MIB if sys.platform == "darwin" else 1024)}  # bytes on macOS, KiB on Linux
    if device.type == "cuda":
        numbers["gpu_memory_mib"] = torch.cuda.max_memory_allocated(device) / _MIB
        numbers["gpu_memory_reserved_mib"] = torch.cuda.max_memory_reserved(device) / _MIB
    if device.type == "mps":
        numbers["gpu_memory_mib"] = torch.mps.driver_allocated_memory() / _MIB
    return numbers


@dataclass
class SkippedUpdates:
    """Counts updates skipped because loss or gradient is not finite; ends the run after too many in a row."""

    run_folder: Path  # where the last skipped update is written for inspection
    limit: int  # `training.max_skipped_updates`
    breakdown: Breakdown  # of the training split
    distributed: Distributed  # all ranks call `check` with the same steps
    counts: dict[str, int]  # updates `skipped` in the whole run, and those `in_a_row`

    def check(self, steps: Iterable[StepLoss]) -> None:
        """Count the skipped updates among the next `steps`; raise RunError if there are too many in a row."""
        for taken in steps:
            if not math.isnan(taken.loss):
                self.counts["in_a_row"] = 0
                continue
            self.counts["skipped"] += 1
            self.counts["in_a_row"] += 1
            if self.counts["in_a_row"] == 1 and self.distributed.main:
                LOGGER.warning(
                    f"step {taken.step}: loss or gradient is not finite, so this update is skipped ("
                    f"{self.counts['skipped']} in all; training.max_skipped_updates={self.limit} in a row stop the run)"
                )
            if self.counts["in_a_row"] >= self.limit:
                self._stop(taken)

    def _stop(self, taken: StepLoss) -> None:
        """Write the update's sentences to a file and end the run, on all ranks together."""
        sentences = []
        for batch, losses in zip(taken.result.batches, taken.result.sentence_losses, strict=True):
            columns = (column.tolist() for column in (batch.indices, losses, batch.source, batch.labels))
            for number, loss, source, labels in zip(*columns, strict=True):
                place = int(self.breakdown.sources(number))
                sentence = {"pair": number, "corpus_source": self.breakdown.names[place]}
                sentence["line_in_train"] = number - int(self.breakdown.starts[place]) + 1
                sentences.append(sentence | {"loss": str(loss), "source": source, "labels": labels})  # JSON has no NaN
        texts, file = self.distributed.gather_text(json.dumps(sentences)), self.run_folder / STOPPED_BATCH
        if self.distributed.main:
            of_all = [sentence for text in texts for sentence in json.loads(text)]
            norm = str(taken.result.gradient_norm.item())
            write_json(file, {"step": taken.step, "gradient_norm": norm, "sentences": of_all})
        in_a_row = self.counts["in_a_row"]
        raise RunError(
            f"{in_a_row} updates in a row (steps {taken.step - in_a_row + 1} to {taken.step}) were skipped because the "
            "loss or the gradient was not finite (training.max_skipped_updates); the sentences of the last are in "
            f"{file}. Check them for errors; or lower training.learning_rate, raise training.warmup_steps, or set "
            "training.precision=float32. The last checkpoint is intact, but these settings need a new folder "
            "(run.directory=...)"
        )


@dataclass
class LossSpikes:
    """Finds updates whose loss is far above the previous ones, by exponential mean and variance of the token loss."""

    mean: float = 0.0
    variance: float = 0.0
    steps: int = 0

    def find(self, steps: Iterable[StepLoss]) -> dict[int, tuple[float, str]]:
        """Add the next steps; return the spikes among them: step to loss and a line with this rank's hardest pairs."""
        spikes = {}
        for step, loss, result in (taken for taken in steps if math.isfinite(taken.loss)):
            limit = max(self.mean + _DEVIATIONS * math.sqrt(self.variance), _RATIO * self.mean)
            is_spike = self.steps >= _FIRST_STEPS and loss > limit
            if is_spike:
                pairs = [
                    pair
                    for batch, losses in zip(result.batches, result.sentence_losses, strict=True)
                    for pair in zip(losses.cpu().numpy() / _lengths(batch.labels), batch.indices.tolist(), strict=True)
                ]
                worst = ", ".join(f"{number} ({cost:.2f})" for cost, number in sorted(pairs, reverse=True)[:5])
                line = f"loss spike at step {step:,}: {loss:.3f} after {self.mean:.3f}; hardest training pairs: {worst}"
                spikes[step] = loss, line
            self.steps += 1
            share = max(1.0 - _MEMORY, 1.0 / self.steps)  # equal weights for the first steps
            # A spike enters the mean with the limit as its loss, so that it does not mask the next one.
            difference = (limit if is_spike else loss) - self.mean
            self.mean += share * difference
            self.variance = (1.0 - share) * (self.variance + share * difference * difference)
        return spikes
