"""Other languages are recognised; a run's training text is found from any folder, and leaked sentences are counted."""

import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from toy import write_pairs
from untrained import untrained_run

from translator.config import NormalizationConfig
from translator.corpus.held_out import HeldOutSet
from translator.corpus.normalizer import Normalizer
from translator.errors import CorpusError
from translator.evaluation.test_sets import check_languages, look_into_training
from translator.run.folder import RunFolder

NORMALIZER = Normalizer(NormalizationConfig())
ENGLISH, PERSIAN = "The door is open.", "در باز است."
TRAINING = [("The door is open", "در باز است"), ("the door's key", "کلید در"), ("Nobody knows", "کسی نمی‌داند")]


def held_out(*rows: tuple[str, ...]) -> HeldOutSet:
    return HeldOutSet("news", tuple(row[0] for row in rows), tuple(row[1:] for row in rows), ("news",) * len(rows))


@pytest.mark.parametrize(
    ("row", "side"),
    [
        ((ENGLISH, "Die Tür ist offen."), "reference is in another language: 0% of its letters are Persian"),
        ((ENGLISH, PERSIAN, "门开着"), "reference 2 is in another language"),
        (("Дверь открыта.", PERSIAN), "the English side is in another language: 0% of its letters are Latin"),
    ],
)
def test_a_test_set_in_another_script_is_refused(row: tuple[str, ...], side: str) -> None:
    with pytest.raises(CorpusError, match=f"test set `news`: {side}"):
        check_languages(held_out(row), NORMALIZER, refuse=True)


@pytest.mark.parametrize(
    ("persian", "refuse", "warning"),
    [
        (ENGLISH, False, "is in another language"),
        ("هذا الكتاب الذي كان في البيت", True, "looks like Arabic, not Persian"),
        (PERSIAN, True, ""),
        ("Windows را باز کنید", True, ""),
        ("۱۲۳ 😀", True, ""),
    ],
)
def test_doubtful_text_only_warns(persian: str, refuse: bool, warning: str, caplog: pytest.LogCaptureFixture) -> None:
    """With `refuse=False`, for the run's own sets, another language only causes a warning; Arabic always does."""
    check_languages(held_out((ENGLISH, persian)), NORMALIZER, refuse=refuse)
    assert warning in caplog.text
    assert bool(caplog.text) == bool(warning)


@pytest.fixture
def run(tiny: Any, tmp_path: Path) -> RunFolder:
    write_pairs(tmp_path / "toy.tsv", TRAINING)
    return untrained_run(tiny("corpus.split={validation: 0, test: 0}", "corpus.filters.near_duplicates=null"))


def test_words_below_the_count_threshold_are_rare(run: RunFolder, caplog: pytest.LogCaptureFixture) -> None:
    one = held_out(("The DOOR opens", "x"), ("the the", "x"), ("...", "x"), ("quite unknown", "x"), ("the door’s", "x"))
    assert look_into_training(run, [one], 2, leaks=False) == {"news": (2 / 3, 0.0, 0.0, 1.0, 0.5)}
    assert look_into_training(run, [one], 1, leaks=False) == {"news": (1 / 3, 0.0, 0.0, 1.0, 0.0)}
    assert "was trained on" not in caplog.text, "leaks were not asked for"


def test_leaked_sentences_are_counted_for_a_moved_run_without_its_corpus(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A sentence counts as known if the training text contains either of its sides, in any spelling."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "toy.tsv").unlink()
    moved = RunFolder(run.path.rename(elsewhere / "run"))
    monkeypatch.chdir(elsewhere)
    rows = held_out(("the DOOR is open!", "x"), ("x", "كسي نمي‌داند."), ("y", "z"), ("The door", "در"))
    with caplog.at_level(logging.INFO, logger="translator"):
        look_into_training(moved, [rows], 5, leaks=True)
        assert "was trained on 2 of the 4 sentences of test set `news`" in caplog.text
        shutil.rmtree(tmp_path / "prepared")
        assert look_into_training(moved, [rows], 5, leaks=True) == {}
    assert "is not on this disk" in caplog.text
