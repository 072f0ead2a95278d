"""`DataHandler`, the face of this room: from a configuration to batches."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from translator.config import Config
from translator.corpus.normalize import Normalizer
from translator.corpus.prepare import PreparedCorpus, prepare_corpus
from translator.corpus.split import Split
from translator.data.batch import Batch, collate
from translator.data.batching import DataPosition, Numbers, epoch_generator, plan_batches
from translator.data.encoding import STORED_SPLITS, StoredSplit, prepare_tokens
from translator.data.length_report import LengthReport, format_lengths, measure_lengths
from translator.data.pair_store import PairStore
from translator.errors import CorpusError
from translator.subword import SubwordPair, prepare_subword

_LOGGER: Final = logging.getLogger("translator")


class DataHandler:
    """Corpus, subwords and token stores of a recipe, each prepared or found again, and the batches made of them."""

    def __init__(self, config: Config) -> None:
        """Prepare all that is not there yet; nothing is downloaded.

        Over-long pairs are counted in `report` and named in a warning: they are never cut. Validation pairs that are
        over-long are left out of the validation loss only.

        Raises:
            CorpusError: the corpus cannot be used, or no training pair is short enough.
            SubwordError: the corpus does not allow the subword settings.
            StorageError: the disk is full, may not be written, or prepared data are damaged.
        """
        prepared = Path(config.corpus.prepared_directory)
        self.corpus: PreparedCorpus = prepare_corpus(config.corpus, config.evaluation.test_sets)
        self.subword: SubwordPair
        self.subword_folder: Path
        self.subword, self.subword_folder = prepare_subword(config.subword, self.corpus, prepared)
        self.token_folder, self.fingerprint = prepare_tokens(
            self.corpus, self.subword, config.corpus.normalization, prepared
        )
        self.normalizer = Normalizer(config.corpus.normalization)
        """What training text has been through, and other text must go through before it is encoded."""
        self._seed = config.run.seed
        self._batching = config.batching
        self._stores: dict[StoredSplit, PairStore] = {}
        self._usable: dict[StoredSplit, Numbers] = {}
        """Numbers of the pairs that are short enough."""
        self.report: list[LengthReport] = []
        for split in STORED_SPLITS:
            store = PairStore.open(self.token_folder / split, self.corpus.names(split))
            self._stores[split] = store
            longer = np.maximum(store.source_lengths, store.target_lengths)
            self._usable[split] = np.flatnonzero(longer <= config.batching.max_length)
            self.report += measure_lengths(split, store, config.batching.max_length)
        self._judge()

    def pair_count(self, split: Split) -> int:
        """Return the pairs of `split`; over-long ones are not counted in training and validation."""
        if split == "test":
            return sum(self.corpus.count(split, name) for name in self.corpus.names(split))
        return len(self._usable[split])

    def format_report(self) -> str:
        """Return a table for a person: pairs, over-long pairs and tokens of each source."""
        return format_lengths(self.report, self._batching.max_length)

    def train_batches(self, position: DataPosition) -> Iterator[tuple[Batch, DataPosition]]:
        """Yield batches without end, from `position` on, each with the position to resume from after it.

        The order is a function of the seed and the epoch alone, so going on from a saved position gives the very
        batches that would have come; each epoch holds every usable pair once.
        """
        epoch, done = position.epoch, position.batch
        while True:
            plan = self._plan("train", epoch_generator(self._seed, epoch))
            assert done < len(plan), f"epoch {epoch} has {len(plan)} batches, not {done}"
            for number in range(done, len(plan)):
                last = number + 1 == len(plan)
                after = DataPosition(epoch + 1, 0) if last else DataPosition(epoch, number + 1)
                yield self._batch("train", plan[number]), after
            epoch, done = epoch + 1, 0

    def validation_batches(self) -> Iterator[Batch]:
        """Yield every usable validation pair once, in batches that are the same at every call and for every seed."""
        for numbers in self._plan("validation", epoch_generator(0, 0)):
            yield self._batch("validation", numbers)

    def _plan(self, split: StoredSplit, generator: np.random.Generator) -> list[Numbers]:
        """Return the batches of one epoch as numbers of pairs in the split."""
        usable, store = self._usable[split], self._stores[split]
        plan = plan_batches(
            store.source_lengths[usable],
            store.target_lengths[usable],
            tokens_per_batch=self._batching.tokens_per_batch,
            max_sentences=self._batching.max_sentences,
            generator=generator,
        )
        return [usable[numbers] for numbers in plan]

    def _batch(self, split: StoredSplit, numbers: Numbers) -> Batch:
        """Read the pairs with these numbers."""
        sources, targets = zip(*(self._stores[split][int(number)] for number in numbers), strict=True)
        return collate(sources, targets, numbers)

    def _judge(self) -> None:
        """Warn about over-long pairs, and refuse a training split of nothing else (the corpus refuses an empty one)."""
        limit = self._batching.max_length
        for split, store in self._stores.items():
            left_out = len(store) - len(self._usable[split])
            if not left_out:
                continue
            longest = max(part.longest for part in self.report if part.split == split)
            if left_out == len(store) and split == "train":
                raise CorpusError(
                    f"no training pair is left: all {left_out:,} are longer than batching.max_length: {limit} tokens "
                    f"(the longest has {longest}); raise it, or raise subword.vocabulary_size to make fewer tokens"
                )
            _LOGGER.warning(
                f"{left_out:,} of {len(store):,} {split} pairs ({left_out / len(store):.2%}) are longer than "
                f"batching.max_length: {limit} tokens (the longest has {longest}) and are left out"
                + (" of the loss" if split == "validation" else "")
            )
