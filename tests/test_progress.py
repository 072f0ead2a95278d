"""Progress where there is no terminal: plain lines, not too many."""

import sys

import pytest
from tqdm import tqdm

from translator import progress
from translator.progress import duration, end_within, progress_bar


class Clock:
    """A clock that stands still unless it is moved."""

    now = 5000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("translator.progress.time.monotonic", clock)
    return clock


Capture = pytest.CaptureFixture[str]


def test_training_is_told_in_plain_lines(clock: Clock, capsys: Capture) -> None:
    bar: tqdm[object] = progress_bar(description="training", total=6000, initial=1000, unit="step")
    with bar:
        for _ in range(250):
            clock.now += 0.9
            bar.update()
            bar.set_postfix_str("loss 3.412  5,210 tokens/s")
    text = capsys.readouterr().err
    lines = text.splitlines()
    assert lines[-2] == "training: step 1,240/6,000  loss 3.412  5,210 tokens/s  1 h 11 min left"
    assert lines[-1] == "training: step 1,250/6,000  loss 3.412  5,210 tokens/s  in 4 min"
    assert len(lines) <= 250 * 0.9 / progress.SECONDS_BETWEEN_LINES + 1
    assert not {"\r", "\x1b", "\b"} & set(text)


def test_the_time_left_is_that_of_the_end_which_comes_first(clock: Clock, capsys: Capture) -> None:
    bar: tqdm[object] = progress_bar(description="training", total=1000, unit="step")
    clock.now += 50  # of getting ready
    end_within(bar, 300)
    with bar:
        clock.now += 100
        bar.update(100)  # at this rate the total is reached after 1,000 seconds, the time is over after 300
        bar.refresh()
        clock.now += 20
        bar.update(800)  # and now the total comes first
        bar.refresh()
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "training: step 100/1,000  0.67 step/s  3 min left",
        "training: step 900/1,000  5.29 step/s  19 s left",
    ]


def test_before_the_first_step_the_most_is_known(clock: Clock, capsys: Capture) -> None:
    bar: tqdm[object] = progress_bar(description="training", total=1000, unit="step")
    end_within(bar, 300)
    clock.now += 60
    bar.refresh()
    bar.close()
    assert capsys.readouterr().err == "training: step 0/1,000  4 min left\n"


def test_other_stages_tell_their_rate(clock: Clock, capsys: Capture) -> None:
    bar: tqdm[object] = progress_bar(description="cleaning mizan", total=1000, unit="pairs")
    clock.now += 20
    bar.update(500)
    bar.refresh()
    bar.close()
    assert capsys.readouterr().err == "cleaning mizan: 500/1,000 pairs  25 pairs/s  20 s left\n"


def test_items_are_counted_as_they_pass(clock: Clock, capsys: Capture) -> None:
    for _ in progress_bar(range(100), description="cleaning", total=100, unit="pairs"):
        clock.now += 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "cleaning: 100/100 pairs  1.00 pairs/s  in 2 min"
    assert all(line.startswith("cleaning: ") for line in lines)


def test_a_stage_without_a_known_end(clock: Clock, capsys: Capture) -> None:
    bar: tqdm[object] = progress_bar(description="reading", unit=" lines")
    with bar:
        clock.now += 2
        bar.update(5)
    assert capsys.readouterr().err == "reading: 5 lines  2.50 lines/s  in 2 s\n"


def test_a_line_of_the_log_stands_between_without_control_codes(clock: Clock, capsys: Capture) -> None:
    bar: tqdm[object] = progress_bar(description="reading", unit="lines")
    with bar:
        bar.update(5)
        tqdm.write("a message", file=sys.stderr)
    assert capsys.readouterr().err == "a message\nreading: 5 lines  in 0 s\n"


def test_on_a_terminal_it_is_a_bar(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar: tqdm[object] = progress_bar(description="training", total=10, unit="step")
    with bar:
        bar.update(10)
    text = capsys.readouterr().err
    assert "\r" in text
    assert "100%" in text


def test_on_a_terminal_too_the_earlier_end_counts(
    clock: Clock, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("tqdm.std.time", clock)
    bar: tqdm[object] = progress_bar(description="training", total=1000, unit="step")
    end_within(bar, 300)
    with bar:
        clock.now += 60
        bar.update(10)
        shown = str(bar)
    assert "10/1000 [01:00<04:00," in shown
    capsys.readouterr()


def test_a_silent_bar_on_a_terminal_shows_nothing(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar: tqdm[object] = progress_bar(description="training", total=10, unit="step", silent=True)
    with bar:
        end_within(bar, 300)
        bar.update(3)
        bar.set_postfix_str("loss 3.4")
        assert str(bar)
    assert capsys.readouterr().err == ""


def test_durations_as_a_person_says_them() -> None:
    seconds = (-1, 0, 59.4, 60, 3000, 3600, 11_100, 23.9 * 3600, 100 * 3600)
    spoken = [duration(one) for one in seconds]
    assert spoken == ["0 s", "0 s", "59 s", "1 min", "50 min", "1 h 00 min", "3 h 05 min", "23 h 54 min", "4 d 4 h"]
