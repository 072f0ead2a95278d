"""Sampled training text for each epoch: augmented pairs and subword regularization (Kudo 2018 §3).

The text of an epoch is sampled as a whole, since batches are planned from the lengths of all pairs. The pieces of a
sentence are a pure function of run seed, epoch, sentence, and how often the epoch has drawn it before, for any number
of processes.
"""

import contextlib
import functools
import itertools
import math
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from translator.config.training_section import AugmentationConfig
from translator.corpus.prepared_corpus import PreparedCorpus, TextBlock
from translator.data.augmentation import Augmentation, SidePair
from translator.data.mapped_numbers import PairNumbers
from translator.data.mixture import Numbers
from translator.data.token_store import TokenWriter
from translator.run.logging import LOGGER
from translator.run.prepared_folder import DIGITS_IN_NAME
from translator.run.storage import sha256_of_json
from translator.run.workers import map_in_order
from translator.subword import SubwordPair
from translator.subword.flat_rows import FlatRows
from translator.subword.source_text import training_pair

_VERSION: Final = 5  # increased when the same settings give other pieces
_SENTENCES: Final = 512  # pairs of a block of work; few, so that a stop takes only milliseconds
_WORTH_PROCESSES: Final = 4_000  # pairs; fewer are sampled faster than a process starts
_NICENESS: Final = 5  # lowers the priority of sampling during training, without starving it


@dataclass(frozen=True)
class EpochDraws:
    """The pairs that an epoch draws."""

    names: tuple[str, ...]  # of the sources, in order
    starts: Numbers  # (sources + 1,) number of the first pair of each source, and finally the number of all pairs
    numbers: PairNumbers  # the drawn pairs, in ascending order; a pair drawn twice occurs twice

    def pair_count(self, source: int) -> int:
        """Return the number of pairs of a source, drawn or not."""
        return int(self.starts[source + 1] - self.starts[source])

    def counts(self, source: int, first: int, count: int) -> Numbers:
        """Return how often the pairs `first` to `first + count` of a source are drawn, (count,)."""
        begin = self.starts[source] + first
        end = min(begin + count, self.starts[source + 1])
        # Numbers of the same type: else `searchsorted` would copy the whole array.
        limits = np.array([begin, end], self.numbers.dtype)
        drawn = self.numbers[slice(*np.searchsorted(self.numbers, limits))]
        return np.bincount(drawn - begin, minlength=int(end - begin))


class _Draw(NamedTuple):
    """A pair that an epoch draws, and where: its random choices depend on the place."""

    pair: SidePair
    place: str  # number of the pair, name of the source, and which draw of this pair, if not the first


class _Block(NamedTuple):
    """Consecutive pairs of one source, for the process that samples them."""

    epoch: int
    source_name: str
    first_number: int  # of its pairs, in the source
    counts: Numbers  # (N,) how often the epoch draws each pair
    source: TextBlock
    target: TextBlock

    def draws(self) -> list[_Draw]:
        """Return each pair as often as its count says; raise StorageError if the text cannot be read."""
        draws = []
        texts = zip(self.source.lines(), self.target.lines(), strict=True)
        numbers = itertools.count(self.first_number)
        for number, count, (source, target) in zip(numbers, self.counts.tolist(), texts, strict=False):
            pair = SidePair(source=source, target=target)
            for repetition in range(count):
                place = f"{number} {self.source_name}"
                if repetition > 0:
                    place += f" {repetition}"
                draws.append(_Draw(pair=pair, place=place))
        return draws


class SampledBlock(NamedTuple):
    """The sampled ids of all draws of a block."""

    source: FlatRows
    target: FlatRows


