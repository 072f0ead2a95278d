"""Sampled training text for each epoch: augmented pairs and subword regularization (Kudo 2018 §3).

The text of an epoch is sampled as a whole, since batches are planned from the lengths of all pairs. The pieces of a
sentence are a pure function of run seed, epoch, sentence, and how often the epoch has drawn it before, for any number
of processes.
"""

import contextlib
import itertools
import multiprocessing
import os
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
from translator.data.batching import Numbers
from translator.data.token_store import PairStore, TokenStore
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


class _Block(NamedTuple):
    """Consecutive pairs of one source, of which one side is sampled."""

    side: Side
    pairs: list[SidePair]
    places: list[str]


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
        made_from = {"tokens": tokens, "sampling": self.strength, "version": _VERSION}
        made_from["augmentation"] = self.augmentation.model_dump()
        return fingerprint_of(made_from)[:DIGITS_IN_NAME]

    def write(
        self, epoch: int, draws: Draws, folder: Path, processes: int = 1, check: Callable[[], None] = lambda: None
    ) -> None:
        """Write `<folder>/<source name>.en` and `.fa` stores of the training text, sampled for `epoch` (from 0).

        Each draw is sampled separately and is a row of the store; draws of one pair are adjacent. The stores do not
        depend on the number of `processes`. `check` is called after each block; it may raise to stop.

        Raises StorageError: the disk is full, the folder is not writable, or the prepared text is damaged.
        """
        subword = SubwordPair.load(self.subword_folder)
        source, target = self.corpus.sides
        sizes = {source: subword.source.vocabulary_size, target: subword.target.vocabulary_size}
        sampled = map_in_order(partial(_block_sampler, self, epoch), self._blocks(draws), processes)

        def rows(blocks: int) -> Iterator[Sequence[int]]:
            for block in itertools.islice(sampled, blocks):
                check()
                yield from block

        with contextlib.closing(sampled):
            for (name, times), side in itertools.product(draws.items(), self.corpus.sides):
                blocks = -(-int(times.sum()) // _SENTENCES)
                TokenStore.write(folder / f"{name}.{side}", rows(blocks), sizes[side])
            assert next(sampled, None) is None  # reads the text to its end, which checks its length

    def _blocks(self, draws: Draws) -> Iterator[_Block]:
        for (name, times), side in itertools.product(draws.items(), self.corpus.sides):
            counts = itertools.chain(times.tolist(), itertools.repeat(0))  # `pairs` reports lines that are too many
            pairs = enumerate(zip(self.corpus.pairs("train", name), counts, strict=False))
            drawn = ((SidePair(*pair), number, again) for number, (pair, count) in pairs for again in range(count))
            while block := list(itertools.islice(drawn, _SENTENCES)):
                places = [f"{number} {name} {again}" if again else f"{number} {name}" for _, number, again in block]
                yield _Block(side, [pair for pair, _, _ in block], places)


def _block_sampler(settings: EpochSampler, epoch: int) -> Callable[[_Block], list[list[int]]]:
    """Return the function that samples one block, with its own models."""
    if multiprocessing.parent_process() is not None:
        os.nice(_NICENESS)
    subword = SubwordPair.load(settings.subword_folder)
    models = dict(zip(settings.corpus.sides, (subword.source, subword.target), strict=True))
    seed = f"{settings.seed} {epoch}"
    strength = settings.strength
    samplers = {side: model.sampler(strength, f"{seed} {side}") for side, model in models.items() if strength}
    placeholders = list(subword.source.placeholders)
    augmentation = Augmentation(settings.augmentation, placeholders)

    def sample(block: _Block) -> list[list[int]]:
        pairs = list(block.pairs)
        if placeholders:
            pairs = [SidePair(*cut_out_of_pair(*pair, placeholders)) for pair in pairs]
        changed = [augmentation.apply(*both) for both in zip(pairs, (f"{seed} {p}" for p in block.places), strict=True)]
        touched = [number for number, pair in enumerate(changed) if pair != pairs[number]]
        rows = (model.encode([changed[n][side] for n in touched]) for side, model in enumerate(models.values()))
        for number, *both in zip(touched, *rows, strict=True):
            if max(map(len, both)) < settings.max_length:  # else both sides stay unchanged
                pairs[number] = changed[number]
        model = models[block.side]
        texts = [pair[settings.corpus.sides.index(block.side)] for pair in pairs]
        if not samplers:
            return model.encode(texts)
        sampled = samplers[block.side].sample(texts, block.places)
        long = [place for place, row in enumerate(sampled) if len(row) >= settings.max_length]
        for place, row in zip(long, model.encode([texts[place] for place in long]), strict=True):
            sampled[place] = row
        return sampled

    return sample


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
        drawn = draws(epoch)
        large = sum(int(times.sum()) for times in drawn.values()) >= _WORTH_PROCESSES
        if large and epoch == first:
            LOGGER.info("sampling the pieces of epoch %d", first + 1)
        with new_folder(parent / f"sampled-{uuid.uuid4().hex}") as beside:
            at_once = processes if epoch == first else _PROCESSES_AHEAD
            sampler.write(epoch, drawn, beside, at_once if large else 1, check)
            pairs = PairStore.open(beside, list(drawn), sampler.corpus.sides)
        for mapped in parent.glob("sampled-*"):
            shutil.rmtree(mapped, ignore_errors=True)
        yield pairs
