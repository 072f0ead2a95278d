"""Stop signals end work at once where nothing is at stake, and at a safe point where something is."""

import os
import signal

import pytest

from translator.errors import Interrupted
from translator.signals import stop_on_signals


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
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


def test_a_second_signal_does_not_wait() -> None:
    with pytest.raises(Interrupted), stop_on_signals() as stop, stop.deferred():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the second signal was ignored")


def test_the_old_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with stop_on_signals():
        assert signal.getsignal(signal.SIGTERM) != before[0]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
