"""Generated corpora: pairs of made-up sentences, with lengths like those of literary prose in subwords, N pairs."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

POOL: Final = 1 << 16  # sentences that are made at once
Lengths = NDArray[np.int64]


def generated_recipe(folder: Path, vocabulary: int, rows: int, row_length: int) -> dict[str, Any]:
    """Return a recipe that says how the corpus in `folder` becomes batches."""
    return {
        "run": {"directory": str(folder / "run")},
        "corpus": {
            "sources": [{"name": "generated", "path": str(folder / "corpus.tsv")}],
            "prepared_directory": str(folder / "prepared"),
            "filters": {"min_target_script": None, "max_untranslated": None, "near_duplicates": None},
            "split": {"validation": 20, "test": 20},
        },
        "subword": {"model_type": "bpe", "vocabulary_size": vocabulary},
        "batching": {"tokens_per_batch": rows * row_length, "max_length": row_length},
    }


def write_corpus(folder: Path, count: int, vocabulary: int, row_length: int) -> None:
    """Write `count` pairs to corpus.tsv in `folder`, from a lexicon with somewhat fewer words than the vocabulary."""
    spelling = random.Random(3)
    words = []
    for _ in range(vocabulary * 3 // 4):
        words.append("".join(spelling.choices("abcdefghijklmnopqrstuvwxyz", k=spelling.randint(2, 6))))
    source_lengths, target_lengths = _random_lengths(count, longest=row_length * 3 // 4)
    sources = _sentences(words, source_lengths, seed=4)
    targets = _sentences(words, target_lengths, seed=5)
    with (folder / "corpus.tsv").open("w", encoding="utf-8") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in zip(sources, targets, strict=True))


def _random_lengths(count: int, longest: int) -> tuple[Lengths, Lengths]:
    """Return the words of `count` sources and targets, (N,) each; the same at every call.

    Lengths are log-normal: a median of 18, a mean of 22, and a long tail, which ends at `longest`.
    """
    generator = np.random.default_rng(1)
    source = np.exp(generator.normal(2.9, 0.65, count))
    target = source * np.exp(generator.normal(0.05, 0.25, count))
    return source.astype(np.int64).clip(1, longest), target.astype(np.int64).clip(1, longest)


def _sentences(lexicon: list[str], lengths: Lengths, seed: int) -> Iterator[str]:
    """Yield sentences of random words, so many in each."""
    generator = np.random.default_rng(seed)
    words = np.array(lexicon, object)
    # Many sentences at a time: drawing each word alone is slow, and the words of all take too much memory.
    for part in np.array_split(lengths, 1 + len(lengths) // POOL):
        drawn_words = words[generator.integers(0, len(words), int(part.sum()))].tolist()
        ends = np.cumsum(part).tolist()
        for end, length in zip(ends, part.tolist(), strict=True):
            yield " ".join(drawn_words[end - length : end])
