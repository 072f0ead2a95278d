"""The training loop: its ends, its arithmetic, and a loss that breaks."""

import itertools
from typing import Any

import pytest
import torch
from tiny_runs import final, run

from translator.data import Batch, DataHandler, DataPosition, collate
from translator.device import Arithmetic
from translator.errors import RunError
from translator.model import Transformer
from translator.special_tokens import EOS, PAD, SOS
from translator.training.step import take_step


def test_early_stopping_ends_the_run(tiny: Any) -> None:
    overrides = ["training.max_steps=500", "training.validate_every=1", "training.early_stopping=3"]
    outcome = run(tiny(*overrides, "training.learning_rate=1e-12", "training.best_metric=chrf"))
    assert "training.early_stopping=3" in outcome.reason
    assert outcome.progress.step < 100


def test_a_time_limit_ends_the_run(tiny: Any) -> None:
    outcome = run(tiny("training.max_steps=100000", "training.max_minutes=0.01"))
    assert "training.max_minutes=0.01" in outcome.reason
    assert outcome.progress.step >= 1


def test_a_loss_that_is_not_finite_stops_the_run_and_harms_no_checkpoint(
    tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny("training.log_every=1")

    def poisoned(model: Any, *arguments: Any) -> object:
        if arguments[2] == 9:
            with torch.no_grad():
                next(model.parameters()).fill_(float("nan"))
        return take_step(model, *arguments)

    monkeypatch.setattr("translator.training.trainer.take_step", poisoned)
    with pytest.raises(RunError, match=r"no longer finite near step 9.*Lower training\.learning_rate"):
        run(config)
    saved = final(config)
    assert all(torch.isfinite(tensor).all() for tensor in saved.values())


def test_accumulated_batches_give_the_gradient_of_their_union(tiny: Any) -> None:
    """One step over three uneven batches equals one step over all their pairs at once."""
    settings = ["training.gradient_clip=null", "training.warmup_steps=0", "training.learning_rate=1.0"]
    config = tiny(*settings, "batching.tokens_per_batch=64")
    data = DataHandler(config)
    sizes = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
    batches = [batch for batch, _ in itertools.islice(data.train_batches(DataPosition()), 3)]
    assert len({batch.target_tokens for batch in batches}) > 1, "uneven batches, or a mean of means would pass"
    special = (PAD, SOS, EOS)
    sources = [[t for t in row.tolist() if t not in special] for batch in batches for row in batch.source]
    targets = [[t for t in row.tolist() if t not in special] for batch in batches for row in batch.labels]
    union = collate(sources, targets, range(len(sources)))

    def updated(rows: list[Batch]) -> dict[str, torch.Tensor]:
        """Weights after one step of plain gradient descent, so that their change is the gradient itself."""
        torch.manual_seed(0)
        model = Transformer(config.model, *sizes).eval()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        take_step(model, rows, optimizer, 1, config.training, Arithmetic(torch.device("cpu"), "float32"))
        return model.state_dict()

    apart, together = updated(batches), updated([union])
    for key, value in together.items():
        torch.testing.assert_close(apart[key], value, rtol=0, atol=1e-6, msg=key)


def test_bf16_autocast_trains_with_float32_weights(tiny: Any) -> None:
    outcome = run(tiny("training.precision=bf16"))
    assert outcome.progress.last_validation["loss"] < 5
    assert {tensor.dtype for tensor in final(tiny()).values()} == {torch.float32}
