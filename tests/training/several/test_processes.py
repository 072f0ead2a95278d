"""Real processes: they compute what one would, stop together, and none is left when one is lost."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small_model import small_model
from training.several.gradient_steps import ACCUMULATIONS, add_gradient, share_of

from translator.errors import Interrupted, TranslatorError
from translator.signals import StopRequest
from translator.training.launch import launch
from translator.training.lost_process import LostProcessError

MEMBER = Path(__file__).with_name("member.py")


@pytest.fixture(autouse=True)
def _tests_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(MEMBER.parents[2]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path))


def start(folder: Path, processes: int, verb: str, *words: str) -> int:
    return launch([verb, str(folder), *words], processes, StopRequest(), threads=1, program=[str(MEMBER)])


def assert_work_is_that_of_one_process(folder: Path, world: int) -> None:
    talked = [(folder / f"talk-{rank}").read_text(encoding="utf-8") for rank in range(world)]
    tenths = 0.1 + 0.2 if world == 2 else 0.1 + 0.2 + 0.1 * 3
    texts = ["سلام" * rank for rank in range(world)]
    assert talked == [repr([False, True, [tenths, 1e300 * world], texts, "1"])] * world
    assert (folder / "order").read_text(encoding="utf-8").split() == ["first", *["later"] * (world - 1)]
    found = [load_file(folder / f"gradients-{rank}") for rank in range(world)]
    empty = [int((folder / f"empty-{rank}").read_text()) for rank in range(world)]
    assert sum(empty) == world - 1, "one step leaves all ranks but one without a batch"
    longest = max(ACCUMULATIONS)
    assert all(
        torch.equal(gradient, found[0][key.replace("plain", "again")])
        for key, gradient in found[0].items()
        if key.startswith(f"{longest}-plain")
    ), "the first step adds up in the order of all others"
    model = small_model(dropout=0.0).double()
    for accumulation in ACCUMULATIONS:
        step = share_of(accumulation, 0, 1)
        model.zero_grad()
        for batch in step.batches:
            add_gradient(model, batch, step.target_tokens)
        gradients = {key: parameter.grad for key, parameter in model.named_parameters() if parameter.grad is not None}
        largest = max(float(gradient.abs().max()) for gradient in gradients.values())
        for kind in ("plain", "careful"):
            for key, expected in gradients.items():
                ours = [of_rank[f"{accumulation}-{kind}.{key}"] for of_rank in found]
                assert all(torch.equal(ours[0], other) for other in ours), "the same bits on all ranks"
                torch.testing.assert_close(ours[0], expected, rtol=1e-6, atol=1e-6 * largest)


def test_two_processes_add_up_to_one_and_a_killed_one_ends_the_other(tmp_path: Path) -> None:
    with pytest.raises(LostProcessError) as caught:
        start(tmp_path, 2, "work", "die")
    assert str(caught.value) == (
        "process 1 of 2 was lost (Killed, most likely because memory ran out); the last checkpoint is unharmed, and "
        "the same command goes on from it"
    )
    assert "one of the 2 processes of this run was lost" in (tmp_path / "lost").read_text()
    assert_work_is_that_of_one_process(tmp_path, 2)


def test_three_processes_add_up_to_one_and_stop_together(tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as caught:
        start(tmp_path, 3, "work", "ask")
    assert caught.value.exit_code == 143
    steps = [int((tmp_path / f"stopped-{rank}").read_text()) for rank in range(3)]
    assert steps[0] == steps[1] == steps[2] >= 3
    assert_work_is_that_of_one_process(tmp_path, 3)


def test_a_mistake_is_told_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TranslatorError) as caught:
        start(tmp_path, 2, "fall_out")
    assert str(caught.value) == "there is no corpus"
    assert capfd.readouterr().err == ""


def test_a_second_signal_ends_all_at_once(tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as caught:
        start(tmp_path, 2, "ignore")
    assert caught.value.exit_code == 130


def test_all_stop_when_the_launcher_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "launcher.py"
    script.write_text(
        "import sys\n"
        "from translator.signals import StopRequest\n"
        "from translator.training.launch import launch\n"
        "launch(['steps', sys.argv[2]], 2, StopRequest(), threads=1, program=[sys.argv[1]])\n",
        encoding="utf-8",
    )
    launcher = subprocess.Popen([sys.executable, str(script), str(MEMBER), str(tmp_path)])
    notes = [tmp_path / f"process-{rank}" for rank in range(2)]
    wait_for(lambda: all(note.exists() and note.read_text() for note in notes))
    launcher.kill()
    launcher.wait()
    processes = [int(note.read_text()) for note in notes]
    wait_for(lambda: not any(map(is_running, processes)))
    assert (tmp_path / "stopped-0").read_text() == (tmp_path / "stopped-1").read_text(), "they saved before they ended"


def wait_for(done: Callable[[], bool]) -> None:
    for _ in range(1200):
        if done():
            return
        time.sleep(0.1)
    pytest.fail("it did not come to pass in two minutes")


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_signal_handlers_are_put_back(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with pytest.raises(TranslatorError):
        launch([], 1, StopRequest(), program=["-c", "raise SystemExit(3)"])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
