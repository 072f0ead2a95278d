"""Recipes and folders for tests of whole evaluations."""

from pathlib import Path
from typing import Any

from toy import letters, write_pairs

from translator.config import Config

FEW = "evaluation.bootstrap_samples=40"
"""An override: no test here is about the width of an interval."""


def lines(path: Path) -> list[str]:
    """Return the lines of a file that ends with one."""
    content = path.read_text(encoding="utf-8")
    assert content.endswith("\n")
    return content[:-1].split("\n")


def with_test_set(tiny: Any, tmp_path: Path) -> Config:
    """Return a recipe with a further test set whose references differ from their normalized form."""
    pairs = [(word, f"{word} كتاب .") for word in letters(9, seed=5, alphabet="stuvwx")]
    write_pairs(tmp_path / "extra.tsv", pairs)
    config: Config = tiny(f"evaluation.test_sets=[{{name: extra, path: {tmp_path}/extra.tsv}}]", FEW)
    return config
