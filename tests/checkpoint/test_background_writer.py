"""Copies for background writing are independent of later training."""

import pytest
import torch

from translator.checkpoint.background_writer import BackgroundWriter, snapshot


def test_snapshot_is_unaffected_by_later_updates() -> None:
    initial_weight = torch.arange(6.0).reshape(2, 3).T  # not contiguous
    weight = torch.nn.Parameter(initial_weight.clone())
    copies = snapshot({"weight": weight, "count": torch.tensor(3)})
    with torch.no_grad():
        weight.add_(1)
    assert torch.equal(copies["weight"], initial_weight)
    assert copies["count"].item() == 3
    assert not copies["weight"].requires_grad


def test_a_failed_job_raises_its_error_once_in_the_next_call() -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    writer = BackgroundWriter()
    writer.submit(fail)
    with pytest.raises(OSError, match="the disk is full"):
        writer.wait()
    writer.close()
