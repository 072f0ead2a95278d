"""A run's training text is found from any folder, and leaked sentences are counted."""

import logging
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.toy_corpora import write_pairs
from tests.support.untrained import untrained_run
from translator.corpus.held_out import HeldOutSet
from translator.evaluation.test_sets import warn_of_leaks

TRAINING = [("The door is open", "در باز است"), ("the door's key", "کلید در"), ("Nobody knows", "کسی نمی‌داند")]


def held_out(*rows: tuple[str, ...]) -> HeldOutSet:
    """A test set of these sentences: of each row, the source, then the references."""
    return HeldOutSet(
        name="news",
        sources=tuple(row[0] for row in rows),
        references=tuple(row[1:] for row in rows),
        origins=("news",) * len(rows),
    )


def test_leaked_sentences_are_counted_as_long_as_the_training_text_is_there(
    tiny: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A sentence counts as known if the training text contains either of its sides, in any spelling."""
    write_pairs(tmp_path / "toy.tsv", TRAINING)
    run = untrained_run(tiny("corpus.split={validation: 0, test: 0}", "corpus.filters.near_duplicates=null"))
    rows = held_out(("the DOOR is open!", "x"), ("x", "كسي نمي‌داند."), ("y", "z"), ("The door", "در"))
    with caplog.at_level(logging.INFO, logger="translator"):
        warn_of_leaks(run, [rows])
        assert "was trained on 2 of the 4 sentences of test set `news`" in caplog.text
        shutil.rmtree(tmp_path / "prepared")
        warn_of_leaks(run, [rows])
    assert "is not on this disk" in caplog.text
