"""Ranks as real processes: they compute what one process would."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.support.rank_verbs import PAIRS, gradients
from translator.errors import ConfigError, Interrupted, RunError
from translator.run.signals import STOP_SIGNALS
from translator.training.distributed import Distributed, lost_process_errors

StartMembers = Callable[[Path, int, str], int]
pytestmark = pytest.mark.usefixtures("plain_environment")


def notes(folder: Path, name: str) -> list[str]:
    """Return what each of three ranks wrote into its file of that name."""
    return [(folder / f"{name}-{rank}").read_text(encoding="utf-8") for rank in range(3)]


def test_three_ranks_compute_the_gradients_of_one_and_stop_together(
    tmp_path: Path, start_members: StartMembers
) -> None:
    # All stop at one signal, after the same step.
    handlers = [signal.getsignal(number) for number in STOP_SIGNALS]
    with pytest.raises(Interrupted) as caught:
        start_members(tmp_path, 3, "stop")
    assert caught.value.exit_code == 143
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == handlers
    assert len(set(notes(tmp_path, "stopped"))) == 1

    # Each rank has the same sums and texts of all ranks, and one thread.
    sums = [1.0, 0.1 + 0.2 + 0.1 * 3, 3e300]
    texts = ["", "سلام", "سلامسلام"]
    threads = "1"
    assert notes(tmp_path, "said") == [repr([sums, texts, threads])] * 3

    # The gradients are those of one process, and have the same bits on all ranks.
    alone = gradients(Distributed(), [list(range(len(PAIRS)))])
    main, *followers = [load_file(tmp_path / f"gradients-{rank}") for rank in range(3)]
    for name, expected in alone.items():
        torch.testing.assert_close(main[name], expected, rtol=1e-9, atol=1e-12, msg=name)
        for follower in followers:
            assert torch.equal(follower[name], main[name]), "the same bits on all ranks"


@pytest.mark.skipif(torch.cuda.device_count() > 7, reason="this machine has that many GPUs")
def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "7"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "7")):
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"run.device is `cuda:7`, but"):
        Distributed.join(torch.device("cuda"))


@pytest.mark.parametrize("message", ["[gloo/pair.cc:538] Connection closed", "Timed out waiting", "NCCL was aborted"])
def test_a_broken_connection_is_reported_in_plain_words(message: str) -> None:
    with pytest.raises(RunError) as caught, lost_process_errors():
        raise RuntimeError(message + "\nException raised from somewhere in C++")
    assert "\n" not in str(caught.value)


def test_another_error_of_torch_is_no_broken_connection() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"), lost_process_errors():
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")
