"""Search engines; our own, which computes with torch. B batch, S source length, T target length, H heads"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.data import collate_source
from translator.errors import InputError
from translator.model import Transformer
from translator.model.device import MatmulPrecision
from translator.model.transformer import matmul_precision
from translator.search import Ensemble, Hypothesis, Rows, score_targets
from translator.search import search as search_with
from translator.special_tokens import PAD, SOS

Check = Callable[[], None]


class Searcher(ABC):
    """A search engine: source ids in, hypotheses out. Several threads may call one at the same time."""

    name: str  # what computes: `torch`, `ctranslate2`
    arithmetic: str  # device and precision of its products; another one may give other translations
    max_positions: int  # longest sequence of either side that the model knows, EOS or SOS included
    gives_attention = False
    on_one_core = False  # whether several processes of one thread each translate faster than one process
    batches_at_once = 1  # how many times `search.batch_size` rows it takes, to divide them by itself

    @abstractmethod
    def find(
        self, rows: Rows, config: SearchConfig, count: int = 1, prefixes: Rows | None = None, check: Check | None = None
    ) -> list[list[Hypothesis]]:
        """Return up to `count` hypotheses for each row, best first.

        Args:
            rows: source ids without EOS.
            config: how hypotheses are searched.
            count: hypotheses wanted for each row.
            prefixes: for each row the target ids that its hypotheses begin with.
            check: called before each decoding step, where the engine sees its steps; what it raises ends the search.

        Raises:
            ConfigError: the settings cannot give so many hypotheses, or this engine does not have them.
            InputError: a row or a prefix is longer than the model knows.
        """

    @abstractmethod
    def score(self, rows: Rows, targets: Rows) -> list[Hypothesis]:
        """Return the log-probabilities of each target as the translation of its row (teacher forcing, EOS included).

        Rows have no EOS, targets neither SOS nor EOS. An InputError says that a side is longer than the model knows.
        """

    def cross_attention(self, rows: Rows, labels: Rows) -> list[npt.NDArray[np.float32]]:
        """Return (T, S) weights for each row: from each of its T labels to its S source tokens, which sum to 1.

        Rows have no EOS, which counts in S; labels have no SOS, and EOS where it was produced. InputError: it has none.
        """
        raise InputError(
            f"the engine {self.name} gives no attention, which attention maps and alignments are made from; use "
            "--engine torch"
        )


class TorchSearcher(Searcher):
    """Searches with one model, or with the mean of several models' probabilities.

    The models have the same vocabularies and are on `device`; `rounding` is that of float32 products during a call. A
    model in evaluation mode is left untouched, so that any number of threads may use it. One in training mode is
    switched for the length of a call and switched back; its owner uses it from one thread.
    """

    name = "torch"
    gives_attention = True

    def __init__(
        self, models: Sequence[Transformer], device: torch.device, rounding: MatmulPrecision = "highest"
    ) -> None:
        self.models = list(models)
        self.arithmetic = f"{device}, {rounding}"
        self.max_positions = min(model.max_positions for model in models)
        self.on_one_core = device.type == "cpu"
        self._device = device
        self._rounding = rounding
        self._together: Any = models[0] if len(models) == 1 else Ensemble(self.models)

    def find(
        self, rows: Rows, config: SearchConfig, count: int = 1, prefixes: Rows | None = None, check: Check | None = None
    ) -> list[list[Hypothesis]]:
        """Return hypotheses for each row (see `Searcher.find`)."""
        model, source = self._together, collate_source(rows).to(self._device)
        with self._evaluating():
            return search_with(_Cancellable(model, check) if check else model, source, config, count, prefixes)

    def score(self, rows: Rows, targets: Rows) -> list[Hypothesis]:
        """Return the log-probabilities of each target (see `Searcher.score`)."""
        with self._evaluating():
            return score_targets(self._together, collate_source(rows).to(self._device), targets)

    def cross_attention(self, rows: Rows, labels: Rows) -> list[npt.NDArray[np.float32]]:
        """Return the cross-attention of the last layer, averaged over heads and models; each row sums to 1."""
        target_input = torch.full((len(rows), max(map(len, labels))), PAD)  # (B, T)
        for row, label in zip(target_input, labels, strict=True):
            row[: len(label)] = torch.tensor([SOS, *label[:-1]])
        inputs = collate_source(rows).to(self._device), target_input.to(self._device)  # (B, S), (B, T)
        with self._evaluating():
            found = [model.attention(*inputs).cross[-1] for model in self.models]  # (B, H, T, S) each
        mean = torch.stack([weights.float().mean(dim=1) for weights in found]).mean(dim=0).cpu().numpy()  # (B, T, S)
        return [weights[: len(label), : len(row) + 1] for weights, row, label in zip(mean, rows, labels, strict=True)]

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Switch dropout and gradients off inside the block, and round products as this engine does."""
        training = [model.eval() for model in self.models if model.training]
        try:
            with torch.inference_mode(), matmul_precision(self._rounding):
                yield
        finally:
            for model in training:
                model.train()


class _Cancellable:
    """A model that calls `check` before each step; what `check` raises ends the search."""

    def __init__(self, model: Any, check: Check) -> None:
        self.max_positions, self.start, self._step, self._check = model.max_positions, model.start, model.step, check

    def step(self, tokens: Tensor, cache: Any, /) -> Any:
        self._check()
        return self._step(tokens, cache)
