"""One process alone: every message is trivial, and nothing of torch's several processes is touched."""

import pytest
import torch
from small_model import small_model

from translator.errors import ConfigError, RunError
from translator.training.lost_process import LostProcessError, lost_process_errors
from translator.training.ranks import Ranks

LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK")


@pytest.fixture(autouse=True)
def _not_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LAUNCHED:
        monkeypatch.delenv(name, raising=False)


def test_one_process_is_all_there_is() -> None:
    with Ranks.join(torch.device("cpu")) as ranks:
        assert (ranks.rank, ranks.world, ranks.local_rank, ranks.main) == (0, 1, 0, True)
        assert ranks.sum([1.0, 0.0]) == [1.0, 0.0]
        assert ranks.sum([1, 2.5]) == [1.0, 2.5]
        assert ranks.gather_text("سلام") == ["سلام"]
        ranks.barrier()
        with ranks.first_on_each_machine():
            pass


def test_a_model_alone_stays_as_it_is() -> None:
    ranks = Ranks.alone()
    model = small_model()
    assert ranks.wrap(model) is model
    with ranks.local(model), ranks.connected():
        ranks.exchange(model, lambda: pytest.fail("there is nobody to exchange gradients with"))


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:1"])
def test_one_process_keeps_the_device_that_was_chosen(device: str) -> None:
    assert Ranks.alone().device(torch.device(device)) == torch.device(device)


def test_a_launcher_of_one_process_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in zip(LAUNCHED, "010", strict=True):
        monkeypatch.setenv(name, value)
    assert Ranks.join(torch.device("cpu")).world == 1


def test_half_an_environment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RunError, match="the environment has RANK and WORLD_SIZE, but LOCAL_RANK is ``"):
        Ranks.join(torch.device("cpu"))


@pytest.mark.skipif(torch.cuda.device_count() > 7, reason="this machine has that many GPUs")
def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in zip(LAUNCHED, "787", strict=True):
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"more processes on this machine than its \d GPUs"):
        Ranks.join(torch.device("cuda"))


@pytest.mark.parametrize(
    "message",
    [
        "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:538] Connection closed by peer [127.0.0.1]:35231",
        "Timed out waiting 300000ms for recv operation to complete",
        "NCCL communicator was aborted on rank 1.",
    ],
)
def test_a_broken_connection_is_told_in_plain_words(message: str) -> None:
    with (
        pytest.raises(LostProcessError, match="one of the 4 processes of this run was lost") as caught,
        lost_process_errors(4),
    ):
        raise RuntimeError(message + "\nException raised from somewhere in C++")
    assert "\n" not in str(caught.value) and "the same command goes on from it" in str(caught.value)


def test_other_errors_pass() -> None:
    with pytest.raises(RuntimeError, match="shapes") as caught, lost_process_errors(4):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")
    assert not isinstance(caught.value, LostProcessError)
