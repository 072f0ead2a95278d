"""The batches of training: a pure function of seed, epoch and row, the same for any number of ranks.

R rows of a batch, L positions of a row, N pairs
"""

import contextlib
import functools
import itertools
import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import torch

from translator.corpus.prepared_corpus import Side
from translator.data.batch import Batch, DataPosition, Numbers, StepBatches, collate
from translator.data.epoch_sampling import Draws, EpochSampler, sampled_epochs
from translator.data.feeding import Check, from_another_process, read_ahead
from translator.data.mixture import epoch_draws, epoch_generator
from translator.data.packing import RowPlan, plan_rows
from translator.data.token_store import PairStore

GPU_DEPTH: Final = 8  # updates made ahead for a GPU; two cover delays of 60 ms only


class Epoch(NamedTuple):
    """The text of an epoch and its division into rows."""

    number: int  # from 0
    text: PairStore
    plan: RowPlan  # its pair numbers are those of `text`
    split_numbers: Numbers | None
    """(pairs of `text`,) the number in the split of each pair of `text`; None if `text` is the split itself."""

    def numbers_in_split(self, numbers: Numbers) -> Numbers:
        """Return the numbers in the split of the pairs `numbers` of `text`."""
        if self.split_numbers is None:
            return numbers
        return self.split_numbers[numbers]


class SharedBatch(NamedTuple):
    """A batch of which each rank has some rows."""

    rows_of_rank: Batch
    source_tokens: int  # of all ranks
    target_tokens: int
    position: DataPosition  # of the next batch


