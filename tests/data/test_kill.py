"""Preparation killed at any time leaves no partial result; the next run gives what an uninterrupted one would."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import contents
from tests.support.faults import Faults, Killed
from tests.support.toy_corpora import letters, write_pairs
from translator.data import DataHandler


def test_preparation_killed_at_a_file_operation_leaves_no_partial_folder(tiny: Any, tmp_path: Path) -> None:
    """Kills at chosen file operations: with so little text, a kill at a random time would rarely hit one."""
    # A corpus of two sources.
    names = ("words", "more")
    for seed, name in enumerate(names):
        write_pairs(tmp_path / f"{name}.tsv", [(word, word) for word in letters(300, seed=seed)])
    sources = ", ".join(f"{{name: {name}, path: {tmp_path}/{name}.tsv}}" for name in names)
    config = tiny(f"corpus.sources=[{sources}]", "corpus.split={validation: 100, test: 100}", "corpus.workers=1")
    # What an uninterrupted preparation makes.
    DataHandler(config)
    prepared = tmp_path / "prepared"
    expected = contents(prepared)

    # The file operations of the stages after the corpus.
    later_stages = [*prepared.glob("subword-*"), *prepared.glob("tokens-*")]
    for folder in later_stages:
        shutil.rmtree(folder)
    with Faults(prepared) as counted:
        DataHandler(config)
    assert len(counted.operations) > 3 * 8, "each of eight stores has three files"

    # A kill at every fifth of them leaves only whole folders, and hidden ones.
    for at in range(1, len(counted.operations) + 1, 5):
        for folder in later_stages:
            shutil.rmtree(folder, ignore_errors=True)
        with Faults(prepared, at), pytest.raises(Killed):
            DataHandler(config)
        visible = {name: content for name, content in contents(prepared).items() if not name.startswith(".")}
        assert visible.items() <= expected.items(), counted.operations[at - 1]

    # The run after the last kill completes what is missing.
    DataHandler(config)
    assert contents(prepared) == expected
