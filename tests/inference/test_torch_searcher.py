"""The torch engine: batches that fit into the memory of a GPU, with a model that has memory for two sentences."""

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from tests.support.known_model import KnownModel, KnownState
from translator.config import SearchConfig
from translator.core.layers import NetworkSettings
from translator.core.transformer import Transformer
from translator.errors import RunError
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.search.request import SearchRequest

CPU = torch.device("cpu")
ROWS = [[10, 6], [11], [12, 9, 10], [13], [14, 13]]


class ShortOfMemory(KnownModel):
    def __init__(self, sentences: int, error: RuntimeError) -> None:
        super().__init__(1)
        self.sentences = sentences
        self.error = error
        self.batch_sizes: list[int] = []

    def check(self, source: Tensor) -> None:
        self.batch_sizes.append(len(source))
        if len(source) > self.sentences:
            raise self.error

    def start(self, source: Tensor, width: int = 1) -> KnownState:
        self.check(source)
        return super().start(source, width)

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        self.check(source)
        return super().__call__(source, target_input)


def searcher_of(model: object) -> TorchSearcher:
    return TorchSearcher([model], CPU)  # type: ignore[list-item]


def test_a_batch_without_enough_memory_is_searched_and_scored_in_halves() -> None:
    model = ShortOfMemory(2, torch.OutOfMemoryError("CUDA out of memory."))
    request = SearchRequest(ROWS, SearchConfig(beam_size=2), 2, [[], [4], [], [6, 4], []])
    assert searcher_of(model).find(request) == searcher_of(KnownModel(1)).find(request)
    assert model.batch_sizes == [5, 2, 3, 1, 2]

    targets = [[4, 5], [6], [5], [5, 6], [4]]
    settings = SearchConfig().settings
    expected = searcher_of(KnownModel(1)).score(ROWS, targets, settings)
    assert searcher_of(model).score(ROWS, targets, settings) == expected
    assert model.batch_sizes[5:] == [5, 2, 3, 1, 2]


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            torch.OutOfMemoryError(),
            RunError,
            r"memory ran out with a sentence of 1 tokens; .* lower search\.beam_size, or use the CPU \(--device cpu\)",
        ),
        (RuntimeError("a bug"), RuntimeError, "a bug"),
    ],
    ids=["one sentence", "a bug"],
)
def test_what_no_smaller_batch_helps_is_an_error(error: RuntimeError, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        searcher_of(ShortOfMemory(0, error)).find(SearchRequest([[5]], SearchConfig()))


def test_the_batch_on_a_gpu_fills_a_sixth_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SimpleNamespace(total_memory=6 * 76_800_000)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: memory)
    model = Transformer(NetworkSettings(16, 2, 1, 2, feed_forward=32), 20, 20).eval()
    searcher = TorchSearcher([model], torch.device("cuda", 0))
    # Keys and values of 16 float32 numbers in two layers, for three target positions a source position: 768 bytes.
    assert searcher.batch_positions == 100_000
    assert searcher.batch_rows == 4096
