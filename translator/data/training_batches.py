"""The batches of training: a pure function of seed, epoch and row, the same for any number of ranks.

1. Draw the pairs of an epoch from each source, by its weight.
2. Plan its rows: put the pairs, in random order, into rows of L positions, by the exact lengths of their texts.
3. Cut the rows into batches of R, and collate those of this rank, with the text that the epoch gives each pair.

Properties: every batch has one shape; a run resumes exactly from an epoch and a row; ranks share each batch, so their
number does not change the training. The price is that changed text is encoded twice: once for the plan, which needs
its length, and once for its batch. The next epoch is planned in a process of its own while this one trains. For a GPU,
other processes make the batches ahead.

R rows of a batch, L positions of a row, N pairs
"""

import contextlib
import functools
import itertools
import math
import signal
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from translator.core.batch import Batch, Numbers, StepBatches, collate
from translator.core.packing import RowPlan, plan_rows
from translator.data.epoch_text import EpochText
from translator.data.mixture import Draws, epoch_draws, epoch_generator
from translator.errors import CheckpointError
from translator.run.signals import STOP_SIGNALS
from translator.run.workers import WorkerPool, available_cores, result_of
from translator.subword.block_encoding import FlatRows

BATCHES_AHEAD: Final = 8  # that each process makes for a GPU
_MOST_WORKERS: Final = 8  # processes that make batches for a GPU
_PAIRS_AT_ONCE: Final = 4096  # changed and encoded for a plan; more would fill the memory
_WORTH_A_PROCESS: Final = 20_000  # pairs of an epoch, whose next plan is made ahead
_NICENESS: Final = 5  # lowers the priority of planning during training, without starving it


@dataclass(frozen=True)
class DataPosition:
    """Where a batch begins in the data: at a row of the plan of an epoch, both from 0."""

    epoch: int = 0
    row: int = 0


class PlannedBatch(NamedTuple):
    """The pairs of one rank's rows of a batch: all that a process needs to make it, and what follows it."""

    draws: Draws  # (N,)
    pair_counts: Numbers  # (R,) number of pairs in each row; 0 for an empty row
    target_tokens: int  # of all ranks
    next_position: DataPosition  # where the next batch begins


class EpochPlan(NamedTuple):
    """The pairs of an epoch and its division into rows."""

    draws: Draws  # (N,)
    rows: RowPlan  # its numbers are places in `draws`
    target_lengths: NDArray[np.int32]  # (N,) tokens of each target sentence, EOS included

    def batch(self, begin: int, batch_rows: int, rank: int, world_size: int) -> PlannedBatch:
        """Return the part of `rank` in the batch of `batch_rows` rows that begins at row `begin` of the epoch."""
        # 1. Each rank takes equally many consecutive rows; rows after the end of the epoch are empty.
        end = min(begin + batch_rows, len(self.rows))
        rows_of_rank = math.ceil(batch_rows / world_size)
        begin_of_rank = min(begin + rank * rows_of_rank, end)
        end_of_rank = min(begin_of_rank + rows_of_rank, end)
        places_of_rank = self.rows.pairs_of(begin_of_rank, end_of_rank)

        # 2. All ranks share the number of target tokens in the whole batch, and the place after the batch.
        places = self.rows.pairs_of(begin, end)
        epoch = self.draws.epoch
        return PlannedBatch(
            draws=self.draws.at(places_of_rank),
            pair_counts=self.rows.pair_counts(begin_of_rank, end_of_rank, rows_of_rank),
            target_tokens=int(self.target_lengths[places].sum()),
            next_position=DataPosition(epoch, end) if end < len(self.rows) else DataPosition(epoch + 1, 0),
        )


def batch_of(source: FlatRows, target: FlatRows, pairs: Numbers, pair_counts: Numbers, row_length: int) -> Batch:
    """Return the batch of N pairs, given by their ids and numbers, of which `pair_counts` (R,) share each row."""
    return collate(
        source_ids=source.ids,
        target_ids=target.ids,
        source_lengths=source.lengths + 1,
        target_lengths=target.lengths + 1,
        pairs=pairs,
        pair_counts=pair_counts,
        row_length=row_length,
    )


