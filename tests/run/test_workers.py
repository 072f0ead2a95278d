"""Several processes give the results of one process, in the same order, and shut down cleanly."""

import contextlib
import errno
import itertools
import multiprocessing
import multiprocessing.process
import multiprocessing.synchronize
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from translator.errors import StorageError
from translator.run.workers import map_in_order


def squaring() -> Callable[[int], int]:
    return lambda number: number * number


def ending_at_three(killed: bool) -> Callable[[int], int]:
    def work(number: int) -> int:
        if number == 3:
            if killed:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError(f"item {number}")
        return number

    return work


@pytest.mark.parametrize("processes", [1, 2])
def test_results_keep_item_order_and_errors_are_raised_at_their_item(processes: int) -> None:
    assert list(map_in_order(squaring, range(50), processes)) == [number * number for number in range(50)]
    results = map_in_order(partial(ending_at_three, False), range(10), processes)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="item 3"):
        next(results)


def test_script_without_a_main_guard_fails_with_advice(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text("from translator.run.workers import map_in_order\nlist(map_in_order(str, range(9), 2))\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "must start its work under `if __name__ == '__main__':`" in done.stderr


def test_killed_worker_is_reported_with_advice() -> None:
    with pytest.raises(StorageError, match=r"memory may have run out: set `corpus.workers: 1`"):
        list(map_in_order(partial(ending_at_three, True), range(10), 2))


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail if what is done inside takes longer, as work that hangs does."""

    def fail(*_: object) -> None:
        raise TimeoutError(f"it took longer than {seconds} s")

    previous_handler = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous_handler)


@contextlib.contextmanager
def no_process_left() -> Iterator[None]:
    """Fail if a process that the block started is still there after it; earlier tests may have left some."""
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) <= before


def large_results() -> Callable[[int], bytes]:
    return lambda number: bytes(1 << 25)


def test_closing_while_workers_send_large_results_does_not_hang() -> None:
    with no_process_left(), at_most(60):
        for _ in range(4):
            results = map_in_order(large_results, itertools.count(), 2)
            next(results)
            results.close()


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, time\n"
        "from translator.run.workers import map_in_order\n"
        "def slow():\n"
        "    def work(number):\n"
        "        print(os.getpid(), flush=True)\n"
        "        time.sleep(600)\n"
        "    return work\n"
        "if __name__ == '__main__':\n"
        "    list(map_in_order(slow, range(10), 2))\n",
        encoding="utf-8",
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    for _ in range(2):
        assert parent.stdout.readline()
    with at_most(60):
        parent.kill()
        assert parent.communicate()[0] == "", "standard output ends when the last worker has ended"


def sleeping(folder: Path) -> Callable[[int], int]:
    def work(number: int) -> int:
        if number:
            time.sleep(60)
            (folder / str(number)).touch()
        return number

    return work


def test_closing_the_results_early_does_not_wait_for_pending_items(tmp_path: Path) -> None:
    with no_process_left():
        results = map_in_order(partial(sleeping, tmp_path), range(100), 2)
        assert next(results) == 0
        results.close()
    assert list(tmp_path.iterdir()) == [], "no item was worked on to its end"


def test_a_worker_that_cannot_start_is_reported_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", refuse)
    with pytest.raises(StorageError, match=r"cannot start a worker process .* set `corpus.workers: 1`"):
        list(map_in_order(squaring, range(4), 2))


def test_a_program_ends_when_nobody_closes_its_results(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import itertools\n"
        "from translator.run.workers import map_in_order\n"
        "def squaring():\n"
        "    return lambda number: number * number\n"
        "if __name__ == '__main__':\n"
        "    results = map_in_order(squaring, itertools.count(), 2)\n"
        "    next(results)\n"
        "    raise ValueError('a bug')\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=30, check=False)
    assert "ValueError: a bug" in done.stderr
