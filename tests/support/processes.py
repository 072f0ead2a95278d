"""Processes that a test waits for."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest


def wait_for(done: Callable[[], bool]) -> None:
    for _ in range(1200):
        if done():
            return
        time.sleep(0.1)
    pytest.fail("it did not happen in two minutes")


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
