"""The batches of training: a pure function of seed, epoch and row, the same for any number of ranks.

How an epoch is made:

1. Draw pairs from each source, by its weight.
2. With augmentation or subword sampling, write a text of the drawn pairs with changes of its own.
3. Plan rows: put the pairs, in random order, into rows of L positions.
4. Cut the rows into batches of R, and collate those of this rank.

Properties: every batch has one shape; a run resumes exactly from an epoch and a row; ranks share each batch, so their
number does not change the training. The price is disk space for the plan of an epoch, and for its text if it changes.
The next epoch is made while this one is read, by one rank of a machine for all of them.

R rows of a batch, L positions of a row, N pairs
"""

import contextlib
import functools
import itertools
import math
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import torch

from translator.corpus.prepared_corpus import Side
from translator.data.batch import Batch, DataPosition, Numbers, StepBatches, collate
from translator.data.epoch_sampling import EpochDraws, EpochSampler, sampled_epochs
from translator.data.feeding import Check, from_another_process, read_ahead
from translator.data.machine_folder import MachineFolder
from translator.data.mapped_numbers import (
    PairNumbers,
    blocks_of,
    open_numbers,
    ranges,
    unnamed_numbers,
    write_numbers,
)
from translator.data.mixture import epoch_draws, epoch_generator
from translator.data.packing import RowBlock, RowPlan, plan_rows
from translator.data.token_store import PairStore
from translator.errors import CheckpointError
from translator.run.work_folders import work_folder

PLAN_VERSION: Final = 1
"""Raised when the same text, settings and seed give other batches: other draws, other rows, or another order."""
EPOCH_FOLDER: Final = "epoch"
"""Names the work folder for the files of the epochs, in the folder of prepared data."""
_DRAWS_FILE: Final = "draws"
GPU_DEPTH: Final = 8  # updates made ahead for a GPU; two cover delays of 60 ms only


