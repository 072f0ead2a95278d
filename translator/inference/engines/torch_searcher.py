"""The search engine on torch. B batch, S source length, T target length, H heads"""

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from translator.checkpoint.files import load_model
from translator.checkpoint.state import PinnedCheckpoint
from translator.config import SearchConfig
from translator.core import SOS
from translator.core.attention import AttentionKernel, attention, attention_weights
from translator.core.batch import collate_source
from translator.core.cache import FIRST_CAPACITY
from translator.core.hypothesis import Hypothesis, Rows, SearchSettings
from translator.core.search import beam_search
from translator.core.transformer import Transformer
from translator.errors import ConfigError, RunError
from translator.inference.engines.searcher import CPU_BATCH_POSITIONS, Searcher, batches_by_length
from translator.search.constraints import Constraints
from translator.search.ensemble import Ensemble
from translator.search.request import SearchRequest
from translator.search.scoring import score_targets
from translator.search.token_sampling import sample_hypotheses
from translator.speed.device import GPU_ROUNDING, has_bf16, is_out_of_memory, model_must_fit, steps_between_reads
from translator.speed.inference_copy import search_copy
from translator.speed.top_k import top_k_on

_GPU_BATCH_ROWS: Final = 4096
_SHARE_OF_MEMORY: Final = 1 / 6  # of a GPU, for the caches of a batch; a training may need the rest
_TARGET_POSITIONS_AT_ONCE: Final = 2_048  # of a scored batch; each has logits over the whole vocabulary
_CACHED_PER_SOURCE_POSITION: Final = 3  # cached target positions of a hypothesis; the buffers grow by doubling


Result = TypeVar("Result")  # of a row


