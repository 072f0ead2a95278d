"""The search engine on torch. B batch, S source length, T target length, H heads"""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from translator.checkpoint.files import load_model
from translator.checkpoint.state import PinnedCheckpoint
from translator.config import SearchConfig
from translator.core import PAD, SOS
from translator.core.cache import FIRST_CAPACITY
from translator.core.hypothesis import Hypothesis, Rows
from translator.core.transformer import Transformer
from translator.data import collate_source
from translator.errors import ConfigError, RunError
from translator.inference.searcher import CPU_BATCH_POSITIONS, Check, Searcher
from translator.run.workers import available_cores
from translator.search.ensemble import Ensemble
from translator.search.scoring import score_targets
from translator.search.search import search as search_with
from translator.speed.device import GPU_ROUNDING, has_bf16, is_out_of_memory, model_must_fit
from translator.speed.inference_copy import prepare

Result = TypeVar("Result")

_CPU_BYTES_WORTH_PROCESSES: Final = 400_000
_GPU_BATCH_ROWS: Final = 4096
_SHARE_OF_MEMORY: Final = 1 / 6  # of a GPU, for the caches of a batch; a training may need the rest
_CACHED_PER_SOURCE_POSITION: Final = 3  # cached target positions of a hypothesis; the buffers grow by doubling