SampledBlocks = Generator[SampledBlock, None, None]


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
        return sha256_of_json(origin)[:DIGITS_IN_NAME]

    def sample(self, epochs: Iterable[tuple[int, EpochDraws]], processes: int) -> SampledBlocks:
        """Yield the sampled blocks of all `epochs` (numbers from 0), which do not depend on the number of `processes`.

        The processes live as long as the iterator. Close it to end them.

        Raises StorageError: the prepared text is damaged.
        """
        return map_in_order(functools.partial(_BlockSampler, self), self._blocks(epochs), processes, _NICENESS)

    def _blocks(self, epochs: Iterable[tuple[int, EpochDraws]]) -> Iterator[_Block]:
        """Yield the blocks of all epochs: epoch by epoch, source by source; `write` takes them in this order."""
        text_blocks: dict[str, list[tuple[TextBlock, TextBlock]]] = {}
        for epoch, draws in epochs:
            for source_number, name in enumerate(draws.names):
                if name not in text_blocks:
                    text_blocks[name] = self._text_blocks(name)
                for first_number, (source, target) in zip(itertools.count(0, _SENTENCES), text_blocks[name]):
                    yield _Block(
                        epoch=epoch,
                        source_name=name,
                        first_number=first_number,
                        counts=draws.counts(source_number, first_number, _SENTENCES),  # draws of each pair
                        source=source,
                        target=target,
                    )

    def _text_blocks(self, name: str) -> list[tuple[TextBlock, TextBlock]]:
        """Return both sides of the training text of a source, in blocks of `_SENTENCES` pairs."""
        source_side, target_side = self.corpus.sides
        source_blocks = self.corpus.blocks("train", name, source_side, _SENTENCES)
        target_blocks = self.corpus.blocks("train", name, target_side, _SENTENCES)
        return list(zip(source_blocks, target_blocks, strict=True))

    def write(
        self,
        blocks: SampledBlocks,
        draws: EpochDraws,
        folder: Path,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Write `<folder>/<source name>.en` and `.fa` stores of the next epoch of `blocks`, which has these `draws`.

        Each draw is sampled separately and is a row of the store; draws of one pair are adjacent. `check` is called
        after each block; it may raise to stop.

        Raises StorageError: the disk is full, the folder is not writable, or the prepared text is damaged.
        """
        subword = SubwordPair.load(self.subword_folder)
        source_side, target_side = self.corpus.sides
        for source_number, name in enumerate(draws.names):
            source_writer = TokenWriter(folder / f"{name}.{source_side}", subword.source.vocabulary_size)
            target_writer = TokenWriter(folder / f"{name}.{target_side}", subword.target.vocabulary_size)
            block_count = math.ceil(draws.pair_count(source_number) / _SENTENCES)
            with source_writer, target_writer:
                for block in itertools.islice(blocks, block_count):
                    check()
                    source_writer.append(block.source)
                    target_writer.append(block.target)


class _BlockSampler:
    """Samples blocks, most of one epoch after the other; each process has one, with its own models."""

    def __init__(self, settings: EpochSampler) -> None:
        self._settings = settings
        subword = SubwordPair.load(settings.subword_folder)
        self._models = (subword.source, subword.target)
        self._placeholders = list(subword.source.placeholders)
        self._augmentation = Augmentation(settings.augmentation, self._placeholders)
        self._epoch: int | None = None

    def __call__(self, block: _Block) -> SampledBlock:
        """Return the sampled ids of each draw of `block`."""
        if block.epoch != self._epoch:
            self._begin(block.epoch)
        draws = block.draws()
        pairs = self._augmented_pairs(draws)
        places = [draw.place for draw in draws]
        return SampledBlock(
            source=FlatRows.of(self._sampled(0, [pair.source for pair in pairs], places)),
            target=FlatRows.of(self._sampled(1, [pair.target for pair in pairs], places)),
        )

    def _begin(self, epoch: int) -> None:
        """Prepare for the blocks of `epoch`."""
        self._epoch = epoch
        self._seed = f"{self._settings.seed} {epoch}"
        self._samplers = []
        if self._settings.strength > 0:
            for side, model in zip(self._settings.corpus.sides, self._models, strict=True):
                self._samplers.append(model.sampler(self._settings.strength, f"{self._seed} {side}"))

    def _sampled(self, column: int, texts: Sequence[str], places: Sequence[str]) -> list[list[int]]:
        """Return the sampled ids of the texts of one side: 0 for the source, 1 for the target."""
        model = self._models[column]
        if not self._samplers:
            return model.encode(texts)
        rows = self._samplers[column].sample(texts, places)

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
            pair = SidePair(*training_pair(*pair, self._placeholders))
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
    draws: Callable[[int], EpochDraws],
    first: int,
    parent: Path,
    *,
    processes: int = 1,
    processes_ahead: int = 1,
    check: Callable[[], None] = lambda: None,
) -> Generator[Path, None, None]:
    """Yield a new folder in `parent` for epoch `first` and for each later one, with the stores of its sampled pairs.

    Args:
        sampler: all that decides the samples.
        draws: returns the draws of an epoch; a pure function.
        first: number of the first epoch.
        parent: an existing folder.
        processes: sample the first epoch, for which training waits.
        processes_ahead: sample the later epochs, while training uses the epoch before.
        check: see `EpochSampler.write`, also for errors.
    """
    first_draws = draws(first)
    if len(first_draws.numbers) < _WORTH_PROCESSES:
        processes = processes_ahead = 1
    else:
        LOGGER.info("writing the text of epoch %d, with its typos and other changes", first + 1)
    later_epochs = ((epoch, draws(epoch)) for epoch in itertools.count(first + 1))

    def stored(blocks: SampledBlocks, epoch_draws: EpochDraws) -> Path:
        folder = Path(tempfile.mkdtemp(dir=parent))
        sampler.write(blocks, epoch_draws, folder, check)
        return folder

    with contextlib.closing(sampler.sample([(first, first_draws)], processes)) as blocks:
        first_folder = stored(blocks, first_draws)
    yield first_folder
    with contextlib.closing(sampler.sample(later_epochs, processes_ahead)) as blocks:
        for epoch in itertools.count(first + 1):
            yield stored(blocks, draws(epoch))