class Epoch(NamedTuple):
    """The text of an epoch and its division into rows."""

    number: int  # from 0
    text: PairStore
    plan: RowPlan  # its pair numbers are those of `text`
    split_numbers: PairNumbers | None
    """(pairs of `text`,) the number in the split of each pair of `text`; None if `text` is the split itself."""

    def numbers_in_split(self, numbers: Numbers) -> Numbers:
        """Return the numbers in the split of the pairs `numbers` of `text`."""
        if self.split_numbers is None:
            return numbers
        return self.split_numbers[numbers].astype(np.int64)


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
    prepared_directory: Path  # for the files of the epochs
    processes: int  # of a machine, that sample the first epoch, for which training waits
    processes_ahead: int = 2  # that sample the next epoch during training

    def steps(
        self,
        position: DataPosition,
        accumulation: int,
        rank: int = 0,
        world_size: int = 1,
        machine: MachineFolder | None = None,
        check: Check = lambda: None,
    ) -> Generator[StepBatches, None, None]:
        """Yield the batches of `rank` for each update from `position`, endlessly; close the iterator after use.

        The batches depend only on seed, epoch and row, so iteration resumes exactly from a saved position. An epoch has
        every usable pair once, unless weights or a temperature change the mixture.

        Args:
            position: where the first batch begins: an epoch and a row.
            accumulation: batches of an update, the same for any number of ranks; they may extend into the next epoch.
            world_size: ranks that share each batch; each takes an equal number of its rows.
            machine: where the ranks of this machine share the files of the epochs; None: this one makes its own.
            check: called while the next epoch is not ready.
        """
        assert accumulation >= 1
        assert 0 <= rank < world_size
        with contextlib.closing(self._batches(position, rank, world_size, machine, check)) as batches:
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
        machine: MachineFolder | None = None,
        check: Check = lambda: None,
    ) -> Generator[StepBatches, None, None]:
        """Yield the batches of `steps` in page-locked memory, for a GPU; arguments as in `steps`.

        Another process makes the batches; a thread here receives and pins them.
        """
        # While the GPUs train, all cores may sample the next epoch.
        batches = replace(self, processes_ahead=self.processes)
        produce = functools.partial(batches.steps, position, accumulation, rank, world_size, machine)

        def received(check_wanted: Check) -> Generator[StepBatches, None, None]:
            return _pinned(from_another_process(produce, check_wanted))

        return read_ahead(received, check, depth=GPU_DEPTH)

    def _batches(
        self,
        position: DataPosition,
        rank: int,
        world_size: int,
        machine: MachineFolder | None,
        check: Check,
    ) -> Generator[SharedBatch, None, None]:
        """Yield each batch from `position` on, with the rows of `rank`."""
        row = position.row
        with contextlib.ExitStack() as stack:
            if machine is None:
                machine = MachineFolder(stack.enter_context(work_folder(self.prepared_directory / EPOCH_FOLDER)))
            # A thread of this process samples and plans the next epoch, or waits for it, while this one is read.
            epochs = read_ahead(functools.partial(self._epochs, position.epoch, machine), check, depth=1)
            stack.enter_context(contextlib.closing(epochs))
            for epoch in epochs:
                if row >= len(epoch.plan):
                    raise CheckpointError(
                        f"the run would resume at row {row} of epoch {epoch.number}, which has {len(epoch.plan)} rows: "
                        "the newest checkpoint is damaged; delete its folder to resume from the one before it"
                    )
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
        lengths = epoch.text.lengths(epoch.plan.pairs_of(begin, end))  # of all ranks
        next_position = DataPosition(epoch.number, end)
        if end == len(epoch.plan):
            next_position = DataPosition(epoch.number + 1, 0)
        return SharedBatch(
            rows_of_rank=replace(share, pairs=epoch.numbers_in_split(share.pairs)),
            source_tokens=int(lengths.source.sum()),
            target_tokens=int(lengths.target.sum()),
            position=next_position,
        )

    def _epochs(self, first: int, machine: MachineFolder, check: Check) -> Generator[Epoch, None, None]:
        """Yield epoch `first` and all later ones; one rank of a machine makes their files, and all map them."""
        # The preparation has verified the stores.
        split = PairStore.open(self.token_folder, self.sources, self.sides, verify=False)
        with contextlib.closing(self._made_epochs(split, first, machine.path, check)) as made_folders:
            for number in itertools.count(first):
                folder = machine.path / f"epoch-{number}"
                if machine.is_maker:
                    next(made_folders).rename(folder)
                machine.wait_for(folder, check)
                epoch = self._mapped(split, number, folder)
                machine.release(folder)
                yield epoch

    def _made_epochs(self, split: PairStore, first: int, parent: Path, check: Check) -> Generator[Path, None, None]:
        """Yield a new folder in `parent` for epoch `first` and each later one, with its rows and its sampled text."""
        usable = usable_by_source(split, self.row_length, parent)

        @functools.lru_cache(maxsize=2)  # the sampler asks for an epoch before the rows of the last one are planned
        def draws_of(epoch: int) -> EpochDraws:
            numbers = epoch_draws(usable, self.drawn, self.seed, epoch, parent)
            return EpochDraws(names=tuple(split.names), starts=split.starts, numbers=numbers)

        for number, folder in enumerate(self._text_folders(draws_of, first, parent, check), start=first):
            draws = draws_of(number).numbers
            if self.sampler is None:
                text = split
                numbers = unnamed_numbers(blocks_of(draws), parent)
            else:
                # The sampled text has a pair for each draw, in the same order.
                write_numbers(folder / _DRAWS_FILE, blocks_of(draws))
                text = PairStore.open(folder, self.sources, self.sides)
                numbers = unnamed_numbers(ranges(len(draws)), parent)
            generator = epoch_generator(self.seed, number)
            blocks = plan_rows(numbers, text.lengths, self.row_length, generator)
            RowPlan.write(folder, _checked(blocks, check))
            yield folder

    def _text_folders(
        self, draws_of: Callable[[int], EpochDraws], first: int, parent: Path, check: Check
    ) -> Iterator[Path]:
        """Yield a new folder in `parent` for each epoch, empty if every epoch reads the stored ids of the split."""
        if self.sampler is not None:
            yield from sampled_epochs(
                self.sampler,
                draws_of,
                first,
                parent,
                processes=self.processes,
                processes_ahead=self.processes_ahead,
                check=check,
            )
        while True:
            yield Path(tempfile.mkdtemp(dir=parent))

    def _mapped(self, split: PairStore, number: int, folder: Path) -> Epoch:
        """Return epoch `number`, whose files in `folder` a rank of this machine has just made."""
        plan = RowPlan.open(folder)
        if self.sampler is None:
            return Epoch(number=number, text=split, plan=plan, split_numbers=None)
        return Epoch(
            number=number,
            text=PairStore.open(folder, self.sources, self.sides, verify=False),
            plan=plan,
            split_numbers=open_numbers(folder / _DRAWS_FILE),
        )


def usable_numbers(split: PairStore, row_length: int) -> Iterator[PairNumbers]:
    """Yield, in blocks, the numbers of the pairs of `split` that fit into a row of `row_length` positions."""
    for numbers in ranges(len(split)):
        yield numbers[split.lengths(numbers).longer_side <= row_length]


def usable_by_source(split: PairStore, row_length: int, folder: Path) -> list[PairNumbers]:
    """Return the numbers of `usable_numbers` for each source, mapped from a file without a name in `folder`."""
    usable = unnamed_numbers(usable_numbers(split, row_length), folder)
    # Numbers of the same type: else `searchsorted` would copy the whole array.
    starts = split.starts[1:-1].astype(usable.dtype)
    return np.split(usable, np.searchsorted(usable, starts))


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
    lengths = text.lengths(numbers)
    pair_counts = np.zeros(rows, np.int64)
    pair_counts[: end - begin] = plan.pair_counts(begin, end)
    return collate(
        source_ids=source_ids,
        target_ids=target_ids,
        source_lengths=lengths.source,
        target_lengths=lengths.target,
        pairs=numbers,
        pair_counts=pair_counts,
        row_length=row_length,
    )


def _checked(blocks: Iterator[RowBlock], check: Check) -> Iterator[RowBlock]:
    """Yield the `blocks`; `check` is called after each and may raise to stop."""
    for block in blocks:
        check()
        yield block


def _pinned(steps: Generator[StepBatches, None, None]) -> Generator[StepBatches, None, None]:
    """Yield each step with its batches in page-locked memory, where there is a GPU."""
    with contextlib.closing(steps):
        for step in steps:
            batches = step.batches
            if torch.cuda.is_available():  # not in a test of this path on a CPU
                batches = tuple(batch.pin_memory() for batch in batches)
            yield replace(step, batches=batches)
