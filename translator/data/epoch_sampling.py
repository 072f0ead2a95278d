"""Sampled training text for each epoch: augmented pairs and subword regularization (Kudo 2018 §3).

The text of an epoch is sampled as a whole, since batches are planned from the lengths of all pairs. The pieces of a
sentence are a pure function of run seed, epoch, sentence, and how often the epoch has drawn it before, for any number
of processes.
"""

import contextlib
import itertools
import math
import shutil
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from translator.config.resuming import fingerprint_of
from translator.config.sections import AugmentationConfig
from translator.corpus.prepare import PreparedCorpus, Side
from translator.data.augmentation import Augmentation, SidePair
from translator.data.mixture import Numbers
from translator.data.token_store import PairStore, TokenStore, chunks
from translator.run.folder import DIGITS_IN_NAME
from translator.run.logging import LOGGER
from translator.run.storage import new_folder
from translator.run.workers import map_in_order
from translator.subword import SubwordPair
from translator.subword.placeholders import cut_out_of_pair

Draws = Mapping[str, Numbers]  # by source, in order: how often an epoch draws each pair, (N,)

_VERSION: Final = 5  # increased when the same settings give other pieces
_SENTENCES: Final = 512  # per block of work; few, so that a stop takes only milliseconds
_WORTH_PROCESSES: Final = 4_000  # pairs; fewer are sampled faster than a process starts
_PROCESSES_AHEAD: Final = 2  # processes that sample the next epoch during training
_NICENESS: Final = 5  # lowers the priority of sampling during training, without starving it


class _Draw(NamedTuple):
    """A pair that an epoch draws, and where: its random choices depend on the place."""

    pair: SidePair
    place: str  # number of the pair, name of the source, and which draw of this pair, if not the first


class _Block(NamedTuple):
    """Consecutive draws from one source, of which one side is sampled."""

    side: Side
    draws: list[_Draw]


@dataclass(frozen=True)
class EpochSampler:
    """All settings that determine the sampled text of an epoch; picklable."""

    corpus: PreparedCorpus
    subword_folder: Path
    strength: float  # `subword.sampling`; 0 uses the unsampled pieces
    augmentation: AugmentationConfig
    seed: int
    max_length: int  # of a side in tokens, special token included; the unsampled pieces replace a longer sample

    def fingerprint(self, tokens: str) -> str:
        """Return the fingerprint (16 hex digits) of training on sampled text; `tokens` is that of the plain stores."""
        origin = {
            "tokens": tokens,
            "sampling": self.strength,
            "version": _VERSION,
            "augmentation": self.augmentation.model_dump(),
        }
        return fingerprint_of(origin)[:DIGITS_IN_NAME]

    def write(
        self, epoch: int, draws: Draws, folder: Path, processes: int = 1, check: Callable[[], None] = lambda: None
    ) -> None:
        """Write `<folder>/<source name>.en` and `.fa` stores of the training text, sampled for `epoch` (from 0).

        Each draw is sampled separately and is a row of the store; draws of one pair are adjacent. The stores do not
        depend on the number of `processes`. `check` is called after each block; it may raise to stop.

        Raises StorageError: the disk is full, the folder is not writable, or the prepared text is damaged.
        """
        subword = SubwordPair.load(self.subword_folder)
        vocabulary_sizes = (subword.source.vocabulary_size, subword.target.vocabulary_size)
        sampled_blocks = map_in_order(
            partial(_BlockSampler, self, epoch),
            self._blocks(draws),
            processes,
            niceness=_NICENESS,
        )
        with contextlib.closing(sampled_blocks):
            for name, counts in draws.items():
                block_count = math.ceil(int(counts.sum()) / _SENTENCES)
                for side, vocabulary_size in zip(self.corpus.sides, vocabulary_sizes, strict=True):
                    rows = _rows_of_blocks(sampled_blocks, block_count, check)
                    TokenStore.write(folder / f"{name}.{side}", rows, vocabulary_size)
            assert next(sampled_blocks, None) is None  # reads the text to its end, which checks its length

    def _blocks(self, draws: Draws) -> Iterator[_Block]:
        """Yield the blocks of all stores, in the order in which `write` writes them."""
        for name, counts in draws.items():
            for side in self.corpus.sides:
                for chunk in chunks(self._draws_of_source(name, counts), _SENTENCES):
                    yield _Block(side=side, draws=chunk)

    def _draws_of_source(self, name: str, counts: Numbers) -> Iterator[_Draw]:
        """Yield each pair of the source `name` as often as its count says."""
        # Zeros follow the counts, so that all lines are read: `pairs` then reports a text with too many.
        endless_counts = itertools.chain(counts.tolist(), itertools.repeat(0))
        pairs = zip(self.corpus.pairs("train", name), endless_counts, strict=False)
        for number, ((source, target), count) in enumerate(pairs):
            pair = SidePair(source=source, target=target)
            for repetition in range(count):
                place = f"{number} {name}"
                if repetition > 0:
                    place += f" {repetition}"
                yield _Draw(pair=pair, place=place)


