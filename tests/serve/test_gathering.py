"""Lines of several requests in one batch: each line once, nobody waits for ever, nothing beyond the bounds."""

import asyncio
from collections import deque
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from translator.serve.gathering import gather
from translator.serve.job import Form, Job

ONE, TWO = Form(1, False), Form(2, True)


def job(*lines: str, form: Form = ONE, answer: Any = None) -> Job:
    return Job(lines, form, answer or asyncio.Future(loop=LOOP))


LOOP = asyncio.new_event_loop()
LOOP.close()  # futures only need to know one

REQUESTS = st.lists(
    st.tuples(st.lists(st.text(alphabet="ab", max_size=9), min_size=1, max_size=6), st.sampled_from([ONE, TWO])),
    max_size=8,
)


@settings(deadline=None)
@given(REQUESTS, st.integers(1, 5), st.integers(1, 12))
def test_each_line_once_within_bounds(requests: list[tuple[list[str], Form]], lines: int, characters: int) -> None:
    jobs = [job(*texts, form=form) for texts, form in requests]
    waiting, taken = deque(jobs), []
    while parts := gather(waiting, lines, characters):
        assert len(parts) <= lines
        assert sum(len(part.text) for part in parts[:-1]) < characters
        assert len({part.job.form for part in parts}) == 1
        taken += [(jobs.index(part.job), part.number) for part in parts]
    assert sorted(taken) == [(place, number) for place, one in enumerate(jobs) for number in range(len(one.lines))]
    assert not waiting


def test_a_long_request_lets_the_short_ones_by() -> None:
    waiting = deque([job(*"abcdefgh"), job("x"), job("y")])
    assert [part.text for part in gather(waiting, 4, 100)] == ["a", "x", "y", "b"]


def test_another_form_is_next_even_if_a_long_request_came_first() -> None:
    waiting = deque([job(*"abcdefgh"), job("x", form=TWO)])
    assert [part.text for part in gather(waiting, 4, 100)] == ["a", "b", "c", "d"]
    assert [part.text for part in gather(waiting, 4, 100)] == ["x"]


def test_what_nobody_wants_is_left_out() -> None:
    gone: asyncio.Future[Any] = asyncio.Future(loop=LOOP)
    gone.set_result([])
    assert [part.text for part in gather(deque([job("a", answer=gone), job("b")]), 4, 100)] == ["b"]
