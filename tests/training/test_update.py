"""One update of the weights."""

from typing import Any

import pytest
import torch

from translator.config import Config
from translator.data import Batch, DataHandler, DataPosition, StepBatches, collate_rows
from translator.errors import RunError
from translator.training.distributed import Distributed
from translator.training.optimizer import ModelOptimizer
from translator.training.precision import choose
from translator.training.update import Updater

CPU = torch.device("cpu")


def updater_of(config: Config, data: DataHandler) -> Updater:
    vocabularies = (data.subword.source.vocabulary_size, data.subword.target.vocabulary_size)
    return Updater(config, vocabularies, CPU, choose(CPU, config), Distributed())


ROWS = [
    [([5, 6, 7], [20, 21]), ([8], [22, 23, 24, 25]), ([9, 10], [11])],
    [([11, 12, 13], [20])],
    [([14], [15]), ([16, 17], [18, 19, 20])],
]
"""Three rows, with unlike numbers of tokens."""


def step_of(batches: list[Batch]) -> StepBatches:
    return StepBatches(
        batches=tuple(batches),
        target_tokens=sum(batch.target_tokens for batch in batches),
        source_tokens=sum(batch.source_tokens for batch in batches),
        positions=sum(batch.positions for batch in batches),
        position=DataPosition(),
    )


def gradients_of_step(config: Config, share: StepBatches) -> dict[str, torch.Tensor]:
    gradients: dict[str, torch.Tensor] = {}

    def note_gradients(*_: object) -> None:
        for name, weight in updater.model.named_parameters():
            assert weight.grad is not None
            gradients[name] = weight.grad.clone()

    torch.manual_seed(0)
    updater = Updater(config, (30, 30), CPU, choose(CPU, config), Distributed())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelOptimizer, "update", note_gradients)
        updater.update(share, 1)
    return gradients


def test_accumulated_batches_give_the_gradient_of_their_union(tiny: Any) -> None:
    """One step over three uneven batches has the gradient of one step over all their rows at once."""
    config = tiny("model.dropout=0.0")
    whole_batch = collate_rows(ROWS, row_length=16)
    expected = gradients_of_step(config, step_of([whole_batch]))
    micro_batches = [collate_rows([row], row_length=16) for row in ROWS]
    accumulated = gradients_of_step(config, step_of(micro_batches))
    for name, gradient in expected.items():
        torch.testing.assert_close(accumulated[name], gradient, rtol=1e-5, atol=1e-6, msg=name)


def test_the_result_has_the_loss_of_each_token(tiny: Any) -> None:
    config = tiny()
    data = DataHandler(config).prepare()
    step = next(data.training_batches.steps(DataPosition(), accumulation=2))
    result = updater_of(config, data).update(step, 1)
    for batch, token_losses in zip(step.batches, result.token_losses, strict=True):
        assert torch.equal(token_losses > 0, batch.target_sentence > 0)


def test_block_norms_are_measured_on_request(tiny: Any) -> None:
    config = tiny()
    data = DataHandler(config).prepare()
    step = next(data.training_batches.steps(DataPosition(), accumulation=1))
    result = updater_of(config, data).update(step, 1, with_block_norms=True)
    assert result.block_norms is not None
    block_norms = torch.stack(list(result.block_norms.values()))
    assert block_norms.norm().item() == pytest.approx(result.gradient_norm.item(), rel=1e-5)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
)
def test_running_out_of_memory_names_the_keys_to_change(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, error: RuntimeError
) -> None:
    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr("translator.training.update.forward_backward", full)
    config = tiny()
    data = DataHandler(config).prepare()
    step = next(data.training_batches.steps(DataPosition(), accumulation=1))
    updater = updater_of(config, data)
    with pytest.raises(RunError, match="memory ran out with batches of 200 positions per side") as caught:
        updater.update(step, 1)
    message = str(caught.value)
    assert "batching.tokens_per_batch (now 200)" in message
    assert "training.accumulation_steps (now 1)" in message
