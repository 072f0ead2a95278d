"""Writing in the background: in order, one at a time, and nothing is lost."""

import threading

import pytest
import torch

from translator.checkpoint import BackgroundWriter, snapshot
from translator.errors import StorageError


def test_the_caller_goes_on_and_the_next_job_waits() -> None:
    writer = BackgroundWriter()
    may_end = threading.Event()
    done: list[int] = []

    def slow() -> None:
        assert may_end.wait(60)
        done.append(1)

    writer.submit(slow)
    assert not done, "submit does not wait for its own job"
    threading.Timer(0.05, may_end.set).start()
    writer.submit(lambda: done.append(2))
    assert done[0] == 1
    writer.wait()
    assert done == [1, 2]
    writer.close()


@pytest.mark.parametrize("ending", ["submit", "wait", "close"])
def test_an_error_is_raised_at_the_next_call_and_only_once(ending: str) -> None:
    writer = BackgroundWriter()

    def fail() -> None:
        raise StorageError("the disk is full")

    ran: list[int] = []
    writer.submit(fail)
    calls = {"submit": lambda: writer.submit(lambda: ran.append(1)), "wait": writer.wait, "close": writer.close}
    with pytest.raises(StorageError, match="the disk is full"):
        calls[ending]()
    assert not ran, "what comes after a failure was not asked for"
    writer.close()


def test_a_snapshot_does_not_follow_its_tensors() -> None:
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).T)
    held = snapshot({"weight": weight, "count": torch.tensor(3)})
    with torch.no_grad():
        weight.add_(1)
    assert torch.equal(held["weight"], torch.arange(6.0).reshape(2, 3).T)
    assert held["count"].item() == 3
    assert not held["weight"].requires_grad


def test_a_snapshot_takes_over_the_memory_that_fits() -> None:
    first = snapshot({"weight": torch.zeros(3), "other": torch.zeros(2)})
    again = snapshot({"weight": torch.ones(3), "other": torch.ones(5)}, first)
    assert again["weight"].data_ptr() == first["weight"].data_ptr()
    assert torch.equal(again["weight"], torch.ones(3))
    assert torch.equal(again["other"], torch.ones(5))