@dataclass(frozen=True)
class TrainingBatches:
    """All that decides the batches of training; picklable, so that another process can make them."""

    token_folder: Path  # the stores of the training split
    sources: tuple[str, ...]  # names of the corpus sources, in order
    sides: tuple[Side, Side]
    row_length: int  # L, `batching.max_length`; longer pairs are left out
    rows: int  # R
    drawn: tuple[int, ...]  # pairs of each source in an epoch
    seed: int
    sampler: EpochSampler | None  # None: every epoch reads the stored ids
    prepared_directory: Path  # for the sampled text
    processes: int  # that sample the first epoch, for which training waits
    processes_ahead: int = 2  # that sample the next epoch during training

    def steps(
        self,
        position: DataPosition,
        accumulation: int,
        rank: int = 0,
        world_size: int = 1,
        check: Check = lambda: None,
    ) -> Generator[StepBatches, None, None]:
        """Yield the batches of `rank` for each update from `position`, endlessly; close the iterator after use.

        The batches depend only on seed, epoch and row, so iteration resumes exactly from a saved position. An epoch has
        every usable pair once, unless weights or a temperature change the mixture.

        Args:
            position: of the first batch.
            accumulation: batches of an update, the same for any number of ranks; they may extend into the next epoch.
            rank: of this process.
            world_size: ranks that share each batch; each takes an equal number of its rows.
            check: called while the next epoch is not ready.
        """
        assert accumulation >= 1
        assert 0 <= rank < world_size
        with contextlib.closing(self._batches(position, rank, world_size, check)) as batches:
            while True:
                micro_batches = list(itertools.islice(batches, accumulation))
                yield StepBatches(
                    batches=tuple(batch.rows_of_rank for batch in micro_batches),
                    target_tokens=sum(batch.target_tokens for batch in micro_batches),
                    source_tokens=sum(batch.source_tokens for batch in micro_batches),
                    positions=world_size * sum(batch.rows_of_rank.positions for batch in micro_batches),
                    position=micro_batches[-1].position,
                )

    def pinned_steps(
        self,
        position: DataPosition,
        accumulation: int,
        rank: int = 0,
        world_size: int = 1,
        check: Check = lambda: None,
    ) -> Generator[StepBatches, None, None]:
        """Yield the batches of `steps` in page-locked memory, for a GPU; arguments as in `steps`.

        Another process makes the batches; a thread here receives and pins them.
        """
        # While the GPUs train, their ranks share the cores, to sample the next epoch.
        processes_of_rank = max(1, self.processes // world_size)
        batches = replace(self, processes_ahead=processes_of_rank)
        produce = functools.partial(batches.steps, position, accumulation, rank, world_size)

        def received(check_wanted: Check) -> Generator[StepBatches, None, None]:
            return _pinned(from_another_process(produce, check_wanted))

        return read_ahead(received, check, depth=GPU_DEPTH)

    def _batches(
        self,
        position: DataPosition,
        rank: int,
        world_size: int,
        check: Check,
    ) -> Generator[SharedBatch, None, None]:
        """Yield each batch from `position` on, with the rows of `rank`."""
        row = position.row
        # A thread of this process samples and plans the next epoch while this one is read.
        epochs = read_ahead(functools.partial(self._epochs, position.epoch), check, depth=1)
        with contextlib.closing(epochs):
            for epoch in epochs:
                assert row < len(epoch.plan), f"epoch {epoch.number} has {len(epoch.plan)} rows, not {row}"
                while row < len(epoch.plan):
                    yield self._batch(epoch, row, rank, world_size)
                    row += self.rows
                row = 0

    def _batch(self, epoch: Epoch, begin: int, rank: int, world_size: int) -> SharedBatch:
        """Return the batch that begins at row `begin` of `epoch`, with the rows of `rank`."""
        end = min(begin + self.rows, len(epoch.plan))
        # Each rank takes equally many consecutive rows; rows beyond `end` are empty.
        rows_of_rank = math.ceil(self.rows / world_size)
        begin_of_rank = min(begin + rank * rows_of_rank, end)
        end_of_rank = min(begin_of_rank + rows_of_rank, end)
        share = collate_planned(
            epoch.text,
            epoch.plan,
            begin_of_rank,
            end_of_rank,
            rows=rows_of_rank,
            row_length=self.row_length,
        )
        numbers = epoch.plan.pairs_of(begin, end)
        next_position = DataPosition(epoch.number, end)
        if end == len(epoch.plan):
            next_position = DataPosition(epoch.number + 1, 0)
        return SharedBatch(
            rows_of_rank=replace(share, pairs=epoch.numbers_in_split(share.pairs)),
            source_tokens=int(epoch.text.source_lengths[numbers].sum()),
            target_tokens=int(epoch.text.target_lengths[numbers].sum()),
            position=next_position,
        )

    def _epochs(self, first: int, check: Check) -> Generator[Epoch, None, None]:
        """Yield epoch `first` and all later ones."""
        split = PairStore.open(self.token_folder, self.sources, self.sides)
        usable = usable_by_source(split, self.row_length)

        def draws_of(epoch: int) -> Numbers:
            return epoch_draws(usable, self.drawn, self.seed, epoch)

        def draw_counts_of(epoch: int) -> Draws:
            counts = np.bincount(draws_of(epoch), minlength=len(split))
            counts_by_source = np.split(counts, split.starts[1:-1])
            return dict(zip(split.names, counts_by_source, strict=True))

        if self.sampler is None:
            # Every epoch reads the stored ids of the split.
            for number in itertools.count(first):
                draws = draws_of(number)
                plan = self._plan(split, draws, number)
                yield Epoch(number=number, text=split, plan=plan, split_numbers=None)
            return
        texts = sampled_epochs(
            self.sampler,
            draw_counts_of,
            first,
            self.prepared_directory,
            processes=self.processes,
            processes_ahead=self.processes_ahead,
            check=check,
        )
        for number, text in enumerate(texts, start=first):
            # The sampled text has a pair for each draw, in the same order.
            draws = draws_of(number)
            plan = self._plan(text, np.arange(len(draws)), number)
            yield Epoch(number=number, text=text, plan=plan, split_numbers=draws)

    def _plan(self, text: PairStore, numbers: Numbers, epoch: int) -> RowPlan:
        """Return the rows of an epoch of the pairs `numbers` of `text`."""
        return plan_pairs(text, numbers, self.row_length, epoch_generator(self.seed, epoch))


def usable_by_source(split: PairStore, row_length: int) -> list[Numbers]:
    """Return, for each source of `split`, the numbers of the pairs that fit into a row of `row_length` positions."""
    usable = np.flatnonzero(split.longer_side <= row_length)
    return np.split(usable, np.searchsorted(usable, split.starts[1:-1]))


def plan_pairs(text: PairStore, numbers: Numbers, row_length: int, generator: np.random.Generator) -> RowPlan:
    """Return rows that hold each of the pairs `numbers` of `text` once, in random order."""
    plan = plan_rows(text.source_lengths[numbers], text.target_lengths[numbers], row_length, generator)
    return replace(plan, pairs=numbers[plan.pairs])


def collate_planned(
    text: PairStore,
    plan: RowPlan,
    begin: int,
    end: int,
    *,
    rows: int,
    row_length: int,
) -> Batch:
    """Return the rows `begin` to `end`, exclusive, of `plan`; empty rows follow, up to `rows` in all."""
    numbers = plan.pairs_of(begin, end)
    source_ids, target_ids = text.flat(numbers)
    pair_counts = np.zeros(rows, np.int64)
    pair_counts[: end - begin] = plan.pair_counts(begin, end)
    return collate(
        source_ids=source_ids,
        target_ids=target_ids,
        source_lengths=text.source_lengths[numbers],
        target_lengths=text.target_lengths[numbers],
        pairs=numbers,
        pair_counts=pair_counts,
        row_length=row_length,
    )


def _pinned(steps: Generator[StepBatches, None, None]) -> Generator[StepBatches, None, None]:
    """Yield each step with its batches in page-locked memory, where there is a GPU."""
    with contextlib.closing(steps):
        for step in steps:
            batches = step.batches
            if torch.cuda.is_available():  # not in a test of this path on a CPU
                batches = tuple(batch.pin_memory() for batch in batches)
            yield replace(step, batches=batches)
