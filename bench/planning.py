"""Planning: how much private memory each rank of a machine needs for the plan of an epoch.

Private memory is what a process alone has (RssAnon of Linux). The pages of mapped files belong to the system: all ranks
share them, and the system writes them out when memory is short.
"""

import contextlib
import itertools
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from bench.generated import GeneratedData, write_tokens
from bench.options import Options
from bench.processes import Answer, Worker, serve
from translator.data import DataPosition
from translator.data.machine_folder import MachineFolder
from translator.run.storage import write_json

PAIRS: Final = 4_000_000
VOCABULARY: Final = 8_000
ROWS: Final = 256  # of a batch
ROW_LENGTH: Final = 128
BATCHES: Final = 20  # that a rank reads
RANKS: Final = (1, 2)
_POLL: Final = 0.005  # seconds between two looks at the memory
_MIB: Final = 1024.0


def bench(options: Options, pairs: int = PAIRS) -> Iterator[str]:
    """Yield the lines of a report on the memory of planning, and write all figures to planning.json."""
    yield f"planning an epoch of {pairs:,} pairs: private memory of each rank beyond that of its libraries"
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        write_tokens(Path(folder), pairs, VOCABULARY, ROW_LENGTH)
        for ranks in RANKS:
            machine = Path(folder) / f"machine-{ranks}"
            machine.mkdir()
            commands = []
            for rank in range(ranks):
                commands.append(["-m", "bench.planning", folder, str(machine), str(pairs), str(rank), str(ranks)])
            with Worker(f"{ranks} ranks", commands) as worker:
                answers = worker.ask("plan")
            results[str(ranks)] = answers
            for rank, answer in enumerate(answers):
                yield (
                    f"  rank {rank} of {ranks}: at most {answer['peak_mib']:,.0f} MiB, {answer['mib']:,.0f} MiB after "
                    f"{BATCHES} batches; the first batch came after {answer['seconds']:.1f} s"
                )
    write_json(options.output / "planning.json", results)
    yield f"  written: {options.output}/planning.json"


def private_mib() -> float:
    """Return the private memory of this process in MiB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / _MIB
    return 0.0


class PeakMemory:
    """Watches the private memory of this process while the block runs."""

    def __enter__(self) -> "PeakMemory":
        self.mib = private_mib()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_POLL):
            self.mib = max(self.mib, private_mib())


def rank_of(data: GeneratedData, machine: MachineFolder) -> Mapping[str, Callable[..., Answer]]:
    """Return the verbs of one rank."""

    def plan() -> Answer:
        before = private_mib()
        began = time.perf_counter()
        steps = data.training_batches.steps(
            DataPosition(), 1, machine.local_rank, machine.local_world_size, machine=machine
        )
        with PeakMemory() as peak, contextlib.closing(steps):
            next(steps)
            seconds = time.perf_counter() - began
            for _ in itertools.islice(steps, BATCHES - 1):
                pass
            after = private_mib()
        # The watcher may have missed the last change.
        return {"seconds": seconds, "mib": after - before, "peak_mib": max(peak.mib, after) - before}

    return {"plan": plan}


def main(folder: str, machine: str, pairs: str, rank: str, ranks: str) -> int:
    """Answer the requests of `bench`, as one rank of several."""
    data = GeneratedData(Path(folder), int(pairs), rows=ROWS, row_length=ROW_LENGTH)
    return serve(lambda: rank_of(data, MachineFolder(Path(machine), int(rank), int(ranks))))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
