"""Ranks as real processes: they compute what one process would."""

import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.support.rank_verbs import PAIRS, gradients, start_ranks
from translator.errors import ConfigError, Interrupted, RunError
from translator.run.signals import STOP_SIGNALS
from translator.training.distributed import Distributed, lost_process_errors


def notes(folder: Path, name: str) -> list[str]:
    """Return what each of two ranks wrote into its file of that name."""
    return [(folder / f"{name}-{rank}").read_text(encoding="utf-8") for rank in range(2)]


def test_two_ranks_compute_the_gradients_of_one_and_stop_together(tmp_path: Path) -> None:
    # All stop at one signal, after the same step.
    handlers = [signal.getsignal(number) for number in STOP_SIGNALS]
    with pytest.raises(Interrupted) as caught:
        start_ranks(tmp_path, 2, "stop")
    assert caught.value.exit_code == 143
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == handlers
    assert len(set(notes(tmp_path, "stopped"))) == 1

    # Each rank has the same sums and texts of all ranks, and one thread.
    sums = [1.0, 0.1 + 0.2, 2e300]
    texts = ["", "سلام"]
    threads = "1"
    assert notes(tmp_path, "said") == [repr([sums, texts, threads])] * 2

    # The gradients are those of one process, and have the same bits on all ranks.
    alone = gradients(Distributed(), [list(range(len(PAIRS)))])
    main, follower = [load_file(tmp_path / f"gradients-{rank}") for rank in range(2)]
    for name, expected in alone.items():
        torch.testing.assert_close(main[name], expected, rtol=1e-9, atol=1e-12, msg=name)
        assert torch.equal(follower[name], main[name]), "the same bits on all ranks"


@pytest.mark.skipif(torch.cuda.device_count() > 7, reason="this machine has that many GPUs")
def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "7"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "7")):
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"run.device is `cuda:7`, but"):
        Distributed.join(torch.device("cuda"))


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("[gloo/pair.cc:538] Connection closed", RunError),
        ("Timed out waiting", RunError),
        ("mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", RuntimeError),
    ],
)
def test_a_broken_connection_is_told_from_another_error_of_torch(message: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught, lost_process_errors():
        raise RuntimeError(message)
    assert type(caught.value) is RuntimeError or "another rank of this run" in str(caught.value)
