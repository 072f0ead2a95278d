"""How products round while the engine searches, and what it leaves behind."""

import pytest
import torch
from small_model import small_model

from translator.config import SearchConfig, TrainingConfig
from translator.device import matmul_precision
from translator.inference import TorchSearcher
from translator.inference.torch_searcher import search_rounding
from translator.model import Transformer

CPU = torch.device("cpu")


@pytest.mark.parametrize("rounding", ["highest", None])
def test_a_training_model_is_searched_with_its_own_rounding_and_left_as_it_was(
    rounding: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model()
    seen: list[tuple[str, bool]] = []
    encode = Transformer.encode

    def noting(self: Transformer, source: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        seen.append((torch.get_float32_matmul_precision(), self.training))
        return encode(self, source, mask)

    monkeypatch.setattr(Transformer, "encode", noting)
    searcher = TorchSearcher([model], CPU, rounding)  # type: ignore[arg-type]  # mypy widens the literal
    with matmul_precision("medium"):
        searcher.find([[5, 6, 7]], SearchConfig())
        assert torch.get_float32_matmul_precision() == "medium"
    assert seen == [(rounding or "medium", False)]
    assert model.training


def test_a_cpu_searches_without_rounding_inside_and_a_gpu_as_it_trained() -> None:
    gpu = torch.device("cuda")
    assert search_rounding(CPU, TrainingConfig(matmul_precision="medium")) == "highest"
    assert search_rounding(gpu, TrainingConfig()) == "medium"
    assert search_rounding(gpu, TrainingConfig(matmul_precision="high")) == "high"
