"""The torch engine: batches that fit into the memory of a GPU, with stand-ins for the GPU."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.core.hypothesis import Hypothesis
from translator.core.layers import NetworkSettings
from translator.core.search import beam_search
from translator.core.transformer import Transformer
from translator.errors import RunError
from translator.inference.engines import torch_searcher
from translator.inference.engines.torch_searcher import TorchSearcher, load_searcher
from translator.search.request import SearchRequest
from translator.search.scoring import score_targets

CPU = torch.device("cpu")
ROWS = [[5, 6], [7], [8, 9, 10], [11], [12, 13]]
NO_CUBLAS_MEMORY = "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
PREFIXES = [[], [4], [], [6, 7], []]


def small_model() -> Transformer:
    torch.manual_seed(1)
    return Transformer(NetworkSettings(16, 2, 1, 2, feed_forward=32), 20, 20).eval()


def searcher_on_gpu(memory: int, monkeypatch: pytest.MonkeyPatch) -> TorchSearcher:
    """An engine that takes itself to be on a GPU with `memory` bytes."""
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(total_memory=memory))
    return TorchSearcher([small_model()], torch.device("cuda", 0))


def tokens_of_rows(hypotheses_of_rows: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    tokens = []
    for hypotheses in hypotheses_of_rows:
        tokens.append([hypothesis.tokens for hypothesis in hypotheses])
    return tokens


def test_the_batch_on_a_gpu_fills_a_sixth_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = searcher_on_gpu(6 * 76_800_000, monkeypatch)
    # Keys and values of 16 float32 numbers in two layers, for three target positions a source position: 768 bytes.
    assert searcher.batch_positions == 100_000
    assert searcher.batch_rows == 4096


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError(NO_CUBLAS_MEMORY)])
def test_a_batch_without_enough_memory_is_searched_in_halves(
    error: RuntimeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    searcher = TorchSearcher([small_model()], CPU)
    request = SearchRequest(ROWS, SearchConfig(beam_size=2), 2, PREFIXES)
    expected = searcher.find(request)
    batch_sizes = []

    def short_of_memory(model: Any, source: Tensor, *args: Any) -> Any:
        batch_sizes.append(len(source))
        if len(source) > 2:
            raise error
        return beam_search(model, source, *args)

    monkeypatch.setattr(torch_searcher, "beam_search", short_of_memory)
    hypotheses = searcher.find(request)
    assert tokens_of_rows(hypotheses) == tokens_of_rows(expected)
    assert batch_sizes == [5, 2, 3, 1, 2]


def test_pairs_without_enough_memory_are_scored_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = TorchSearcher([small_model()], CPU)
    targets = [[7, 8], [9], [10], [5, 6], [4]]
    settings = SearchConfig().settings
    expected = searcher.score(ROWS, targets, settings)

    def short_of_memory(model: Any, source: Tensor, *args: Any) -> Any:
        if len(source) > 2:
            raise torch.OutOfMemoryError
        return score_targets(model, source, *args)

    monkeypatch.setattr(torch_searcher, "score_targets", short_of_memory)
    hypotheses = searcher.score(ROWS, targets, settings)
    for hypothesis, expected_hypothesis in zip(hypotheses, expected, strict=True):
        assert hypothesis.tokens == expected_hypothesis.tokens
        assert hypothesis.score == pytest.approx(expected_hypothesis.score, rel=1e-5)


def test_a_single_sentence_without_enough_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*args: Any, **options: Any) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(torch_searcher, "beam_search", no_memory)
    with pytest.raises(RunError, match=r"memory ran out with a sentence of 1 tokens; .* \(--device cpu\)"):
        TorchSearcher([small_model()], CPU).find(SearchRequest([[5]], SearchConfig()))


def test_other_errors_of_a_search_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*args: Any, **options: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(torch_searcher, "beam_search", failing)
    with pytest.raises(RuntimeError, match="a bug"):
        TorchSearcher([small_model()], CPU).find(SearchRequest(ROWS, SearchConfig()))


def test_a_model_that_does_not_fit_into_the_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_searcher, "load_model", Mock(side_effect=torch.OutOfMemoryError))
    with pytest.raises(RunError, match=r"the model does not fit into the free memory .* \(--device cpu\)"):
        load_searcher([Mock()], SearchConfig(), "cpu")