@dataclass(frozen=True)
class TrainingBatches(Dataset[tuple[Batch, PlannedBatch]]):
    """All that decides the batches of training; any process makes a batch from its plan."""

    text: EpochText
    rows: int  # R
    draw_counts: tuple[int, ...]  # pairs of each source in an epoch

    def steps(
        self,
        position: DataPosition,
        accumulation: int,
        rank: int = 0,
        world_size: int = 1,
        *,
        on_gpu: bool = False,
    ) -> Generator[StepBatches, None, None]:
        """Yield the batches of `rank` for each update from `position`, endlessly; close the iterator after use.

        The batches depend only on seed, epoch and row, so iteration resumes exactly from a saved position. An epoch has
        every usable pair once, unless weights or a temperature change the mixture.

        Args:
            position: where the first batch begins: an epoch and a row.
            accumulation: batches of an update, the same for any number of ranks; they may extend into the next epoch.
            world_size: ranks that share each batch; each takes an equal number of its rows.
            on_gpu: whether the batches go to a GPU; then other processes make them, in page-locked memory.
        """
        assert accumulation >= 1
        assert 0 <= rank < world_size
        with contextlib.closing(self._planned_batches(position, rank, world_size)) as planned_batches:
            batches = iter(self._loader(planned_batches, on_gpu))
            # An update takes the next `accumulation` batches; the next update begins after the last of these.
            while True:
                micro_batches = list(itertools.islice(batches, accumulation))
                _, last_planned = micro_batches[-1]
                yield StepBatches(
                    batches=tuple(batch for batch, _ in micro_batches),
                    target_tokens=sum(planned.target_tokens for _, planned in micro_batches),
                    next_position=last_planned.next_position,
                )

    def __getitem__(self, planned: PlannedBatch) -> tuple[Batch, PlannedBatch]:
        """Return the batch of `planned`, with its plan."""
        source, target = self.text.ids(planned.draws)
        return batch_of(source, target, planned.draws.pairs, planned.pair_counts, self.text.max_length), planned

    def _loader(self, planned_batches: Iterable[PlannedBatch], on_gpu: bool) -> Iterable[tuple[Batch, PlannedBatch]]:
        """Return the batches with their plans; they are made here, or ahead by other processes for a GPU."""
        settings: dict[str, Any] = {}
        if on_gpu:
            settings = {
                "num_workers": min(_MOST_WORKERS, max(1, available_cores() - 1)),
                "prefetch_factor": BATCHES_AHEAD,
                "multiprocessing_context": "spawn",
                "worker_init_fn": _ignore_stop_signals,
                "pin_memory": True,
            }
        # Without a `batch_size`, an entry of the sampler gives a whole batch, and nothing collates it once more.
        return DataLoader(self, batch_size=None, sampler=planned_batches, collate_fn=_unchanged, **settings)

    def _planned_batches(
        self, position: DataPosition, rank: int, world_size: int
    ) -> Generator[PlannedBatch, None, None]:
        """Yield each batch from `position` on, with the rows of `rank`."""
        row = position.row  # 0 in all later epochs
        with contextlib.closing(self._plans(position.epoch)) as plans:
            for plan in plans:
                # Only a saved position can lie after the last row.
                row_count = len(plan.rows)
                if row >= row_count:
                    raise CheckpointError(
                        f"the run would resume at row {row} of epoch {plan.draws.epoch}, which has {row_count} rows: "
                        "the newest checkpoint is damaged; delete its folder to resume from the one before it"
                    )
                for begin in range(row, row_count, self.rows):
                    yield plan.batch(begin, self.rows, rank, world_size)
                row = 0

    # --- the plans ---

    def _plans(self, first: int) -> Generator[EpochPlan, None, None]:
        """Yield the plan of epoch `first` and of all later ones; each is made ahead, while the one before is read."""
        # A small plan takes less time than the start of a process.
        if sum(self.draw_counts) < _WORTH_A_PROCESS:
            yield from map(self.plan, itertools.count(first))  # endless: nothing below runs
        plan = self.plan(first)
        with contextlib.closing(WorkerPool(functools.partial(_planner, self), 1, _NICENESS)) as pool:
            for epoch in itertools.count(first + 1):
                next_plan = pool.submit(epoch)
                yield plan
                plan = result_of(next_plan)

    def plan(self, epoch: int) -> EpochPlan:
        """Return the plan of `epoch`."""
        # 1. The pairs that the epoch draws, their changes, and their stored lengths, which include a special token.
        store = self.text.store
        seed = self.text.seed
        row_length = self.text.max_length
        generator = epoch_generator(seed, epoch)
        plain_draws = epoch_draws(store.usable_by_source(row_length), self.draw_counts, seed, epoch)
        draws = self.text.with_changes(plain_draws, generator)
        stored_source, stored_target = store.lengths(draws.pairs)
        source_lengths = stored_source.astype(np.int32)
        target_lengths = stored_target.astype(np.int32)

        # 2. The lengths of the pairs that the epoch changes; here the special token is added.
        changed_places = np.flatnonzero(self.text.is_changed(draws))
        for begin in range(0, len(changed_places), _PAIRS_AT_ONCE):
            places = changed_places[begin : begin + _PAIRS_AT_ONCE]
            changed_source, changed_target = self.text.lengths(draws.at(places))
            source_lengths[places] = changed_source + 1
            target_lengths[places] = changed_target + 1

        # 3. The rows.
        rows = plan_rows(source_lengths, target_lengths, row_length, generator)
        return EpochPlan(draws, rows, target_lengths)


def _planner(batches: TrainingBatches) -> Callable[[int], EpochPlan]:
    """Return the function that plans an epoch, for a process that keeps the files of `batches` open."""
    return batches.plan


def _unchanged(batch: Any) -> Any:
    return batch


def _ignore_stop_signals(_: int) -> None:
    """Leave it to the training process what a signal means: a terminal sends it to all."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
