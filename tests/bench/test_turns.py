"""Interleaved timing: everybody's turn comes in every round, and ratios are taken inside a round."""

import pytest

from bench.turns import SpeedComparison, Timing, report_comparison, take_turns


def test_everybody_has_a_turn_in_every_round() -> None:
    calls: list[str] = []
    timings = take_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=3, round_seconds=0.0)
    assert [timing.name for timing in timings] == ["a", "b"]
    assert all(len(timing.seconds) == 3 for timing in timings)
    assert calls == ["a", "a", "b", "b"] + ["a", "b"] * 3  # two calls each before time is taken


def test_ratios_are_taken_inside_a_round() -> None:
    slow, quick = Timing("slow", (2.0, 20.0)), Timing("quick", (1.0, 5.0))
    assert quick.faster_than(slow) == pytest.approx([2.0, 4.0])


def test_the_report_compares_with_the_first() -> None:
    lines = report_comparison(SpeedComparison("title", {"first": lambda: None, "second": lambda: None}), 2, 0.0)
    assert lines[0] == "title" and len(lines) == 3
    assert "1.00×  (1.00 to 1.00)" in lines[1]
