"""Full and read-only disks: one message, nothing half-written, and the next attempt works."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from translator.cli import main

Mount = Callable[[str], Path]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Mount]:
    """Mount a file system in memory with the given options; needs root."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("there is no mount command here")
        if done.returncode:
            pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
        return place

    yield mount
    # Lazily: token stores may still be memory-mapped, and a leftover mount would break the next test run.
    subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


def train(recipe: Path, capsys: Any, *overrides: str) -> tuple[int, str]:
    command = ["train", "--config", str(recipe)]
    for override in overrides:
        command += ["--set", override]
    code = main(command)
    errors = capsys.readouterr().err
    return code, errors[errors.rfind("translator: ") :]


def test_full_disk_in_prepare_is_reported_and_a_retry_works(small_disk: Mount, tiny_recipe: Path, capsys: Any) -> None:
    disk = small_disk("size=8k")
    code, message = train(tiny_recipe, capsys, f"corpus.prepared_directory={disk}/prepared")
    assert code == 2
    assert "the disk is full; free some space" in message
    subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
    assert train(tiny_recipe, capsys, f"corpus.prepared_directory={disk}/prepared")[0] == 0


@pytest.mark.parametrize("key", ["run.directory", "corpus.prepared_directory"])
def test_read_only_disk_is_reported_with_advice(key: str, small_disk: Mount, tiny_recipe: Path, capsys: Any) -> None:
    code, message = train(tiny_recipe, capsys, f"{key}={small_disk('ro')}/folder")
    assert code == 2
    assert "the file system is read-only; choose a folder on a writable one" in message
