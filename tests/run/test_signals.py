"""Stop signals end work at once, or at the next safe point where they are deferred."""

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
def test_signal_interrupts_work_at_once_with_its_exit_code(number: int, code: int) -> None:
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
            done.append("the step was not interrupted")
            assert stop.requested
            with pytest.raises(Interrupted):
                stop.check()
        assert done


def test_an_immediate_block_inside_a_deferred_block_stops_at_once() -> None:
    with stop_on_signals() as stop, stop.deferred():
        with pytest.raises(Interrupted), stop.immediate():
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("the signal was deferred")
        assert stop.is_deferred


def test_an_immediate_block_stops_at_a_signal_that_came_before_it() -> None:
    with stop_on_signals() as stop, stop.deferred():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Interrupted), stop.immediate():
            pytest.fail("a signal received before the block was forgotten")


@pytest.mark.parametrize("pair", [(signal.SIGINT, signal.SIGTERM), (signal.SIGHUP, signal.SIGHUP)])
def test_signals_sent_together_count_as_one_stop_request(
    pair: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first_signal, second_signal = pair
    with pytest.raises(Interrupted) as interruption, stop_on_signals() as stop, stop.deferred():
        os.kill(os.getpid(), first_signal)
        os.kill(os.getpid(), second_signal)
        with pytest.raises(Interrupted) as deferred_interruption:
            stop.check()
        assert deferred_interruption.value.signal_number == first_signal

        # From now on, each signal is a request of its own.
        monkeypatch.setattr(signals, "_ONE_REQUEST", 0.0)
        os.kill(os.getpid(), second_signal)
        pytest.fail("a signal that came later was ignored")
    assert interruption.value.signal_number == second_signal


def test_previous_signal_handlers_are_restored() -> None:
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
    """Start a separate process that does `work`, and wait until it is running."""
    script = PROGRAM.format(work=work, where=where, patience=patience)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


IN_A_LIBRARY = "__import__('hashlib').pbkdf2_hmac('sha256', b'', b'', 80_000_000)"
"""One library call of about 30 seconds that lets other threads run and handles no signal."""


def test_a_first_signal_ends_a_long_call_into_a_library() -> None:
    process = program(IN_A_LIBRARY, patience=0.2)
    process.send_signal(signal.SIGTERM)
    assert process.communicate() == (b"", b"translator: stopped at once by signal 15\n")
    assert process.returncode == 143


def test_deferred_library_call_ends_only_at_a_second_signal() -> None:
    process = program(IN_A_LIBRARY, where="stop.deferred()", patience=0.1)
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.6)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 143


def test_second_signal_ends_a_program_that_suppresses_the_first() -> None:
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
