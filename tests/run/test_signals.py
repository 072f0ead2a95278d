"""Stop signals end work at once, or at the next safe point where they are deferred."""

import os
import signal
import subprocess
import sys

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


@pytest.mark.parametrize("is_early", [False, True])
def test_an_immediate_block_inside_a_deferred_one_stops_at_a_signal_in_it_or_before_it(is_early: bool) -> None:
    with stop_on_signals() as stop, stop.deferred():
        if is_early:
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Interrupted), stop.immediate():
            assert not is_early, "a signal received before the block was forgotten"
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("the signal was deferred")
        assert stop.is_deferred


@pytest.mark.parametrize("pair", [(signal.SIGINT, signal.SIGTERM), (signal.SIGHUP, signal.SIGHUP)])
def test_signals_sent_together_count_as_one_stop_request(
    pair: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first_signal, second_signal = pair
    went_on_after_both = False
    with pytest.raises(Interrupted) as interruption, stop_on_signals() as stop, stop.deferred():
        os.kill(os.getpid(), first_signal)
        os.kill(os.getpid(), second_signal)
        went_on_after_both = True
        with pytest.raises(Interrupted) as deferred_interruption:
            stop.check()
        assert deferred_interruption.value.signal_number == first_signal

        # From now on, each signal is a request of its own.
        monkeypatch.setattr(signals, "_ONE_REQUEST", 0.0)
        os.kill(os.getpid(), second_signal)
        pytest.fail("a signal that came later was ignored")
    assert went_on_after_both
    assert interruption.value.signal_number == second_signal


def test_previous_signal_handlers_are_restored() -> None:
    before = [signal.getsignal(number) for number, _ in CODES]
    with stop_on_signals():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number, _ in CODES] == before


def test_nohup_is_respected() -> None:
    script = (
        "import os, signal\nfrom translator.run.signals import stop_on_signals\n"
        "with stop_on_signals() as stop:\n    os.kill(os.getpid(), signal.SIGHUP)\n    print(stop.requested)"
    )
    done = subprocess.run(["nohup", sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"False\n"
