"""Packing: which sentence pairs share a row of a batch.

A row has L positions per side and holds several sentence pairs, one after the other. Pairs arrive in random order and
go into the first open row with room on both sides (first fit, over a small number of open rows). So a batch is a
random sample of all lengths, every batch has the same shape, and about 97% of the positions of the fuller side are
tokens. On documents, this is known as sequence packing (Raffel et al. 2020 §3.1.3; Krell et al. 2021).

The plan of an epoch is a pure function of the lengths, the seed and the epoch. Other rows for the same values need
another `training_batches.PLAN_VERSION`. The plan is made in one pass over the pairs, and can be written to files as it
is made, so that its memory does not grow with the corpus.
"""

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from translator.data.mapped_numbers import PairNumbers, blocks_of, open_numbers, write_blocks
from translator.data.token_store import PairLengths, chunks
from translator.run.storage import storage_errors

Numbers = NDArray[np.int64]
LengthsOf = Callable[[NDArray[Any]], PairLengths]  # the lengths of the pairs with these numbers

OPEN_ROWS: Final = 32
"""Rows that take pairs at the same time: with 8, 96.7% of the fuller side are tokens; with 32, 97.1%."""
_ROWS_AT_ONCE: Final = 4096  # converted to arrays at once
_PAIRS_FILE: Final = "rows.pairs"
_STARTS_FILE: Final = "rows.starts"


class RowBlock(NamedTuple):
    """Consecutive rows of a plan."""

    pairs: PairNumbers  # (N,) pair numbers, row after row
    pair_counts: PairNumbers  # (rows,) the number of pairs in each row


@dataclass(frozen=True)
class RowPlan:
    """The rows of an epoch, in the order of training."""

    pairs: PairNumbers  # (N,) pair numbers, row after row
    starts: PairNumbers  # (rows + 1,) index in `pairs` of the first pair of each row; the last entry is N

    @classmethod
    def of(cls, blocks: Iterable[RowBlock]) -> "RowPlan":
        """Return the plan of the rows of all `blocks`, in memory."""
        pairs = [np.zeros(0, np.int32)]
        pair_counts = [np.zeros(1, np.int32)]
        for block in blocks:
            pairs.append(block.pairs)
            pair_counts.append(block.pair_counts)
        return cls(
            pairs=np.concatenate(pairs),
            starts=np.cumsum(np.concatenate(pair_counts), dtype=np.int32),
        )

    @staticmethod
    def write(folder: Path, blocks: Iterable[RowBlock]) -> None:
        """Write the rows of all `blocks` to `folder`; raise StorageError if the disk is full."""
        pair_count = 0
        with (
            storage_errors(folder),
            (folder / _PAIRS_FILE).open("wb") as pairs_file,
            (folder / _STARTS_FILE).open("wb") as starts_file,
        ):
            write_blocks(starts_file, [np.zeros(1, np.int32)])
            for block in blocks:
                write_blocks(pairs_file, [block.pairs])
                write_blocks(starts_file, [pair_count + np.cumsum(block.pair_counts, dtype=np.int32)])
                pair_count += len(block.pairs)

    @classmethod
    def open(cls, folder: Path) -> "RowPlan":
        """Return the plan that `write` wrote to `folder`, mapped into memory."""
        return cls(pairs=open_numbers(folder / _PAIRS_FILE), starts=open_numbers(folder / _STARTS_FILE))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def pairs_of(self, begin: int, end: int) -> Numbers:
        """Return the pair numbers of the rows `begin` to `end`, exclusive, row after row."""
        return self.pairs[self.starts[begin] : self.starts[end]].astype(np.int64)

    def pair_counts(self, begin: int, end: int) -> PairNumbers:
        """Return (`end` - `begin`,): the number of pairs in each of these rows."""
        return np.diff(self.starts[begin : end + 1])

    def __iter__(self) -> Iterator[Numbers]:
        for row in range(len(self)):
            yield self.pairs_of(row, row + 1)


def plan_rows(
    numbers: PairNumbers,
    lengths: LengthsOf,
    row_length: int,
    generator: np.random.Generator,
) -> Iterator[RowBlock]:
    """Yield rows that hold each of the pairs `numbers` once, in random order.

    Args:
        numbers: (N,) pair numbers; they are shuffled in place.
        lengths: returns the tokens of pairs; no sentence has more than `row_length`.
        row_length: L, the positions of a row on either side.
        generator: draws the order of the pairs.
    """
    generator.shuffle(numbers)
    for rows in chunks(_first_fit(_sized_pairs(numbers, lengths, row_length), row_length), _ROWS_AT_ONCE):
        pair_counts = np.fromiter(map(len, rows), np.int32, len(rows))
        pairs = np.fromiter(itertools.chain.from_iterable(rows), np.int32, int(pair_counts.sum()))
        yield RowBlock(pairs=pairs, pair_counts=pair_counts)


def _sized_pairs(numbers: PairNumbers, lengths: LengthsOf, row_length: int) -> Iterator[tuple[int, int, int]]:
    """Return the number of each pair, the tokens of its source, and those of its target."""

    def sized_blocks() -> Iterator[Iterator[tuple[int, int, int]]]:
        for block in blocks_of(numbers):
            sides = lengths(block)
            assert sides.longer_side.max() <= row_length
            yield zip(block.tolist(), sides.source.tolist(), sides.target.tolist(), strict=True)

    return itertools.chain.from_iterable(sized_blocks())


def _first_fit(sized_pairs: Iterable[tuple[int, int, int]], row_length: int) -> Generator[list[int], None, None]:
    """Yield the rows in the order of their closing, each a list of pair numbers; arguments as from `_sized_pairs`.

    A million pairs take a second or two, so this inner loop uses plain lists and integers.
    """
    # The open rows: free positions on both sides, and the numbers of their pairs.
    source_room: list[int] = []
    target_room: list[int] = []
    row_pairs: list[list[int]] = []

    def closed(row: int) -> list[int]:
        del source_room[row]
        del target_room[row]
        return row_pairs.pop(row)

    for number, source, target in sized_pairs:
        # 1. Find the first open row with room on both sides.
        row = 0
        for room in source_room:
            if source <= room and target <= target_room[row]:
                break
            row += 1
        # 2. Without one, open a row; the fullest row closes if all are open.
        if row == len(row_pairs):
            if row == OPEN_ROWS:
                free_positions = list(map(min, source_room, target_room))  # of the fuller side
                yield closed(free_positions.index(min(free_positions)))
            source_room.append(row_length)
            target_room.append(row_length)
            row_pairs.append([])
            row = len(row_pairs) - 1
        # 3. Put the pair into the row, and close the row when it is full.
        row_pairs[row].append(number)
        source_room[row] -= source
        target_room[row] -= target
        if source_room[row] == 0 or target_room[row] == 0:
            yield closed(row)
    yield from row_pairs