class TorchSearcher(Searcher):
    """Searches with one model, or with an ensemble that averages the probabilities of several.

    The models share their vocabularies, are on `device`, and are put into evaluation mode.
    """

    name = "torch"
    gives_attention = True

    def __init__(self, models: Sequence[Transformer], device: torch.device) -> None:
        self.models = list(models)
        self.arithmetic = str(device)
        self.max_positions = min(model.max_positions for model in models)
        if device.type == "cuda":
            self.batch_rows = _GPU_BATCH_ROWS
            self.batch_positions = _positions_in_memory(models, device)
            self.fewest_positions = math.ceil(FIRST_CAPACITY / _CACHED_PER_SOURCE_POSITION)
        self._device = device
        self._search_model: Any = models[0] if len(models) == 1 else Ensemble(self.models)

    def find(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """Return hypotheses for each row (see `Searcher.find`), by the method that the settings ask for."""
        model = self._search_model
        if request.check is not None:
            model = _Cancellable(model, request.check)

        def found(batch: list[int]) -> list[list[Hypothesis]]:
            with self._evaluating():
                return self._search(model, request.select(batch))

        return _in_fitting_batches(self.batches(request), request.rows, found)

    def _search(self, model: Any, request: SearchRequest) -> list[list[Hypothesis]]:
        """Return the hypotheses of each row of a batch."""
        # 1. Limit the outputs.
        source = collate_source(request.rows).to(self._device)  # (B, S)
        longest = torch.tensor(request.longest_outputs(self.max_positions))  # (B,)
        constraints = None
        if request.forbids_tokens:
            constraints = Constraints(request, request.shortest_outputs(self.max_positions), self._device)

        # 2. Search.
        if request.config.method == "sampling":
            return sample_hypotheses(model, source, longest, request.config, request.count, constraints)
        return beam_search(
            model,
            source,
            longest,
            request.config.settings,
            request.count,
            constraints,
            top_k=top_k_on(self._device),
            steps_between_reads=steps_between_reads(self._device),
        )

    def score(self, rows: Rows, targets: Rows, settings: SearchSettings) -> list[Hypothesis]:
        """Return the score of each target (see `Searcher.score`)."""

        def scored(batch: list[int]) -> list[Hypothesis]:
            source = collate_source([rows[number] for number in batch]).to(self._device)  # (B, S)
            with self._evaluating():
                return score_targets(self._search_model, source, [targets[number] for number in batch], settings)

        lengths = [max(map(len, sides)) for sides in zip(rows, targets, strict=True)]  # of the longer side of each pair
        return _in_fitting_batches(batches_by_length(lengths, _targets_at_once), rows, scored)

    def cross_attention(self, row: Sequence[int], label: Sequence[int]) -> npt.NDArray[np.float32]:
        """Return the cross-attention (T, S) of the last layer, averaged over heads and models; each row sums to 1."""
        source = collate_source([row]).to(self._device)  # (1, S)
        target_input = torch.tensor([[SOS, *label[:-1]]], device=self._device)  # (1, T)
        weights_of_models = []
        with self._evaluating():
            for model in self.models:
                last_layer = weights_of_layers(model, source, target_input).cross[-1]  # (1, H, T, S)
                weights_of_models.append(last_layer[0].float().mean(dim=0))
        weights: npt.NDArray[np.float32] = torch.stack(weights_of_models).mean(dim=0).cpu().numpy()  # (T, S)
        return weights

    def _evaluating(self) -> contextlib.AbstractContextManager[None]:
        """Disable dropout, and gradients inside the block."""
        # Validation searches with the model that is being trained; each update sets the mode that it needs.
        for model in self.models:
            if model.training:
                model.eval()
        return torch.inference_mode()


class AttentionWeights(NamedTuple):
    """The attention weights of a model: one tensor per layer, in the order of the layers."""

    encoder: Sequence[Tensor]  # (B, H, S, S) each: from source to source positions
    decoder: Sequence[Tensor]  # (B, H, T, T) each: from target to target positions
    cross: Sequence[Tensor]  # (B, H, T, S) each: from target to source positions


@torch.no_grad()
def weights_of_layers(model: Transformer, source: Tensor, target_input: Tensor) -> AttentionWeights:
    """Return the attention weights of every layer of `model`; arguments as in `Transformer.forward`."""
    # For one pass, a kernel that records replaces the model's kernel, which all its layers share.
    kernel = model.encoder.layers[0].self_attention.kernel
    weights: list[Tensor] = []
    model.use_attention(recording(weights))
    try:
        model.states_of_pairs(source, target_input)
    finally:
        model.use_attention(kernel)

    # The order of the pass: self-attention in each layer of the encoder; then, in each layer of the decoder,
    # self-attention and cross-attention.
    encoder_layers = len(model.encoder.layers)
    of_decoder = weights[encoder_layers:]
    return AttentionWeights(encoder=weights[:encoder_layers], decoder=of_decoder[0::2], cross=of_decoder[1::2])


def recording(weights: list[Tensor]) -> AttentionKernel:
    """Return a kernel like `attention` that also appends the weights (B, H, T, S) of each call to `weights`."""

    def attention_and_weights(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
        weights.append(attention_weights(query, key, mask))
        return attention(query, key, value, mask, dropout)

    return attention_and_weights


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


def _in_fitting_batches(
    batches: Iterable[list[int]], rows: Rows, work: Callable[[list[int]], Sequence[Result]]
) -> list[Result]:
    """Return the results of `work` for all rows, in their order; a batch for which memory runs out is done in halves.

    Other programs, or a training, may use the memory of a GPU.

    Args:
        batches: for each batch, the numbers of its rows; each row is in one batch.
        rows: source ids of all sentences.
        work: takes the numbers of the rows of a batch, and returns the result of each row.

    Raises RunError: a single sentence needs more memory.
    """
    waiting = list(batches)[::-1]  # a stack: the batch that is done next is at its end
    results: dict[int, Result] = {}
    while waiting:
        batch = waiting.pop()
        try:
            results |= zip(batch, work(batch), strict=True)
            continue
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if len(batch) == 1:
                tokens = len(rows[batch[0]])
                raise RunError(
                    f"memory ran out with a sentence of {tokens} tokens; stop other programs that use this GPU, "
                    "lower search.beam_size, or use the CPU (--device cpu)"
                ) from error
        # Free the tensors of the batch that did not fit. The exception held them until the end of its block.
        torch.cuda.empty_cache()
        middle = len(batch) // 2
        waiting += [batch[middle:], batch[:middle]]
    return [results[number] for number in range(len(rows))]


def _targets_at_once(longest: int) -> int:
    """Return the number of pairs that are scored together, whose longest side has `longest` tokens without EOS."""
    return max(1, _TARGET_POSITIONS_AT_ONCE // (longest + 1))


class _Cancellable:
    """A model that calls `check` before each step; an exception from `check` ends the search."""

    def __init__(self, model: Any, check: Callable[[], None]) -> None:
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
    precision = search_precision(search.precision, place)
    with model_must_fit("use the CPU (--device cpu)"):
        # The weights are copied into the layout and the type that searches read fastest.
        models = [search_copy(load_model(checkpoint, place), precision) for checkpoint in checkpoints]
    if place.type == "cuda":
        torch.set_float32_matmul_precision(GPU_ROUNDING)
    return TorchSearcher(models, place)


def search_precision(precision: str, device: torch.device) -> Literal["float32", "bf16"]:
    """Return `search.precision`; raise ConfigError if torch does not support it on `device`."""
    if precision in ("auto", "float32"):
        return "float32"
    if precision == "bf16" and device.type != "cpu" and has_bf16(device):
        return "bf16"
    problem = f"torch does not support on {device.type} here;"
    if precision == "int8":
        problem = "only the ctranslate2 engine supports; add --engine ctranslate2, or"
    raise ConfigError(f"search.precision is `{precision}`, which {problem} set search.precision=float32")
