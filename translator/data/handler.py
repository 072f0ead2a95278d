"""`DataHandler`: from a configuration to batches."""

import contextlib
import math
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from translator.config import Config
from translator.corpus.file_hashes import FileHashes
from translator.corpus.held_out import HeldOutSet, HeldOutSplit, held_out_of_run
from translator.corpus.normalizer_file import normalizer_for
from translator.corpus.prepare import prepare_corpus
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.split import Split
from translator.data.batch import Batch, DataPosition
from translator.data.corpus_tokens import STORED_SPLITS, StoredSplit, open_tokens
from translator.data.epoch_sampling import EpochSampler
from translator.data.mixture import MixtureRow, epoch_generator, mixture_rows
from translator.data.packing import RowPlan, plan_rows
from translator.data.preparation_report import LengthReport, format_lengths, format_mixture, measure_lengths
from translator.data.training_batches import TrainingBatches, collate_planned, usable_numbers
from translator.errors import CorpusError
from translator.run.logging import LOGGER, stage
from translator.run.workers import processes_for
from translator.subword import SubwordPair, prepare_subword
from translator.subword.flat_rows import Ids


class DataHandler:
    """Corpus, subword models, token stores and batches of a recipe; call `prepare` first."""

    corpus: PreparedCorpus
    subword: SubwordPair
    subword_folder: Path
    token_folder: Path
    token_fingerprint: str  # of the text and the models only; the same for any strength of sampling
    fingerprint: str  # of everything that determines the ids of an epoch
    report: list[LengthReport]  # lengths of each source in the training and the validation split
    mixture: list[MixtureRow]  # the share of each source in an epoch
    training_batches: TrainingBatches

    def __init__(self, config: Config) -> None:
        self._config = config
        self.normalizer = normalizer_for(config)
        """The rules applied to the training text; apply them to any other text before encoding."""
        self._prepared_directory = Path(config.corpus.prepared_directory)
        self._row_length = config.batching.max_length  # L
        self._rows = config.batching.tokens_per_batch // config.batching.max_length  # R

    def prepare(self, verified: FileHashes | None = None) -> "DataHandler":
        """Prepare all missing data, without downloads, and return this handler.

        Args:
            verified: `corpus.file_hashes` of another process, which has just prepared the same data on this machine;
                then neither the files nor the prepared data are hashed once more.

        Over-long pairs are excluded, never cut; `report` and a warning give their number. Over-long validation pairs
        are excluded only from the validation loss.

        Raises TranslatorError: an error in corpus, subword settings or disk, or no training pair is short enough.
        """
        config = self._config
        corpus = prepare_corpus(config.corpus, config.evaluation.test_sources, self.normalizer.rules, verified)
        self.corpus = replace(corpus, languages=config.corpus.languages)
        processes = processes_for(config.corpus.workers, self.corpus.training_bytes())
        with stage("subword"):
            self.subword, self.subword_folder = prepare_subword(
                config.subword, self.corpus, self._prepared_directory, workers=processes
            )
        with stage("encode"):
            self._stores, self.token_folder, self.token_fingerprint = open_tokens(
                self.corpus,
                self.subword,
                self.normalizer,
                self._prepared_directory,
                processes,
                verify=verified is None,
            )
        self.report = []
        for split in STORED_SPLITS:
            self.report += self._measured(split)
        self.mixture = self._mixture()
        sampler = self._sampler()
        self.fingerprint = self.token_fingerprint if sampler is None else sampler.fingerprint(self.token_fingerprint)
        self.training_batches = TrainingBatches(
            token_folder=self.token_folder / "train",
            sources=tuple(self._stores["train"].names),
            sides=self.corpus.sides,
            row_length=self._row_length,
            rows=self._rows,
            drawn=tuple(row.drawn for row in self.mixture),
            seed=config.run.seed,
            sampler=sampler,
            prepared_directory=self._prepared_directory,
            processes=processes,
        )
        return self

    def _sampler(self) -> EpochSampler | None:
        """Return the sampler of the training text; None if every epoch reads the stored ids."""
        strength = self._config.subword.sampling
        augmentation = self._config.training.augmentation
        if not strength and not any(augmentation.model_dump().values()):
            return None
        return EpochSampler(
            self.corpus, self.subword_folder, strength, augmentation, self._config.run.seed, self._row_length
        )

    def _mixture(self) -> list[MixtureRow]:
        """Return the share of each source in an epoch."""
        pair_counts = {report.name: report.usable for report in self.report if report.split == "train"}
        weights = {}
        for source in self._config.corpus.sources:
            if source.use in ("auto", "train"):
                weights[source.name] = source.weight
        return mixture_rows(pair_counts, weights, self._config.batching.temperature)

    def _measured(self, split: StoredSplit) -> list[LengthReport]:
        """Return a report of each source of `split`; warn of the pairs that do not fit into a row."""
        store = self._stores[split]
        reports = list(measure_lengths(split, store, self._row_length))
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
        usable = np.concatenate(list(usable_numbers(train, self._row_length)))
        stride = max(1, math.ceil(len(usable) / limit))
        return [train[int(number)] for number in usable[::stride]]

    def train_batches(self, position: DataPosition) -> Generator[tuple[Batch, DataPosition], None, None]:
        """Yield single whole batches, each with the position after it; otherwise as `TrainingBatches.steps`."""
        with contextlib.closing(self.training_batches.steps(position, accumulation=1)) as steps:
            for step in steps:
                yield step.batches[0], step.position

    def validation_batches(self) -> Iterator[Batch]:
        """Yield every usable validation pair once, in batches that are the same for every call and seed."""
        text = self._stores["validation"]
        usable = np.concatenate([np.zeros(0, np.int32), *usable_numbers(text, self._row_length)])
        plan = RowPlan.of(plan_rows(usable, text.lengths, self._row_length, epoch_generator(0, 0)))
        for begin in range(0, len(plan), self._rows):
            yield collate_planned(
                text,
                plan,
                begin,
                min(begin + self._rows, len(plan)),
                rows=self._rows,
                row_length=self._row_length,
            )
