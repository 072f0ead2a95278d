"""Subword regularization: the training text cut into other pieces in each epoch (Kudo 2018 §3).

The text of an epoch is sampled as a whole, in blocks of sentences. The seed of a block is a hash of the run's seed, the
epoch and the block's place, so the pieces of a sentence are a function of (seed, epoch, sentence), whoever samples it,
when, and in how many processes.
"""

import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from translator.corpus.prepare import PreparedCorpus, Side
from translator.data.token_store import TokenStore
from translator.prepared import DIGITS_IN_NAME, fingerprint_of
from translator.subword import SubwordPair
from translator.workers import map_in_order

_VERSION: Final = 1
"""Raised whenever the same settings would give other pieces."""

_SENTENCES: Final = 512
"""Of a block: small enough that a stop waits for milliseconds only."""
_SIDES: Final[tuple[Side, ...]] = ("en", "fa")

Rows = list[list[int]]


@dataclass(frozen=True)
class _Block:
    """Neighbouring sentences of one side of one source."""

    side: Side
    seed: int
    texts: list[str]


@dataclass(frozen=True)
class EpochSampler:
    """All that the sampled text of an epoch is made of; it can be sent to another process."""

    corpus: PreparedCorpus
    subword_folder: Path
    strength: float
    """As `subword.sampling` sets it."""
    seed: int

    @property
    def sentences(self) -> int:
        """Sentences of an epoch, both sides counted."""
        return len(_SIDES) * sum(self.corpus.count("train", name) for name in self.corpus.names("train"))

    def fingerprint(self, tokens: str) -> str:
        """Return the fingerprint (16 hex digits) of training on sampled text; `tokens` is that of the plain stores."""
        made_from = {"tokens": tokens, "sampling": self.strength, "version": _VERSION}
        return fingerprint_of(made_from)[:DIGITS_IN_NAME]

    def write(
        self, epoch: int, folder: Path, processes: int = 1, done: Callable[[int], None] = lambda count: None
    ) -> None:
        """Write `<folder>/<source name>.en` and `.fa` stores of the training text, sampled for `epoch`.

        Args:
            epoch: from 0.
            folder: made if it is not there.
            processes: how many sample side by side; the stores do not depend on it.
            done: told now and then how many sentences have been sampled since it was last told; it may raise to stop.

        Raises:
            StorageError: the disk is full, the folder may not be written, or the prepared text is damaged.
        """
        subword = SubwordPair.load(self.subword_folder)
        sizes = {"en": subword.source.vocabulary_size, "fa": subword.target.vocabulary_size}
        sampled = map_in_order(
            partial(_block_sampler, self.subword_folder, self.strength), self._blocks(epoch), processes
        )

        def rows(blocks: int) -> Iterator[Sequence[int]]:
            for block in itertools.islice(sampled, blocks):
                done(len(block))
                yield from block

        with contextlib.closing(sampled):
            for name in self.corpus.names("train"):
                for side in _SIDES:
                    blocks = -(-self.corpus.count("train", name) // _SENTENCES)
                    TokenStore.write(folder / f"{name}.{side}", rows(blocks), sizes[side])
            assert next(sampled, None) is None  # asking reads the last text to its end, where its length is checked

    def _blocks(self, epoch: int) -> Iterator[_Block]:
        """Yield all blocks, source by source."""
        for name in self.corpus.names("train"):
            for side in _SIDES:
                lines = self.corpus.lines("train", name, side)
                number = 0
                while texts := list(itertools.islice(lines, _SENTENCES)):
                    yield _Block(side, _block_seed(self.seed, epoch, side, name, number), texts)
                    number += 1


def _block_seed(*place: int | str) -> int:
    """Return a seed of 32 bits for the block at `place`, the same on every machine."""
    return int.from_bytes(hashlib.sha256(json.dumps(place).encode("utf-8")).digest()[:4])


def _block_sampler(subword_folder: Path, strength: float) -> Callable[[_Block], Rows]:
    """Return the function that samples one block, with models of its own."""
    subword = SubwordPair.load(subword_folder)
    models = {"en": subword.source, "fa": subword.target}
    return lambda block: models[block.side].sample(block.texts, strength, block.seed)