class TorchSearcher(Searcher):
    """Searches with one model, or with an ensemble that averages the probabilities of several.

    The models share their vocabularies and are on `device`. Models in evaluation mode stay unchanged, so the searcher
    is thread-safe. A model in training mode is switched to evaluation mode during each call, so only one thread may
    use it.
    """

    name = "torch"
    gives_attention = True

    def __init__(self, models: Sequence[Transformer], device: torch.device) -> None:
        self.models = list(models)
        self.arithmetic = str(device)
        self.max_positions = min(model.max_positions for model in models)
        if device.type == "cpu":
            self.useful_processes = available_cores()
            self.bytes_worth_processes = _CPU_BYTES_WORTH_PROCESSES
        if device.type == "cuda":
            self.batch_rows = _GPU_BATCH_ROWS
            self.batch_positions = _positions_in_memory(models, device)
            self.fewest_positions = math.ceil(FIRST_CAPACITY / _CACHED_PER_SOURCE_POSITION)
        self._device = device
        self._search_model: Any = models[0] if len(models) == 1 else Ensemble(self.models)

    def find(
        self,
        rows: Rows,
        config: SearchConfig,
        count: int = 1,
        prefixes: Rows | None = None,
        check: Check | None = None,
        *,
        scored: bool = True,
        no_doubles: bool = False,
    ) -> list[list[Hypothesis]]:
        """Return hypotheses for each row (see `Searcher.find`)."""
        model = _Cancellable(self._search_model, check) if check else self._search_model

        def found(part: slice) -> list[list[Hypothesis]]:
            source = collate_source(rows[part]).to(self._device)  # (B, S)
            part_prefixes = None if prefixes is None else prefixes[part]
            with self._evaluating():
                return search_with(model, source, config, count, part_prefixes, no_doubles=no_doubles)

        return _in_parts_that_fit(found, rows, remedy="lower search.beam_size, or ")

    def score(self, rows: Rows, targets: Rows) -> list[Hypothesis]:
        """Return the log-probabilities of each target (see `Searcher.score`)."""

        def scored(part: slice) -> list[Hypothesis]:
            with self._evaluating():
                return score_targets(self._search_model, collate_source(rows[part]).to(self._device), targets[part])

        return _in_parts_that_fit(scored, rows)

    def cross_attention(self, rows: Rows, labels: Rows) -> list[npt.NDArray[np.float32]]:
        """Return the cross-attention of the last layer, averaged over heads and models; each row sums to 1."""
        return _in_parts_that_fit(lambda part: self._cross_attention(rows[part], labels[part]), rows)

    def _cross_attention(self, rows: Rows, labels: Rows) -> list[npt.NDArray[np.float32]]:
        # 1. The target input: SOS, then each label without its last token.
        longest = max(len(label) for label in labels)
        target_input = torch.full((len(rows), longest), PAD)  # (B, T)
        for row_input, label in zip(target_input, labels, strict=True):
            row_input[: len(label)] = torch.tensor([SOS, *label[:-1]])
        target_input = target_input.to(self._device)
        source = collate_source(rows).to(self._device)  # (B, S)

        # 2. The mean over heads, then over models.
        model_weights = []
        with self._evaluating():
            for model in self.models:
                heads = model.attention(source, target_input).cross[-1]  # (B, H, T, S)
                model_weights.append(heads.float().mean(dim=1))
        mean_weights = torch.stack(model_weights).mean(dim=0).cpu().numpy()  # (B, T, S)

        # 3. Without padding; the source ends in EOS.
        maps = []
        for weights, row, label in zip(mean_weights, rows, labels, strict=True):
            maps.append(weights[: len(label), : len(row) + 1])
        return maps

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Disable dropout and gradients inside the block."""
        # Validation searches with the model that is being trained, and gives it back as it was.
        training = [model.eval() for model in self.models if model.training]
        try:
            with torch.inference_mode():
                yield
        finally:
            for model in training:
                model.train()


def _positions_in_memory(models: Sequence[Transformer], device: torch.device) -> int:
    """Return the source positions of a batch, each counted once per hypothesis, for which a GPU has the memory.

    It depends on the kind of GPU and on the models only, so that the same text always has the same batches.
    """
    bytes_per_position = 0
    for model in models:
        width = model.head_weight.size(1)
        key_and_value = 2 * width * model.head_weight.element_size()
        bytes_per_position += len(model.decoder.layers) * key_and_value * _CACHED_PER_SOURCE_POSITION
    memory = torch.cuda.get_device_properties(device).total_memory
    return max(CPU_BATCH_POSITIONS, int(_SHARE_OF_MEMORY * memory) // bytes_per_position)


def _in_parts_that_fit(work: Callable[[slice], list[Result]], rows: Rows, remedy: str = "") -> list[Result]:
    """Return the results of `work` for all `rows`, in halves where memory of a GPU runs out.

    Other programs, or a training, may use the memory of this GPU. Raises RunError, with `remedy`, if a single sentence
    needs more.
    """

    def results(start: int, end: int) -> list[Result]:
        try:
            return work(slice(start, end))
        except RuntimeError as error:
            _check_that_halves_may_fit(error, rows[start:end], remedy)
        torch.cuda.empty_cache()
        middle = (start + end) // 2
        return results(start, middle) + results(middle, end)

    return results(0, len(rows))


def _check_that_halves_may_fit(error: RuntimeError, rows: Rows, remedy: str = "") -> None:
    """Raise `error` unless memory ran out; raise RunError, with `remedy`, if a single sentence needs more."""
    if not is_out_of_memory(error):
        raise error
    if len(rows) == 1:
        raise RunError(
            f"memory ran out with a sentence of {len(rows[0])} tokens; stop other programs that use this "
            f"GPU, {remedy}use the CPU (--device cpu)"
        ) from error


class _Cancellable:
    """A model that calls `check` before each step; an exception from `check` ends the search."""

    def __init__(self, model: Any, check: Check) -> None:
        self.max_positions = model.max_positions
        self.start = model.start
        self._model = model
        self._check = check

    def step(self, tokens: Tensor, cache: Any, /) -> Any:
        """Return what the model returns for the next step."""
        self._check()
        return self._model.step(tokens, cache)


def load_searcher(checkpoints: Sequence[PinnedCheckpoint], search: SearchConfig, device: str) -> TorchSearcher:
    """Return the engine of one checkpoint, or of an ensemble of several.

    On a GPU, torch rounds float32 products from now on, in this whole process: TF32 is faster.

    Raises RunError: the models do not fit into the free memory of the GPU.
    """
    place = torch.device(device)
    # The weights are copied into the layout and the type that searches read fastest.
    precision = search_precision(search.precision, place)
    with model_must_fit("use the CPU (--device cpu)"):
        models = [prepare(load_model(checkpoint, place), precision) for checkpoint in checkpoints]
    if place.type == "cuda":
        torch.set_float32_matmul_precision(GPU_ROUNDING)
    return TorchSearcher(models, place)


def search_precision(precision: str, device: torch.device) -> Literal["float32", "bf16"]:
    """Return `search.precision`; raise ConfigError if torch does not support it on `device`."""
    if precision == "float32":
        return "float32"
    if precision == "bf16" and device.type != "cpu" and has_bf16(device):
        return "bf16"
    problem = f"torch does not support on {device.type} here;"
    if precision == "int8":
        problem = "only the ctranslate2 engine supports; add --engine ctranslate2, or"
    raise ConfigError(f"search.precision is `{precision}`, which {problem} set search.precision=float32")
