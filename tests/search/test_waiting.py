"""A search on a device that runs behind, with a CPU in its place: the same hypotheses, and few reads."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from tests.support.known_model import KnownModel, assert_same_hypotheses, sources
from tests.support.search_settings import SEEDS
from tests.support.searching import search
from translator.config import SearchConfig
from translator.core import EOS
from translator.core.hypothesis import Hypothesis
from translator.core.layers import NetworkSettings
from translator.core.transformer import Transformer
from translator.search.token_sampling import sample_hypotheses
from translator.speed.top_k import largest_of_groups

STEPS_BETWEEN_READS = 4  # on a GPU

METHODS = [
    SearchConfig(method="greedy"),
    SearchConfig(beam_size=1),
    SearchConfig(beam_size=4, length_penalty=0.0),
    SearchConfig(beam_size=3, length_penalty=2.0, min_length_ratio=0.8, no_repeat_ngram=2),
    SearchConfig(method="sampling", top_k=9),
]
with_every_method = pytest.mark.parametrize("config", METHODS, ids=lambda config: f"{config.method}-{config.beam_size}")

WAITING_METHODS = ("tolist", "cpu", "numpy")
"""Methods of a tensor that wait for the device, and that the operations below do not show."""

READS = ("aten.nonzero.default", "aten._local_scalar_dense.default", "aten.masked_select.default", "aten.index.Tensor")
"""Operations whose result, or its shape, the program waits for. `index` waits if it is given a mask."""


@contextlib.contextmanager
def device_behind() -> Iterator[None]:
    """Let searches take the CPU for a device that runs behind."""
    with pytest.MonkeyPatch.context() as patch:
        for room in ("inference.engines.torch_searcher", "search.token_sampling"):
            patch.setattr(f"translator.{room}.steps_between_reads", lambda device: STEPS_BETWEEN_READS)
            patch.setattr(f"translator.{room}.top_k_on", lambda device: largest_of_groups)
        yield


def samples_with_limits(seed: int, limits: list[int]) -> list[list[Hypothesis]]:
    """Return two draws for a sentence of each length limit."""
    source = sources(*range(10, 10 + len(limits)))
    return sample_hypotheses(KnownModel(seed), source, torch.tensor(limits), SearchConfig(), count=2)


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.lists(st.integers(1, 11), min_size=1, max_size=5))
def test_samples_that_stay_after_their_end_find_nothing_more(seed: int, limits: list[int]) -> None:
    """tests/core/test_search.py says so of beams."""
    expected = samples_with_limits(seed, limits)
    with device_behind():
        results = samples_with_limits(seed, limits)
    for hypotheses, expected_hypotheses in zip(results, expected, strict=True):
        assert_same_hypotheses(hypotheses, expected_hypotheses)


class CountsReads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts, for each step, what waits for a result."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.reads: list[int] = []

    def begin_step(self) -> None:
        self.reads.append(0)

    def counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method of a tensor that counts its calls as reads."""

        def call(tensor: torch.Tensor, *args: Any) -> Any:
            if self.reads:
                self.reads[-1] += 1
            return method(tensor, *args)

        return call

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.reads:
            self.reads[-1] += self._waits(str(func), args)
        return func(*args, **(kwargs or {}))

    @staticmethod
    def _waits(name: str, args: Any) -> bool:
        if name == "aten.index.Tensor":
            return any(index is not None and index.dtype == torch.bool for index in args[1])
        return name in READS


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(5)
    return Transformer(NetworkSettings(32, 4, 1, 3, feed_forward=64), 400, 400).eval()


@with_every_method
@torch.no_grad()
def test_only_every_fourth_step_waits_for_the_device(
    model: Transformer, config: SearchConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Count what waits for a result, in each step of the model.
    counts = CountsReads()
    step = model.step

    def counted_step(tokens: torch.Tensor, cache: Any) -> torch.Tensor:
        counts.begin_step()
        return step(tokens, cache)

    for name in WAITING_METHODS:
        monkeypatch.setattr(torch.Tensor, name, counts.counted(getattr(torch.Tensor, name)))
    monkeypatch.setattr(model, "step", counted_step)

    source = torch.tensor([[4, 5, 6, EOS], [7, 8, EOS, 0]])
    with counts, device_behind():
        search(model, source, config)
    assert len(counts.reads) > 2 * STEPS_BETWEEN_READS

    # The last step is followed by the reading of the results.
    for number, reads in enumerate(counts.reads[:-1], 1):
        if number % STEPS_BETWEEN_READS != 0:
            assert reads == 0
