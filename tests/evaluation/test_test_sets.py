"""A name stands for one text; a run's training text is found from any folder, and leaked sentences are counted."""

import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.toy_corpora import write_pairs
from tests.support.translated_sets import translated
from tests.support.untrained import untrained_run
from translator.corpus.held_out import HeldOutSet
from translator.errors import InputError
from translator.evaluation.results import save_set
from translator.evaluation.test_sets import refuse_other_text, warn_of_leaks
from translator.run.folder import RunFolder

PERSIAN = "در باز است."
TRAINING = [("The door is open", "در باز است"), ("the door's key", "کلید در"), ("Nobody knows", "کسی نمی‌داند")]


def held_out(*rows: tuple[str, ...]) -> HeldOutSet:
    """A test set of these sentences: of each row, the source, then the references."""
    return HeldOutSet(
        name="news",
        sources=tuple(row[0] for row in rows),
        references=tuple(row[1:] for row in rows),
        origins=("news",) * len(rows),
    )


# --- names ---


def named(name: str, *english: str) -> HeldOutSet:
    return replace(held_out(*[(text, PERSIAN) for text in english]), name=name)


def test_a_text_of_the_run_has_its_name_before_it_is_evaluated(tmp_path: Path) -> None:
    own = {"toy": named("toy", "Of the run.")}
    refuse_other_text(named("toy", "Of the run."), own, tmp_path)
    refuse_other_text(named("news", "Other."), own, tmp_path)
    with pytest.raises(InputError, match="another text called `toy`; give this one another name: --test-set"):
        refuse_other_text(named("toy", "Other."), own, tmp_path)


@pytest.mark.parametrize(
    "other", [held_out(("First.", "در")), held_out(("First.", PERSIAN, "در")), named("news", "Other.")]
)
def test_a_text_with_results_keeps_its_name(other: HeldOutSet, tmp_path: Path) -> None:
    save_set(tmp_path, translated(["در"], [PERSIAN], ["First."], test_set="news"))
    refuse_other_text(named("news", "First."), {}, tmp_path)
    with pytest.raises(InputError, match=r"has another text called `news`; .*--test-set NAME=PATH"):
        refuse_other_text(other, {}, tmp_path)


# --- the training text ---


@pytest.fixture
def run(tiny: Any, tmp_path: Path) -> RunFolder:
    write_pairs(tmp_path / "toy.tsv", TRAINING)
    return untrained_run(tiny("corpus.split={validation: 0, test: 0}", "corpus.filters.near_duplicates=null"))


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
        warn_of_leaks(moved, [rows])
        assert "was trained on 2 of the 4 sentences of test set `news`" in caplog.text
        shutil.rmtree(tmp_path / "prepared")
        warn_of_leaks(moved, [rows])
    assert "is not on this disk" in caplog.text
