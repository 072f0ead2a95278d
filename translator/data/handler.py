"""`DataHandler`: from a configuration to batches."""

import contextlib
import math
from collections.abc import Generator, Iterator

import numpy as np

from translator.config import Config
from translator.core.batch import Batch, DataPosition, Numbers, collate
from translator.core.packing import plan_rows
from translator.corpus.file_hashes import FileHashes
from translator.corpus.held_out import HeldOutSet, HeldOutSplit, held_out_of_run
from translator.corpus.split import Split
from translator.data.epoch_text import EpochText
from translator.data.mixture import epoch_generator
from translator.data.preparation import prepare_data
from translator.data.preparation_report import format_lengths, format_mixture
from translator.data.training_batches import TrainingBatches, usable_by_source
from translator.subword.flat_rows import Ids


class DataHandler:
    """Corpus, subword models, token stores and batches of a recipe."""

    def __init__(self, config: Config, verified: FileHashes | None = None) -> None:
        """Prepare what is missing; arguments and errors as of `prepare_data`."""
        self._config = config
        self._row_length = config.batching.max_length  # L
        self._rows = config.batching.tokens_per_batch // config.batching.max_length  # R

        prepared = prepare_data(config, verified)
        self.normalizer = prepared.normalizer
        self.corpus = prepared.corpus
        self.subword = prepared.subword
        self.subword_folder = prepared.subword_folder
        self.token_folder = prepared.token_folder
        self.token_fingerprint = prepared.token_fingerprint  # the same for any strength of sampling
        self.report = prepared.report
        self.mixture = prepared.mixture
        self._stores = prepared.stores

        text = EpochText(
            corpus=prepared.corpus,
            sources=prepared.stores["train"].pairs,
            token_folder=prepared.token_folder / "train",
            subword_folder=prepared.subword_folder,
            strength=config.subword.sampling,
            augmentation=config.training.augmentation,
            seed=config.run.seed,
            max_length=self._row_length,
        )
        self.fingerprint = text.fingerprint(prepared.token_fingerprint)  # of all that determines the ids of an epoch
        self.training_batches = TrainingBatches(
            text=text,
            row_length=self._row_length,
            rows=self._rows,
            drawn=tuple(row.drawn for row in self.mixture),
            seed=config.run.seed,
            processes=prepared.processes,
        )

    def held_out(self, split: HeldOutSplit) -> list[HeldOutSet]:
        """Return the raw held-out sets of `split`, without empty ones; `test` includes `evaluation.test_sets`."""
        return held_out_of_run(self._config, self.corpus, split, self.normalizer)

    def pair_count(self, split: Split) -> int:
        """Return the number of pairs of `split`; without over-long ones in training and validation."""
        if split == "test":
            return sum(self.corpus.count(split, name) for name in self.corpus.names(split))
        return sum(report.usable for report in self.report if report.split == split)

    def format_report(self) -> str:
        """Return text tables: pairs, over-long pairs and tokens of each source; the mixture if it is uneven."""
        table = format_lengths(self.report, self._row_length)
        if all(row.drawn == row.pairs for row in self.mixture):
            return table
        return f"{table}\n\n{format_mixture(self.mixture)}"

    def training_ids(self, limit: int) -> list[tuple[Ids, Ids]]:
        """Return the ids, without special tokens, of at most `limit` training pairs, spread evenly."""
        train = self._stores["train"]
        usable = np.concatenate(usable_by_source(train, self._row_length))
        stride = max(1, math.ceil(len(usable) / limit))
        return [train[int(number)] for number in usable[::stride]]

    def train_batches(self, position: DataPosition) -> Generator[tuple[Batch, DataPosition], None, None]:
        """Yield single whole batches, each with the position after it; otherwise as `TrainingBatches.steps`."""
        with contextlib.closing(self.training_batches.steps(position, accumulation=1)) as steps:
            for step in steps:
                yield step.batches[0], step.next_position

    def validation_batches(self) -> Iterator[Batch]:
        """Yield every usable validation pair once, in batches that are the same for every call and seed."""
        text = self._stores["validation"]
        usable = np.concatenate([np.zeros(0, np.int64), *usable_by_source(text, self._row_length)])
        lengths = text.lengths(usable)
        plan = plan_rows(lengths.source, lengths.target, self._row_length, epoch_generator(0, 0))
        for begin in range(0, len(plan), self._rows):
            end = min(begin + self._rows, len(plan))
            pair_counts = np.zeros(self._rows, np.int64)
            pair_counts[: end - begin] = plan.pair_counts(begin, end)
            yield self._batch(usable[plan.pairs_of(begin, end)], pair_counts)

    def _batch(self, pairs: Numbers, pair_counts: Numbers) -> Batch:
        """Return a batch of validation pairs, of which `pair_counts` (R,) share each row."""
        text = self._stores["validation"]
        source_ids, target_ids = text.flat(pairs)
        lengths = text.lengths(pairs)
        return collate(
            source_ids=source_ids,
            target_ids=target_ids,
            source_lengths=lengths.source,
            target_lengths=lengths.target,
            pairs=pairs,
            pair_counts=pair_counts,
            row_length=self._row_length,
        )
