"""The engine that searches with our own models in torch, one or an ensemble."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from translator.config import SearchConfig, TrainingConfig
from translator.data import collate_source
from translator.device import MatmulPrecision, choose_rounding, matmul_precision
from translator.inference.cancellable_model import CancellableModel
from translator.model import Transformer
from translator.search import Ensemble, Hypothesis, SearchModel, score_targets, search
from translator.special_tokens import PAD, SOS


class TorchSearcher:
    """Searches with one model, or with the mean of several models' probabilities.

    A model in evaluation mode is left untouched, so that any number of threads may use it. One that is being trained is
    switched for the length of a call and switched back; its owner uses it from one thread.

    Args:
        models: of the same vocabularies, all on `device`.
        device: where they are.
        rounding: of float32 products during a call, for an owner who has set another one; None leaves what is set.
    """

    name = "torch"

    def __init__(
        self, models: Sequence[Transformer], device: torch.device, rounding: MatmulPrecision | None = None
    ) -> None:
        assert models
        self._models = list(models)
        self._device = device
        self._rounding = rounding
        self._together: Transformer | Ensemble = self._models[0] if len(self._models) == 1 else Ensemble(self._models)

    @property
    def max_positions(self) -> int:
        """Longest sequence that all the models know."""
        return min(model.max_positions for model in self._models)

    def find(
        self,
        rows: Sequence[Sequence[int]],
        config: SearchConfig,
        count: int = 1,
        prefixes: Sequence[Sequence[int]] | None = None,
        check: Callable[[], None] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return hypotheses for each row (see `Searcher.find`)."""
        model: SearchModel[Any] = self._together if check is None else CancellableModel(self._together, check)
        with self._evaluating():
            return search(model, self._source(rows), config, count=count, prefixes=prefixes)

    def score(self, rows: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Hypothesis]:
        """Return what the models give each target (see `Searcher.score`)."""
        with self._evaluating():
            return score_targets(self._together, self._source(rows), targets)

    def cross_attention(
        self, rows: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]
    ) -> list[npt.NDArray[np.float32]]:
        """Return the cross-attention of the last layer, averaged over heads and models; each row sums to 1."""
        inputs = torch.full((len(rows), max(map(len, labels))), PAD)  # (B, T)
        for row, label in zip(inputs, labels, strict=True):
            row[: len(label)] = torch.tensor([SOS, *label[:-1]])
        source, target_input = self._source(rows), inputs.to(self._device)  # (B, S), (B, T)
        with self._evaluating():
            found = [model.attention(source, target_input).cross[-1] for model in self._models]  # (B, H, T, S) each
        mean = torch.stack([weights.float().mean(dim=1) for weights in found]).mean(dim=0).cpu().numpy()  # (B, T, S)
        return [weights[: len(label), : len(row) + 1] for weights, row, label in zip(mean, rows, labels, strict=True)]

    def _source(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return collate_source(rows).to(self._device)  # (B, S)

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Switch dropout and gradients off inside the block, and take our own rounding."""
        training = [model for model in self._models if model.training]
        for model in training:
            model.eval()
        rounding = matmul_precision(self._rounding) if self._rounding else contextlib.nullcontext()
        try:
            with torch.inference_mode(), rounding:
                yield
        finally:
            for model in training:
                model.train()


def search_rounding(device: torch.device, training: TrainingConfig) -> MatmulPrecision:
    """Return how float32 products round in a search: on a CPU not at all, on a GPU as they did in training.

    A step has few rows, for which rounding on a CPU costs more than it saves (docs/decisions.md). There
    `search.precision` is what makes the products of a search quick.
    """
    return "highest" if device.type == "cpu" else choose_rounding(device, training.matmul_precision)
