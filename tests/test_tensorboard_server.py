"""TensorBoard under the names of the runs, started and stopped as a person does."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from translator.errors import InputError, Interrupted
from translator.signals import StopRequest
from translator.tensorboard_server import link_runs, serve_tensorboard

PATIENCE = 120.0


def test_each_run_has_a_link_of_its_name(tmp_path: Path) -> None:
    runs, links = tmp_path / "runs", tmp_path / "links"
    for name in ("sample", "bench/search", ".hidden/run"):
        (runs / name / "tensorboard").mkdir(parents=True)
    (runs / "sample" / "evaluation").mkdir()
    link_runs(runs, links)
    (runs / "later" / "tensorboard").mkdir(parents=True)
    link_runs(runs, links)
    found = {path.relative_to(links).as_posix(): path.resolve() for path in links.rglob("*") if path.is_symlink()}
    assert found == {name: (runs / name / "tensorboard").resolve() for name in ("sample", "bench/search", "later")}


def test_a_folder_that_is_a_run_has_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "sample" / "tensorboard").mkdir(parents=True)
    link_runs(tmp_path / "sample", tmp_path / "links")
    assert [path.name for path in (tmp_path / "links").iterdir()] == ["sample"]


def test_a_run_that_was_moved_is_there_under_its_new_name(tmp_path: Path) -> None:
    runs, links = tmp_path / "runs", tmp_path / "links"
    links.mkdir()
    (runs / "exp" / "tensorboard").mkdir(parents=True)
    (runs / "old" / "tensorboard").mkdir(parents=True)
    link_runs(runs, links)
    (runs / "exp").rename(runs / "moved")
    (runs / "exp").mkdir()
    (runs / "moved").rename(runs / "exp" / "seed1")
    shutil.rmtree(runs / "old")
    link_runs(runs, links)
    assert [path.relative_to(links).as_posix() for path in links.rglob("*") if path.is_symlink()] == ["exp/seed1"]
    assert (links / "exp" / "seed1").resolve() == (runs / "exp" / "seed1" / "tensorboard").resolve()


def test_a_run_may_be_called_tensorboard(tmp_path: Path) -> None:
    for name in ("tensorboard", "sample"):
        (tmp_path / "runs" / name / "tensorboard").mkdir(parents=True)
    link_runs(tmp_path / "runs", tmp_path / "links")
    assert {path.name for path in (tmp_path / "links").iterdir()} == {"tensorboard", "sample"}


def test_a_signal_at_its_start_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = StopRequest()
    started: list[subprocess.Popen[bytes]] = []

    def start(command: list[str], cwd: str) -> "subprocess.Popen[bytes]":
        stop.receive(signal.SIGTERM)
        started.append(popen([sys.executable, "-c", "import time; time.sleep(600)"], cwd=cwd))
        return started[0]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(Interrupted):
        serve_tensorboard(tmp_path, 0, stop)
    assert started[0].poll() == -signal.SIGTERM


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder .*nowhere; train a run first"):
        serve_tensorboard(tmp_path / "nowhere", 0, StopRequest())
    with pytest.raises(InputError, match="--port 65536: a port is a number from 0 to 65535"):
        serve_tensorboard(tmp_path, 65536, StopRequest())


def test_a_taken_port_is_a_mistake_of_the_user(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=r"exit code [1-9].*translator tensorboard --port"):
            serve_tensorboard(tmp_path, port, StopRequest())


def test_it_shows_all_runs_until_it_is_stopped(tmp_path: Path) -> None:
    for name in ("sample", "tuned/second"):
        folder = tmp_path / "runs" / name / "tensorboard"
        folder.mkdir(parents=True)
        with_a_point(folder)
    command = [sys.executable, "-m", "translator", "tensorboard", "runs", "--port", "0"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        address = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))
        shown: list[str] = []
        deadline = time.monotonic() + PATIENCE
        while len(shown) < 2 and time.monotonic() < deadline:  # it answers before it has read the files
            time.sleep(0.2)
            with urllib.request.urlopen(f"{address}data/runs", timeout=PATIENCE) as answer:
                shown = json.load(answer)
        assert sorted(shown) == ["sample", "tuned/second"]
        process.terminate()
        assert process.wait(PATIENCE) == 143
    finally:  # TensorBoard has the pipe as well, and would keep a reader of it waiting
        process.terminate()
        process.wait(PATIENCE)
        process.stderr.close()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address, timeout=PATIENCE)  # nothing is left behind


def with_a_point(folder: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        writer.add_scalar("train/loss", 1.0, 1)