def _rows_of_blocks(
    sampled_blocks: Iterator[list[list[int]]], block_count: int, check: Callable[[], None]
) -> Iterator[list[int]]:
    for block in itertools.islice(sampled_blocks, block_count):
        check()
        yield from block


class _BlockSampler:
    """Samples blocks of one epoch; each process has one, with its own models."""

    def __init__(self, settings: EpochSampler, epoch: int) -> None:
        self._settings = settings
        self._seed = f"{settings.seed} {epoch}"
        subword = SubwordPair.load(settings.subword_folder)
        self._models = (subword.source, subword.target)
        self._placeholders = list(subword.source.placeholders)
        self._augmentation = Augmentation(settings.augmentation, self._placeholders)
        self._samplers = []
        if settings.strength > 0:
            for side, model in zip(settings.corpus.sides, self._models, strict=True):
                self._samplers.append(model.sampler(settings.strength, f"{self._seed} {side}"))

    def __call__(self, block: _Block) -> list[list[int]]:
        """Return the sampled ids of each draw of `block`, on the side of the block."""
        column = self._settings.corpus.sides.index(block.side)
        texts = [pair[column] for pair in self._augmented_pairs(block.draws)]
        model = self._models[column]
        if not self._samplers:
            return model.encode(texts)
        rows = self._samplers[column].sample(texts, [draw.place for draw in block.draws])

        # The plain pieces replace a sample that is too long.
        long_rows = [number for number, row in enumerate(rows) if self._is_too_long(row)]
        plain_rows = model.encode([texts[number] for number in long_rows])
        for number, plain_row in zip(long_rows, plain_rows, strict=True):
            rows[number] = plain_row
        return rows

    def _augmented_pairs(self, draws: Sequence[_Draw]) -> list[SidePair]:
        """Return the pair of each draw, augmented unless that would make one of its sides too long."""
        # 1. Augment all pairs. Both sides are needed, because a change may concern both.
        pairs: list[SidePair] = []
        changed_pairs: dict[int, SidePair] = {}
        for number, (pair, place) in enumerate(draws):
            if self._placeholders:
                pair = SidePair(*cut_out_of_pair(*pair, self._placeholders))
            pairs.append(pair)
            changed_pair = self._augmentation.apply(pair, f"{self._seed} {place}")
            if changed_pair != pair:
                changed_pairs[number] = changed_pair

        # 2. Accept the changed pairs that are short enough.
        source_model, target_model = self._models
        source_rows = source_model.encode([pair.source for pair in changed_pairs.values()])
        target_rows = target_model.encode([pair.target for pair in changed_pairs.values()])
        for number, source_row, target_row in zip(changed_pairs, source_rows, target_rows, strict=True):
            if not self._is_too_long(source_row) and not self._is_too_long(target_row):
                pairs[number] = changed_pairs[number]
        return pairs

    def _is_too_long(self, row: Sequence[int]) -> bool:
        return len(row) + 1 > self._settings.max_length  # with the special token


def sampled_epochs(
    sampler: EpochSampler,
    draws: Callable[[int], Draws],
    first: int,
    parent: Path,
    processes: int = 1,
    check: Callable[[], None] = lambda: None,
) -> Generator[PairStore, None, None]:
    """Yield the sampled pairs of epoch `first` and all later epochs; `draws` returns those of an epoch.

    The stores are written to a hidden folder in `parent`, the folder of prepared data, mapped into memory, and deleted
    immediately: the mapping stays readable. Leftovers of a killed run are deleted too. Only the first epoch, which
    training waits for, is sampled by `processes`. For draws, `check` and errors see `EpochSampler.write`.
    """
    for epoch in itertools.count(first):
        # 1. Choose the number of processes.
        draws_of_epoch = draws(epoch)
        draw_count = sum(int(counts.sum()) for counts in draws_of_epoch.values())
        if draw_count < _WORTH_PROCESSES:
            epoch_processes = 1
        elif epoch == first:
            LOGGER.info("sampling the pieces of epoch %d", epoch + 1)
            epoch_processes = processes
        else:
            epoch_processes = _PROCESSES_AHEAD

        # 2. Sample the epoch, and map its stores while they have names.
        with new_folder(parent / f"sampled-{uuid.uuid4().hex}") as folder:
            sampler.write(epoch, draws_of_epoch, folder, epoch_processes, check)
            pairs = PairStore.open(folder, list(draws_of_epoch), sampler.corpus.sides)

        # 3. Delete the names.
        for sampled_folder in parent.glob("sampled-*"):
            shutil.rmtree(sampled_folder, ignore_errors=True)
        yield pairs
