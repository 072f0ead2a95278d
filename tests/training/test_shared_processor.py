"""Training beside other programs."""

from typing import Any

import pytest
import torch

from translator.training.shared_processor import SharedProcessor

BY_MINUTES = ("run.threads=0", "training.schedule=cosine", "training.schedule_clock=minutes", "training.max_minutes=9")
CPU = torch.device("cpu")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads that were set, after 3 at the start; other programs use 1.2 of 3 cores."""
    numbers = [3]
    monkeypatch.setattr("translator.training.shared_processor.available_cores", lambda: 3)
    monkeypatch.setattr("translator.run.workers.Neighbours.cores_taken", lambda self: 1.2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: numbers[-1])
    monkeypatch.setattr(torch, "set_num_threads", numbers.append)
    return numbers


def test_a_run_timed_by_minutes_yields_cores(tiny: Any, threads: list[int]) -> None:
    SharedProcessor(tiny(*BY_MINUTES), CPU, world_size=1).give_way(0.5)
    assert threads == [3, 2]


def test_it_takes_no_more_threads_than_at_the_start(
    tiny: Any, threads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translator.training.shared_processor.available_cores", lambda: 8)
    SharedProcessor(tiny(*BY_MINUTES), CPU, world_size=1).give_way(0.5)
    assert threads == [3]


def test_the_threads_of_the_start_are_restored(tiny: Any, threads: list[int]) -> None:
    processor = SharedProcessor(tiny(*BY_MINUTES), CPU, world_size=1)
    processor.give_way(0.5)
    processor.restore()
    assert threads == [3, 2, 3]


@pytest.mark.parametrize(
    ("override", "device", "world_size"),
    [
        ("training.schedule_clock=steps", "cpu", 1),
        ("run.threads=3", "cpu", 1),
        ("run.threads=0", "cuda", 1),
        ("run.threads=0", "cpu", 2),
    ],
)
def test_a_reproducible_run_keeps_its_threads(
    tiny: Any, threads: list[int], override: str, device: str, world_size: int
) -> None:
    SharedProcessor(tiny(*BY_MINUTES, override), torch.device(device), world_size).give_way(0.5)
    assert threads == [3]


@pytest.mark.parametrize(("cpu_share", "warnings"), [(0.69, 1), (0.71, 0)])
def test_it_warns_once_of_a_busy_processor(
    tiny: Any, caplog: pytest.LogCaptureFixture, cpu_share: float, warnings: int
) -> None:
    processor = SharedProcessor(tiny(), CPU, world_size=1)
    processor.give_way(cpu_share)
    processor.give_way(cpu_share)
    assert caplog.text.count("other programs compute on this machine") == warnings
