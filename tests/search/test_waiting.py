"""A search on a device that runs behind, with a CPU in its place, reads few values."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.support.searching import search
from translator.config import SearchConfig
from translator.core import EOS
from translator.core.layers import NetworkSettings
from translator.core.transformer import Transformer
from translator.speed.top_k import largest_of_groups

STEPS_BETWEEN_READS = 4  # on a GPU


@contextlib.contextmanager
def device_behind() -> Iterator[None]:
    """Let searches take the CPU for a device that runs behind."""
    with pytest.MonkeyPatch.context() as patch:
        for room in ("inference.engines.torch_searcher", "search.token_sampling"):
            patch.setattr(f"translator.{room}.steps_between_reads", lambda device: STEPS_BETWEEN_READS)
            patch.setattr(f"translator.{room}.top_k_on", lambda device: largest_of_groups)
        yield


class CountsReads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts, for each step, the operations whose result, or its shape, the program waits for."""

    waiting = ("aten.nonzero.default", "aten._local_scalar_dense.default", "aten.masked_select.default")

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.reads = [0]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.reads[-1] += str(func) in self.waiting
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "config",
    [
        SearchConfig(method="greedy"),
        SearchConfig(beam_size=3, length_penalty=2.0, min_length_ratio=0.8, no_repeat_ngram=2),
        SearchConfig(method="sampling", top_k=9),
    ],
    ids=lambda config: config.method,
)
@torch.no_grad()
def test_only_every_fourth_step_waits_for_the_device(config: SearchConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(5)
    model = Transformer(NetworkSettings(32, 4, 1, 3, feed_forward=64), 400, 400).eval()
    counts = CountsReads()
    step = model.step

    def counted_step(tokens: torch.Tensor, cache: Any) -> torch.Tensor:
        counts.reads.append(0)
        return step(tokens, cache)

    monkeypatch.setattr(model, "step", counted_step)
    with counts, device_behind():
        search(model, torch.tensor([[4, 5, 6, EOS], [7, 8, EOS, 0]]), config)

    # The first entry is of what precedes the first step; the last step is followed by the reading of the results.
    reads = counts.reads[1:-1]
    assert len(reads) > 2 * STEPS_BETWEEN_READS
    for number, count in enumerate(reads, 1):
        assert number % STEPS_BETWEEN_READS == 0 or count == 0
