"""`DataHandler`: from a configuration to batches; and `read_ahead`, which prefetches them in a thread."""

import contextlib
import itertools
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from translator.config import Config
from translator.corpus.held_out import HeldOutSet, HeldOutSplit, held_out_of_run
from translator.corpus.normalizer import Normalizer
from translator.corpus.prepare import PreparedCorpus, prepare_corpus
from translator.corpus.split import Split
from translator.data.batch import Batch, StepBatches, collate
from translator.data.batching import (
    DataPosition,
    MixtureRow,
    Numbers,
    Rows,
    epoch_draws,
    epoch_generator,
    mixture_rows,
    plan_batches,
    share_step,
)
from translator.data.report import LengthReport, format_lengths, format_mixture, measure_lengths
from translator.data.sampling import Draws, EpochSampler, sampled_epochs
from translator.data.token_store import STORED_SPLITS, Ids, PairStore, StoredSplit, open_tokens
from translator.errors import CorpusError
from translator.run.logging import LOGGER, stage
from translator.run.workers import processes_for
from translator.subword import SubwordPair, prepare_subword

Item = TypeVar("Item")
Check = Callable[[], None]  # called periodically during long work; may raise to stop it

_POLL: Final = 0.1  # seconds between two calls of a check while waiting


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

    def __init__(self, config: Config) -> None:
        self._config = config
        self.normalizer = Normalizer(config.corpus.normalization, config.corpus.languages)
        """The rules applied to the training text; apply them to any other text before encoding."""
        self._prepared = Path(config.corpus.prepared_directory)
        self._sampler: EpochSampler | None = None

    def prepare(self) -> "DataHandler":
        """Prepare all missing data, without downloads, and return this handler.

        Over-long pairs are excluded, never cut; `report` and a warning give their number. Over-long validation pairs
        are excluded only from the validation loss.

        Raises TranslatorError: an error in corpus, subword settings or disk, or no training pair is short enough.
        """
        config = self._config
        corpus = prepare_corpus(config.corpus, config.evaluation.test_sources)
        self.corpus = replace(corpus, languages=config.corpus.languages)
        text = (self.corpus.directory / "train").glob("*.*")
        self._processes = processes_for(config.corpus.workers, sum(file.stat().st_size for file in text))
        with stage("subword"):
            self.subword, self.subword_folder = prepare_subword(
                config.subword, self.corpus, self._prepared, workers=self._processes
            )
        with stage("encode"):
            self._stores, self.token_folder, self.token_fingerprint = open_tokens(
                self.corpus, self.subword, config.corpus.normalization, self._prepared
            )
        self.fingerprint = self.token_fingerprint
        strength, augmentation = config.subword.sampling, config.training.augmentation
        if strength or any(augmentation.model_dump().values()):
            seed, limit = config.run.seed, config.batching.max_length
            self._sampler = EpochSampler(self.corpus, self.subword_folder, strength, augmentation, seed, limit)
            self.fingerprint = self._sampler.fingerprint(self.token_fingerprint)
        self.report = []
        self._usable = {split: self._measure(split) for split in STORED_SPLITS}
        train, usable = self._stores["train"], self._usable["train"]
        self._usable_of_source = np.split(usable, np.searchsorted(usable, train.starts[1:-1]))
        self.mixture = mixture_rows(
            dict(zip(train.names, map(len, self._usable_of_source), strict=True)),
            {source.name: source.weight for source in config.corpus.sources if source.use in ("auto", "train")},
            config.batching.temperature,
        )
        return self

    def _measure(self, split: StoredSplit) -> Numbers:
        store, limit = self._stores[split], self._config.batching.max_length
        usable = np.flatnonzero(store.longer_side <= limit)
        self.report += measure_lengths(split, store, limit)
        if left_out := len(store) - len(usable):
            longest = f"batching.max_length: {limit} tokens (the longest has {store.longer_side.max()})"
            if split == "train" and not len(usable):
                raise CorpusError(
                    f"no training pair is left: all {left_out:,} are longer than {longest}; raise it, or raise "
                    "subword.vocabulary_size to make fewer tokens"
                )
            LOGGER.warning(
                f"{left_out:,} of {len(store):,} {split} pairs ({left_out / len(store):.2%}) are longer than {longest} "
                f"and are excluded{' from the loss' if split == 'validation' else ''}"
            )
        return usable

    def held_out(self, split: HeldOutSplit) -> list[HeldOutSet]:
        """Return the raw held-out sets of `split`, without empty ones; `test` includes `evaluation.test_sets`."""
        return held_out_of_run(self._config, self.corpus, split)

    def pair_count(self, split: Split) -> int:
        """Return the number of pairs of `split`; without over-long ones in training and validation."""
        if split == "test":
            return sum(self.corpus.count(split, name) for name in self.corpus.names(split))
        return len(self._usable[split])

    def format_report(self) -> str:
        """Return text tables: pairs, over-long pairs and tokens of each source; the mixture if it is uneven."""
        table = format_lengths(self.report, self._config.batching.max_length)
        uneven = any(row.drawn != row.pairs for row in self.mixture)
        return f"{table}\n\n{format_mixture(self.mixture)}" if uneven else table

    def training_ids(self, most: int) -> list[tuple[Ids, Ids]]:
        """Return the ids, without special tokens, of at most `most` training pairs, spread evenly."""
        train, usable = self._stores["train"], self._usable["train"]
        return [train[int(number)] for number in usable[:: max(1, -(-len(usable) // most))]]

    def train_steps(
        self,
        position: DataPosition,
        accumulation: int,
        rank: int = 0,
        world: int = 1,
        check: Check = lambda: None,
    ) -> Generator[StepBatches, None, None]:
        """Yield the batches of process `rank` of `world` for each step, from `position`, endlessly.

        The batches depend only on seed and epoch, so iteration resumes exactly from a saved position. A step has the
        same `accumulation` batches for any number of processes, and may extend into the next epoch. An epoch has every
        usable pair once, unless weights or a temperature change the mixture. With `subword.sampling` or augmentation,
        the next epoch is sampled while this one is read: close the iterator after use. `check` is called while the
        batches wait for sampled text.
        """
        assert accumulation >= 1 and 0 <= rank < world
        with contextlib.closing(self._train_rows(position, check)) as planned:
            while True:
                step = list(itertools.islice(planned, accumulation))
                shares = share_step([rows for rows, _ in step], world)
                pieces = list(itertools.chain.from_iterable(shares))
                yield StepBatches(
                    tuple(map(_batch, shares[rank])),
                    target_tokens=sum(piece.target_tokens for piece in pieces),
                    source_tokens=sum(piece.source_tokens for piece in pieces),
                    positions=sum(piece.positions for piece in pieces),
                    position=step[-1][1],
                )

    def train_batches(self, position: DataPosition) -> Generator[tuple[Batch, DataPosition], None, None]:
        """Yield single whole batches, each with the position after it; otherwise as `train_steps`."""
        with contextlib.closing(self.train_steps(position, accumulation=1)) as steps:
            for step in steps:
                yield step.batches[0], step.position

    def _train_rows(self, position: DataPosition, check: Check) -> Generator[tuple[Rows, DataPosition], None, None]:
        """Yield the rows of each batch from `position`, with the position after it; reads no ids."""
        seed, done = self._config.run.seed, position.batch
        with contextlib.closing(self._epochs(position.epoch, check)) as epochs:
            for epoch, pairs in enumerate(epochs, start=position.epoch):
                drawn = self._draws(epoch)
                # Sampled text has a row for each draw, in the same order.
                rows, of_rows = (drawn, None) if self._sampler is None else (np.arange(len(drawn)), drawn)
                plan = self._plan(pairs, rows, epoch_generator(seed, epoch))
                del drawn, rows
                assert done < len(plan), f"epoch {epoch} has {len(plan)} batches, not {done}"
                for number in range(done, len(plan)):
                    last = number + 1 == len(plan)
                    after = DataPosition(epoch + 1, 0) if last else DataPosition(epoch, number + 1)
                    yield Rows(pairs, plan[number], of_rows), after
                done = 0

    def _draws(self, epoch: int) -> Numbers:
        drawn = [row.drawn for row in self.mixture]
        return epoch_draws(self._usable_of_source, drawn, self._config.run.seed, epoch)

    def _epochs(self, first: int, check: Check) -> Generator[PairStore, None, None]:
        """Yield the training pairs of each epoch; a thread samples or augments the next ones ahead."""
        sampler = self._sampler
        if sampler is None:
            yield from itertools.repeat(self._stores["train"])
        else:
            train = self._stores["train"]

            def counts(epoch: int) -> Draws:
                times = np.bincount(self._draws(epoch), minlength=len(train))
                return dict(zip(train.names, np.split(times, train.starts[1:-1]), strict=True))

            yield from read_ahead(
                lambda wanted: sampled_epochs(sampler, counts, first, self._prepared, self._processes, wanted),
                check,
                depth=1,
            )

    def validation_batches(self) -> Iterator[Batch]:
        """Yield every usable validation pair once, in batches that are the same for every call and seed."""
        pairs = self._stores["validation"]
        for numbers in self._plan(pairs, self._usable["validation"], epoch_generator(0, 0)):
            yield _batch(Rows(pairs, numbers))

    def _plan(self, pairs: PairStore, chosen: Numbers, generator: np.random.Generator) -> list[Numbers]:
        plan = plan_batches(
            pairs.source_lengths[chosen],
            pairs.target_lengths[chosen],
            tokens_per_batch=self._config.batching.tokens_per_batch,
            max_sentences=self._config.batching.max_sentences,
            generator=generator,
        )
        return [chosen[places] for places in plan]


def _batch(rows: Rows) -> Batch:
    sources, targets = zip(*(rows.pairs[int(number)] for number in rows.numbers), strict=True)
    return collate(sources, targets, rows.of_pairs)


class _UnwantedError(Exception):
    """Ends work whose result is no longer needed."""


def read_ahead(
    items: Callable[[Check], Generator[Item, None, None]], check: Check = lambda: None, depth: int = 2
) -> Generator[Item, None, None]:
    """Yield the items of `items`, which a thread produces ahead; close the iterator to end the thread.

    An error of `items` is raised after all items before it.

    Args:
        items: called once, with a check to call in long work; the check raises when no more items are needed.
        check: called by the consumer while it waits, about ten times per second.
        depth: maximum number of items produced ahead, including one in progress; at least 1.
    """
    closed = threading.Event()

    def check_wanted() -> None:
        if closed.is_set():
            raise _UnwantedError

    source = items(check_wanted)
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reading ahead")
    waiting = deque(executor.submit(next, source, None) for _ in range(depth))
    try:
        while True:
            check()
            if not wait([waiting[0]], timeout=_POLL).done:
                continue
            item = waiting.popleft().result()
            if item is None:
                return
            waiting.append(executor.submit(next, source, None))
            yield item
    finally:
        closed.set()
        executor.shutdown(cancel_futures=True)
        source.close()
