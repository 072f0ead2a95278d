"""Two small sources, and a recipe over them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.toy_corpora import letters, write_pairs
from translator.config import Config

TwoSourceRecipe = Callable[..., Config]


def write_sources(folder: Path) -> None:
    """Write one.tsv and two.tsv: sentences of one to five words, whose translation is their reverse."""
    for name, seed, pair_count in (("one", 1, 200), ("two", 2, 60)):
        words = letters(5 * pair_count, seed)
        pairs = []
        for number in range(pair_count):
            length = 1 + number % 5
            sentence_words = words[5 * number : 5 * number + length]
            text = " ".join(sentence_words)
            pairs.append((text, text[::-1]))
        write_pairs(folder / f"{name}.tsv", pairs)


def two_sources(
    folder: Path, subword: Mapping[str, object], typos: float = 0.0, weight: float = 1.0, /, **batching: object
) -> Config:
    """Return a recipe over one.tsv and two.tsv in `folder`, with a little of each held out."""
    return Config.model_validate(
        {
            "run": {"directory": str(folder / "run"), "seed": 3},
            "corpus": {
                "sources": [
                    {"name": "one", "path": str(folder / "one.tsv")},
                    {"name": "two", "path": str(folder / "two.tsv"), "weight": weight},
                ],
                "filters": {"min_target_script": None},
                "split": {"validation": 10, "test": 5},
                "prepared_directory": str(folder / "prepared"),
            },
            "subword": subword,
            "training": {"augmentation": {"typos": typos}},
            "batching": {"tokens_per_batch": 256, "max_length": 100, **batching},
        }
    )
