"""Stop signals end work at once where nothing is at stake, and at a safe point where something is."""

import os
import signal
import subprocess
import sys
import time

import pytest

from translator.errors import Interrupted
from translator.run import signals
from translator.run.signals import stop_on_signals

CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_signal_stops_at_once(number: int, code: int) -> None:
    with pytest.raises(Interrupted) as caught, stop_on_signals():
        os.kill(os.getpid(), number)
        pytest.fail("the signal was ignored")
    assert caught.value.exit_code == code


def test_a_deferred_signal_waits_for_the_check() -> None:
    with stop_on_signals() as stop:
        done = []
        with stop.deferred():
            stop.check()
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("the step was not torn apart")
            assert stop.requested
            with pytest.raises(Interrupted):
                stop.check()
        assert done


def test_inside_a_deferred_stretch_another_may_be_stopped_at_once() -> None:
    with stop_on_signals() as stop, stop.deferred():
        with pytest.raises(Interrupted), stop.immediate():
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("the signal was held back")
        assert stop.is_deferred
    with stop_on_signals() as stop, stop.deferred():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Interrupted), stop.immediate():
            pytest.fail("a signal that has come before was forgotten")


@pytest.mark.parametrize("pair", [(signal.SIGINT, signal.SIGTERM), (signal.SIGHUP, signal.SIGHUP)])
def test_what_terminals_and_launchers_send_together_is_one_request(
    pair: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Interrupted) as caught, stop_on_signals() as stop, stop.deferred():
        os.kill(os.getpid(), pair[0])
        os.kill(os.getpid(), pair[1])
        with pytest.raises(Interrupted) as first:
            stop.check()
        assert first.value.signal_number == pair[0]
        monkeypatch.setattr(signals, "_ONE_REQUEST", 0.0)
        os.kill(os.getpid(), pair[1])
        pytest.fail("a signal that came later was ignored")
    assert caught.value.signal_number == pair[1]


def test_the_old_handlers_come_back() -> None:
    before = [signal.getsignal(number) for number, _ in CODES]
    with stop_on_signals():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number, _ in CODES] == before
    assert signal.set_wakeup_fd(-1) == -1


PROGRAM = """
import contextlib, sys, threading, time
from translator.run import signals
from translator.errors import Interrupted
signals.PATIENCE, signals.PATIENCE_AGAIN = {patience}, 0.2
def stubborn():
    while True:
        with contextlib.suppress(Interrupted):
            time.sleep(20)
try:
    with signals.stop_on_signals() as stop, {where}:
        threading.Timer(0.1, print, ("ready",), {{"flush": True}}).start()  # while the work is being done
        {work}
except Interrupted as interrupted:
    sys.exit(interrupted.exit_code)
"""


def program(work: str, *, where: str = "contextlib.nullcontext()", patience: float = 60.0) -> subprocess.Popen[bytes]:
    """Start a program of its own that does `work`, and wait until it has begun."""
    script = PROGRAM.format(work=work, where=where, patience=patience)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


IN_A_LIBRARY = "__import__('hashlib').pbkdf2_hmac('sha256', b'', b'', 80_000_000)"
"""Some 30 seconds in one call of a library, which lets other threads run and sees no signal."""


def test_a_first_signal_ends_a_long_call_into_a_library() -> None:
    process = program(IN_A_LIBRARY, patience=0.2)
    process.send_signal(signal.SIGTERM)
    assert process.communicate() == (b"", b"translator: stopped at once by signal 15\n")
    assert process.returncode == 143


def test_where_something_is_at_stake_only_a_second_signal_does() -> None:
    process = program(IN_A_LIBRARY, where="stop.deferred()", patience=0.1)
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.6)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 143


def test_a_second_signal_ends_a_program_that_holds_on_to_life() -> None:
    process = program("stubborn()")
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130


def test_nohup_is_respected() -> None:
    script = (
        "import os, signal\nfrom translator.run.signals import stop_on_signals\n"
        "with stop_on_signals() as stop:\n    os.kill(os.getpid(), signal.SIGHUP)\n    print(stop.requested)"
    )
    done = subprocess.run(["nohup", sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"False\n"
