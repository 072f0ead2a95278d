"""Which lines of which requests are searched together."""

from collections import deque
from typing import NamedTuple

from translator.serve.job import Job


class Part(NamedTuple):
    """One line of a request."""

    job: Job
    number: int
    """Of the line, from 0."""

    @property
    def text(self) -> str:
        """The line."""
        return self.job.lines[self.number]


def gather(waiting: deque[Job], lines: int, characters: int) -> list[Part]:
    """Take the next lines to be searched together, at least one where any is left.

    All have the form of the request that has waited longest. Each request of that form gives a line in turn, so that
    a long one does not keep the short ones waiting; those that have lines left then go to the end of the queue, so
    that no form waits for ever.

    Args:
        waiting: the requests in their order; those with nothing left to take, or unwanted, are removed.
        lines: how many at most.
        characters: how many in all lines at most; the first line is taken however long it is.
    """
    left = [job for job in waiting if job.is_wanted and job.has_more]
    turns = deque(job for job in left if job.form == left[0].form)
    others = [job for job in left if job.form != left[0].form]
    taken: list[Part] = []
    room = characters
    while turns and len(taken) < lines and room > 0:
        job = turns.popleft()
        part = Part(job, job.take())
        taken.append(part)
        room -= len(part.text)
        if job.has_more:
            turns.append(job)
    waiting.clear()
    waiting.extend([*others, *turns])
    return taken
