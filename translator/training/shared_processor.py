"""Training on a processor that other programs use too: a warning, and fewer threads where that costs no bits."""

from typing import Final

import torch

from translator.config import Config
from translator.run.logging import LOGGER
from translator.run.workers import Neighbours, available_cores

_BUSY: Final = 0.7  # CPU share below which other programs are reported


class SharedProcessor:
    """Observes how much of the processor a run gets.

    Threads that wait for a thread without a core cost most of the speed. The number of threads changes the order of
    sums, so it changes only in runs that are not bit-reproducible anyway: those with a schedule by time.
    """

    def __init__(self, config: Config, device: torch.device, world_size: int) -> None:
        self._threads = torch.get_num_threads()
        by_time = config.training.schedule_clock == "minutes"
        self._adapts = by_time and config.run.threads == 0 and world_size == 1 and device.type == "cpu"
        self._neighbours = Neighbours()
        self._warned = False

    def give_way(self, cpu_share: float) -> None:
        """Warn, once, if the last updates had less than their share; compute with the free cores only, if permitted.

        `cpu_share` is the processor time of this thread, between 0 and 1 of the time.
        """
        cores_taken = self._neighbours.cores_taken()
        if cpu_share < _BUSY and not self._warned:
            self._warned = True
            LOGGER.warning(
                f"training had the processor for only {cpu_share:.0%} of the time: other programs compute on this "
                "machine. Stop them, or leave them cores (run.threads is the number of threads that training uses)"
            )
        threads = max(1, min(self._threads, available_cores() - round(cores_taken)))
        if self._adapts and threads != torch.get_num_threads():
            LOGGER.info("other programs use %.1f cores: the number of training threads is now %d", cores_taken, threads)
            torch.set_num_threads(threads)

    def restore(self) -> None:
        """Compute with the threads of the beginning again."""
        torch.set_num_threads(self._threads)
