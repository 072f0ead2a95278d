"""The lines of one request, and what has been found of them so far."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Found = list[dict[str, Any]]
"""The translations of one line as JSON, best first."""


@dataclass(frozen=True)
class Form:
    """What is asked for; lines of unlike forms are not searched together."""

    count: int
    """Translations of each line."""
    attention: bool


class Job:
    """A request that is not answered yet.

    Args:
        lines: what is to be translated, one or more.
        form: what is asked for.
        answer: gets what is found of all lines, in order, or the error; whoever no longer wants it cancels it.
    """

    def __init__(self, lines: Sequence[str], form: Form, answer: asyncio.Future[list[Found]]) -> None:
        assert lines
        self.lines = lines
        self.form = form
        self.answer = answer
        self._found: list[Found | None] = [None] * len(lines)
        self._taken = 0

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for the answer."""
        return not self.answer.done()

    @property
    def has_more(self) -> bool:
        """Whether lines are left that nobody has taken."""
        return self._taken < len(self.lines)

    def take(self) -> int:
        """Return the number of the next line, from 0, which the caller translates."""
        self._taken += 1
        return self._taken - 1

    def put(self, number: int, found: Found) -> None:
        """Take in what was found of a line; the last one completes the answer."""
        self._found[number] = found
        whole = [found for found in self._found if found is not None]
        if len(whole) == len(self._found) and self.is_wanted:
            self.answer.set_result(whole)

    def fail(self, problem: BaseException) -> None:
        """Answer with an error."""
        if self.is_wanted:
            self.answer.set_exception(problem)
