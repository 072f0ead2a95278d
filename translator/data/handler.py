"""`DataHandler`: from a configuration to batches."""

import contextlib
import itertools
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from translator.config import Config
from translator.core.batch import Batch
from translator.core.packing import plan_rows
from translator.corpus.held_out import HeldOutSet, HeldOutSplit, held_out_of_run
from translator.corpus.normalizer.normalizer_file import normalizer_for
from translator.corpus.prepare import prepare_corpus
from translator.corpus.selecting.split import Split
from translator.data.corpus_tokens import STORED_SPLITS, StoredSplit, open_tokens
from translator.data.epoch_text import EpochText
from translator.data.mixture import MixtureRow, epoch_generator, mixture_rows
from translator.data.training_batches import DataPosition, TrainingBatches, batch_of
from translator.errors import CorpusError
from translator.run.logging import LOGGER
from translator.run.workers import processes_for
from translator.subword import prepare_subword
from translator.subword.block_encoding import FlatRows


@dataclass(frozen=True)
class LengthReport:
    """Token counts and over-long pairs of one source of one split."""

    split: str
    name: str
    pairs: int
    over_long: int  # pairs excluded because a side has more than `batching.max_length` tokens
    longest: int  # tokens of the longest side, special token included
    source_tokens: int  # of the pairs within the limit, counting one special token per sentence
    target_tokens: int

    @property
    def usable(self) -> int:
        """The number of pairs within the limit."""
        return self.pairs - self.over_long


class DataHandler:
    """Corpus, subword models, token stores and batches of a recipe."""

    def __init__(self, config: Config) -> None:
        """Prepare what is missing, without downloads, and reuse the rest.

        Over-long pairs are excluded, never cut; `report` and a warning give their number. Over-long validation pairs
        are excluded only from the validation loss.

        Raises TranslatorError: an error in corpus, subword settings or disk, or no training pair is short enough.
        """
        self._config = config
        self._row_length = config.batching.max_length  # L
        self._rows = config.batching.tokens_per_batch // config.batching.max_length  # R

        # 1. Clean text.
        self.normalizer = normalizer_for(config)  # its rules made the training text; any other text needs them too
        self.corpus = prepare_corpus(config.corpus, config.evaluation.test_sources, self.normalizer.rules)

        # 2. Subword models, and the text as their ids.
        directory = Path(config.corpus.prepared_directory)
        processes = processes_for(config.corpus.workers, self.corpus.training_bytes())
        self.subword, self.subword_folder = prepare_subword(config.subword, self.corpus, directory, processes)
        # The fingerprint is that of text and models.
        self._stores, self.token_fingerprint = open_tokens(
            self.corpus, self.subword, self.normalizer, directory, processes
        )

        # 3. The lengths of the pairs, and the share of each source in an epoch.
        self.report: list[LengthReport] = []
        for split in STORED_SPLITS:
            self.report += self._length_reports(split)
        self.mixture = self._mixture()

        # 4. The batches.
        train = self._stores["train"]
        text = EpochText(
            store=train,
            models=(self.subword.source, self.subword.target),
            augmentation=config.training.augmentation,
            seed=config.run.seed,
            max_length=self._row_length,
        )
        self.fingerprint = text.fingerprint(self.token_fingerprint)  # of all that determines the ids of an epoch
        self.training_batches = TrainingBatches(
            text=text,
            rows=self._rows,
            draw_counts=tuple(row.drawn for row in self.mixture),
        )

    def _length_reports(self, split: StoredSplit) -> list[LengthReport]:
        """Return a report of each source of `split`; warn of the pairs that do not fit into a row.

        Raises CorpusError: no training pair fits.
        """
        # 1. Measure the pairs of each source, which have consecutive numbers.
        store = self._stores[split]
        reports = []
        for name, (start, end) in zip(store.pairs, itertools.pairwise(store.starts.tolist()), strict=True):
            source_lengths, target_lengths = store.lengths(np.arange(start, end))
            longer_side = np.maximum(source_lengths, target_lengths)  # tokens of each pair
            fits = longer_side <= self._row_length
            report = LengthReport(
                split=split,
                name=name,
                pairs=end - start,
                over_long=end - start - int(fits.sum()),
                longest=int(longer_side.max()),
                source_tokens=int(source_lengths[fits].sum()),
                target_tokens=int(target_lengths[fits].sum()),
            )
            reports.append(report)

        # 2. Tell how many pairs do not fit.
        over_long = sum(report.over_long for report in reports)
        if over_long == 0:
            return reports
        longest = max(report.longest for report in reports)
        limit = f"batching.max_length: {self._row_length} tokens (the longest has {longest})"
        if split == "train" and over_long == len(store):
            raise CorpusError(
                f"no training pair is left: all {over_long:,} are longer than {limit}; raise it, or raise "
                "subword.vocabulary_size to make fewer tokens"
            )
        share = f"{over_long:,} of {len(store):,} {split} pairs ({over_long / len(store):.2%})"
        effect = "excluded from the loss" if split == "validation" else "excluded"
        LOGGER.warning(f"{share} are longer than {limit} and are {effect}")
        return reports

    def _mixture(self) -> list[MixtureRow]:
        """Return the share of each source in an epoch."""
        pair_counts = {lengths.name: lengths.usable for lengths in self.report if lengths.split == "train"}
        weights = {}
        for source in self._config.corpus.sources:
            if source.use in ("auto", "train"):
                weights[source.name] = source.weight
        return mixture_rows(pair_counts, weights, self._config.batching.temperature)

    def held_out(self, split: HeldOutSplit) -> list[HeldOutSet]:
        """Return the raw held-out sets of `split`, without empty ones; `test` includes `evaluation.test_sets`."""
        return held_out_of_run(self._config, self.corpus, split, self.normalizer)

    def pair_count(self, split: Split) -> int:
        """Return the number of pairs of `split`; without over-long ones in training and validation."""
        if split == "test":
            return sum(self.corpus.count(split, name) for name in self.corpus.names(split))
        return sum(report.usable for report in self.report if report.split == split)

    def training_ids(self, limit: int) -> tuple[FlatRows, FlatRows]:
        """Return the ids of the sources and the targets of at most `limit` training pairs, spread evenly."""
        train = self._stores["train"]
        usable = np.concatenate(train.usable_by_source(self._row_length))
        stride = max(1, math.ceil(len(usable) / limit))
        return train.flat(usable[::stride])

    def train_batches(self, position: DataPosition) -> Generator[tuple[Batch, DataPosition], None, None]:
        """Yield single whole batches, each with the position after it; otherwise as `TrainingBatches.steps`."""
        with contextlib.closing(self.training_batches.steps(position, accumulation=1)) as steps:
            for step in steps:
                yield step.batches[0], step.next_position

    def validation_batches(self) -> Iterator[Batch]:
        """Yield every usable validation pair once, in batches that are the same for every call and seed."""
        # 1. Plan rows of the pairs that fit into one.
        store = self._stores["validation"]
        usable = np.concatenate(store.usable_by_source(self._row_length))
        source_lengths, target_lengths = store.lengths(usable)
        plan = plan_rows(source_lengths, target_lengths, self._row_length, epoch_generator(0, 0))

        # 2. Make batches of R rows.
        for begin in range(0, len(plan), self._rows):
            end = min(begin + self._rows, len(plan))
            pair_counts = plan.pair_counts(begin, end, self._rows)  # the last batch ends with empty rows
            places = plan.pairs_of(begin, end)  # the plan numbers the usable pairs only
            pairs = usable[places]
            source, target = store.flat(pairs)
            yield batch_of(source, target, pairs, pair_counts, self._row_length)
