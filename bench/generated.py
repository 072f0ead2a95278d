"""Generated corpora: pairs of made-up sentences, with lengths like those of literary prose in subwords."""

import random
import string
from pathlib import Path
from typing import Any


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
    """Write `count` pairs to corpus.tsv in `folder`, always the same, from a lexicon smaller than the vocabulary.

    The words of a side are log-normal: a median of 18, a mean of 22, and a long tail.
    """
    draw = random.Random(3)
    longest = row_length * 3 // 4
    words = ["".join(draw.choices(string.ascii_lowercase, k=draw.randint(2, 6))) for _ in range(vocabulary * 3 // 4)]
    with (folder / "corpus.tsv").open("w", encoding="utf-8") as file:
        for _ in range(count):
            source_words = draw.lognormvariate(2.9, 0.65)
            target_words = source_words * draw.lognormvariate(0.05, 0.25)
            sides = []
            for length in (source_words, target_words):
                sides.append(" ".join(draw.choices(words, k=max(1, min(longest, int(length))))))
            file.write("\t".join(sides) + "\n")
