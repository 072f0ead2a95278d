"""`DataHandler`, the face of this room: from a configuration to batches."""

import contextlib
import itertools
import logging
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from translator.config import Config
from translator.corpus.normalize import Normalizer
from translator.corpus.prepare import PreparedCorpus, prepare_corpus
from translator.corpus.split import Split
from translator.data.batch import Batch, StepBatches, collate
from translator.data.batching import DataPosition, Numbers, epoch_generator, plan_batches
from translator.data.encoding import StoredSplit, open_tokens
from translator.data.epoch_stores import EpochStores
from translator.data.length_report import LengthReport, format_lengths, measure_lengths
from translator.data.mixture import MixtureRow, epoch_draws, format_mixture, mixture_rows
from translator.data.pair_store import Pairs, PairStore, SampledPairs
from translator.data.sampling import EpochSampler
from translator.data.shares import Rows, share_step
from translator.errors import CorpusError
from translator.stages import stage
from translator.subword import SubwordPair, prepare_subword
from translator.workers import processes_for

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
            StorageError: the disk is full, may not be written, or prepared text is damaged.
        """
        prepared = Path(config.corpus.prepared_directory)
        self.corpus: PreparedCorpus = prepare_corpus(config.corpus, config.evaluation.test_sets)
        self.subword: SubwordPair
        self.subword_folder: Path
        text = (self.corpus.directory / "train").glob("*.*")
        self._processes = processes_for(config.corpus.workers, sum(file.stat().st_size for file in text))
        with stage("subword"):
            self.subword, self.subword_folder = prepare_subword(
                config.subword, self.corpus, prepared, workers=self._processes
            )
        self._stores: dict[StoredSplit, PairStore]
        with stage("encode"):
            self._stores, self.token_folder, self.fingerprint = open_tokens(
                self.corpus, self.subword, config.corpus.normalization, prepared
            )
        self.token_fingerprint = self.fingerprint  # of the text alone, however strongly it is sampled
        self._sampler: EpochSampler | None = None
        if config.subword.sampling:
            self._sampler = EpochSampler(self.corpus, self.subword_folder, config.subword.sampling, config.run.seed)
            self.fingerprint = self._sampler.fingerprint(self.fingerprint)
        self.normalizer = Normalizer(config.corpus.normalization)
        """What training text has been through, and other text must go through before it is encoded."""
        self._prepared = prepared
        self._seed = config.run.seed
        self._batching = config.batching
        self._usable: dict[StoredSplit, Numbers] = {}
        """Numbers of the pairs that are short enough."""
        self.report: list[LengthReport] = []
        for split, store in self._stores.items():
            longer = np.maximum(store.source_lengths, store.target_lengths)
            self._usable[split] = np.flatnonzero(longer <= config.batching.max_length)
            self.report += measure_lengths(split, store, config.batching.max_length)
        self._judge()
        train = self._stores["train"]
        self._usable_of_source = np.split(
            self._usable["train"], np.searchsorted(self._usable["train"], train.starts[1:-1])
        )
        self.mixture: list[MixtureRow] = mixture_rows(
            dict(zip(train.names, map(len, self._usable_of_source), strict=True)),
            {source.name: source.weight for source in config.corpus.sources if source.use in ("auto", "train")},
            config.batching.temperature,
        )
        """What each source gives to an epoch."""

    def pair_count(self, split: Split) -> int:
        """Return the pairs of `split`; over-long ones are not counted in training and validation."""
        if split == "test":
            return sum(self.corpus.count(split, name) for name in self.corpus.names(split))
        return len(self._usable[split])

    def format_report(self) -> str:
        """Return tables for a person: pairs, over-long pairs and tokens of each source; the mixture if it is uneven."""
        table = format_lengths(self.report, self._batching.max_length)
        if all(row.drawn == row.pairs for row in self.mixture):
            return table
        return f"{table}\n\n{format_mixture(self.mixture)}"

    def train_steps(
        self,
        position: DataPosition,
        accumulation: int,
        rank: int = 0,
        world: int = 1,
        check: Callable[[], None] = lambda: None,
    ) -> Generator[StepBatches, None, None]:
        """Yield what process `rank` of `world` computes of each step, from `position` on, without end.

        The batches are a function of the seed and the epoch alone, so going on from a saved position gives the very
        ones that would have come; and a step is the same batches on any number of processes. An epoch holds every
        usable pair once, unless weights or a temperature mix the sources otherwise; a step may hold the end of one
        epoch and the beginning of the next. With `subword.sampling` the next epoch is sampled while this one is read:
        close the iterator when it is no longer needed.

        Args:
            position: where to begin.
            accumulation: batches of a step, all processes together.
            rank: of this process, from 0.
            world: number of processes that share each step.
            check: called while text is sampled and the batches wait for it; it may raise to stop.

        Raises:
            StorageError: a sampled epoch cannot be written.
        """
        assert accumulation >= 1 and 0 <= rank < world
        with contextlib.closing(self._train_rows(position, check)) as planned:
            while True:
                step = list(itertools.islice(planned, accumulation))
                shares = share_step([rows for rows, _ in step], world)
                pieces = list(itertools.chain.from_iterable(shares))
                yield StepBatches(
                    tuple(_batch(piece) for piece in shares[rank]),
                    target_tokens=sum(piece.target_tokens for piece in pieces),
                    source_tokens=sum(piece.source_tokens for piece in pieces),
                    positions=sum(piece.positions for piece in pieces),
                    position=step[-1][1],
                )

    def train_batches(
        self, position: DataPosition, check: Callable[[], None] = lambda: None
    ) -> Generator[tuple[Batch, DataPosition], None, None]:
        """Yield whole batches one at a time, each with the position after it; otherwise as `train_steps`."""
        with contextlib.closing(self.train_steps(position, accumulation=1, check=check)) as steps:
            for step in steps:
                yield step.batches[0], step.position

    def _train_rows(
        self, position: DataPosition, check: Callable[[], None]
    ) -> Generator[tuple[Rows, DataPosition], None, None]:
        """Yield the rows of each batch from `position` on, with the position after it; nothing is read."""
        epoch, done = position.epoch, position.batch
        plain, draws = self._stores["train"], [row.drawn for row in self.mixture]
        with contextlib.ExitStack() as stack:
            sampled: EpochStores | None = None
            if self._sampler is not None:
                sampled = stack.enter_context(EpochStores(self._sampler, self._prepared, self._processes, check))
            while True:
                pairs: Pairs = plain
                if sampled is not None:
                    pairs = SampledPairs(plain, sampled.take(epoch), self._batching.max_length)
                drawn = epoch_draws(self._usable_of_source, draws, self._seed, epoch)
                plan = self._plan(pairs, drawn, epoch_generator(self._seed, epoch))
                assert done < len(plan), f"epoch {epoch} has {len(plan)} batches, not {done}"
                for number in range(done, len(plan)):
                    last = number + 1 == len(plan)
                    after = DataPosition(epoch + 1, 0) if last else DataPosition(epoch, number + 1)
                    yield Rows(pairs, plan[number]), after
                epoch, done = epoch + 1, 0

    def validation_batches(self) -> Iterator[Batch]:
        """Yield every usable validation pair once, in batches that are the same at every call and for every seed."""
        pairs = self._stores["validation"]
        for numbers in self._plan(pairs, self._usable["validation"], epoch_generator(0, 0)):
            yield _batch(Rows(pairs, numbers))

    def _plan(self, pairs: Pairs, chosen: Numbers, generator: np.random.Generator) -> list[Numbers]:
        """Return batches of the pairs whose numbers are `chosen`."""
        plan = plan_batches(
            pairs.source_lengths[chosen],
            pairs.target_lengths[chosen],
            tokens_per_batch=self._batching.tokens_per_batch,
            max_sentences=self._batching.max_sentences,
            generator=generator,
        )
        return [chosen[places] for places in plan]

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


def _batch(rows: Rows) -> Batch:
    """Read the pairs of `rows`."""
    sources, targets = zip(*(rows.pairs[int(number)] for number in rows.numbers), strict=True)
    return collate(sources, targets, rows.numbers)
