"""When a search waits for a GPU.

A GPU works later than the program: each operation only enters a queue, and the program runs ahead. It must wait for the
GPU wherever it reads a value, such as the number of sentences that have ended. A search that reads a value in each step
leaves the GPU idle while the operations of the next step enter the queue. So it reads every few steps. Sentences that
have ended meanwhile stay in the batch, and find nothing more.
"""

from typing import Final

import torch

STEPS_BETWEEN_READS: Final = 4
"""On a GPU. A sentence that has ended stays two steps too long on average; a search has about 30 steps."""


def runs_behind(device: torch.device) -> bool:
    """Return whether the program has to wait for `device` in order to read a value."""
    return device.type == "cuda"


def reads_ends(length: int, device: torch.device) -> bool:
    """Return whether a search on `device` reads, after the step to hypotheses of `length`, which sentences have ended.

    >>> [length for length in range(1, 10) if reads_ends(length, torch.device("cuda"))]
    [4, 8]
    """
    return not runs_behind(device) or length % STEPS_BETWEEN_READS == 0
