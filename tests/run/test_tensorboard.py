"""The verb `tensorboard` shows each run under the name of its folder."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from torch.utils.tensorboard import SummaryWriter

PATIENCE = 120.0  # seconds


def shown_runs(folder: Path, expected: list[str]) -> list[str]:
    """Return the names of runs that TensorBoard shows for `folder`, once they are as many as expected."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        _, port = unused.getsockname()
    command = [sys.executable, "-m", "translator", "tensorboard", str(folder), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    names: list[str] = []
    try:
        while len(names) < len(expected) and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.2)
            try:
                with urllib.request.urlopen(f"http://localhost:{port}/data/runs", timeout=PATIENCE) as answer:
                    names = json.load(answer)
            except OSError:
                continue
    finally:
        process.terminate()
        process.wait()
    return sorted(names)


@pytest.mark.parametrize(("folder", "names"), [("runs", ["a", "group/b"]), ("runs/a", ["a"])])
def test_a_run_is_shown_under_the_name_of_its_folder(tmp_path: Path, folder: str, names: list[str]) -> None:
    for name in ("a", "group/b"):
        with SummaryWriter(str(tmp_path / "runs" / name / "tensorboard")) as events:
            events.add_scalar("loss/train", 1.0, 1)
    assert shown_runs(tmp_path / folder, names) == names
