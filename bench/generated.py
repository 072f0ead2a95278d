"""Generated corpora: pairs of random ids or words, with lengths like those of literary prose in subwords.

N pairs, L positions of a row
"""

import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from translator.config.training_section import AugmentationConfig
from translator.core import SPECIAL_TOKENS
from translator.corpus.preparation_counts import CorpusReport
from translator.corpus.prepared_corpus import PreparedCorpus, Side
from translator.data import DataHandler
from translator.data.epoch_text import EpochText
from translator.data.pair_text import PairText
from translator.data.token_store import PairStore, TokenWriter
from translator.data.training_batches import TrainingBatches
from translator.subword.block_encoding import FlatRows

NAME: Final = "generated"
POOL: Final = 1 << 16  # random ids, of which sentences are sections; sentences that are made at once
Lengths = NDArray[np.int64]


def random_lengths(count: int, longest: int) -> tuple[Lengths, Lengths]:
    """Return the tokens of `count` sources and targets, (N,) each, without special tokens; the same at every call.

    Lengths are log-normal: a median of 18 tokens, a mean of 22, and a long tail, which ends at `longest`.
    """
    generator = np.random.default_rng(1)
    source = np.exp(generator.normal(2.9, 0.65, count))
    target = source * np.exp(generator.normal(0.05, 0.25, count))
    return (
        source.astype(np.int64).clip(1, longest),
        target.astype(np.int64).clip(1, longest),
    )


def write_tokens(folder: Path, count: int, vocabulary: int, row_length: int) -> None:
    """Write the token stores of `count` pairs of random ids to `folder`, each of which fits into a row of L."""
    ids = np.random.default_rng(2).integers(len(SPECIAL_TOKENS), vocabulary, POOL, dtype=np.int32)
    source_lengths, target_lengths = random_lengths(count, row_length - 1)
    sides: tuple[tuple[Side, Lengths], ...] = (("en", source_lengths), ("fa", target_lengths))
    for side, lengths in sides:
        with TokenWriter(folder, side, vocabulary) as writer:
            # The sentences of each part are sections of the random ids, one after the other.
            for part in np.array_split(lengths, 1 + count // POOL):
                writer.append(FlatRows(ids=np.resize(ids, int(part.sum())), lengths=part))


class GeneratedData(DataHandler):
    """A `DataHandler` whose training text are the token stores of `write_tokens`; it has nothing else."""

    def __init__(self, folder: Path, count: int, *, rows: int, row_length: int) -> None:
        """Read the `count` pairs in `folder` in batches of `rows` rows of `row_length` positions."""
        report = CorpusReport(fingerprint="", normalizer_version=0, prepare_version=0, sources=[], test_sets=[])
        no_text = PreparedCorpus(directory=folder, fingerprint="", report=report)
        model: Any = SimpleNamespace(placeholders={})
        text = EpochText(
            store=PairStore(folder, {NAME: count}),
            text=PairText(no_text, folder),
            models=(model, model),
            sampling=0.0,
            augmentation=AugmentationConfig(),
            seed=1,
            max_length=row_length,
        )
        self.training_batches = TrainingBatches(
            text=text, row_length=row_length, rows=rows, draw_counts=(count,), seed=1, processes=1
        )


def write_text(path: Path, count: int, words: int, longest: int) -> None:
    """Write `count` pairs of made-up sentences to the TSV file `path`, from a lexicon of so many `words`."""
    spelling = random.Random(3)
    lexicon = []
    for _ in range(words):
        lexicon.append("".join(spelling.choices("abcdefghijklmnopqrstuvwxyz", k=spelling.randint(2, 6))))
    with path.open("w", encoding="utf-8") as file:
        source_lengths, target_lengths = random_lengths(count, longest)
        sources = _sentences(lexicon, source_lengths, seed=4)
        targets = _sentences(lexicon, target_lengths, seed=5)
        file.writelines(f"{source}\t{target}\n" for source, target in zip(sources, targets, strict=True))


def _sentences(lexicon: list[str], lengths: Lengths, seed: int) -> Iterator[str]:
    """Yield sentences of random words, so many in each."""
    generator = np.random.default_rng(seed)
    words = np.array(lexicon, object)
    # Many sentences at a time: drawing each word alone is slow, and the words of all take too much memory.
    for part in np.array_split(lengths, 1 + len(lengths) // POOL):
        word_count = int(part.sum())
        numbers = generator.integers(0, len(words), word_count)
        drawn_words = words[numbers].tolist()
        ends = np.cumsum(part).tolist()
        for end, length in zip(ends, part.tolist(), strict=True):
            yield " ".join(drawn_words[end - length : end])
