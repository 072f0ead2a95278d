"""Other languages are recognised; a run's training text is found from any folder, and leaked sentences are counted."""

import logging
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.toy_corpora import write_pairs
from tests.support.untrained import untrained_run
from translator.config import NormalizationConfig
from translator.corpus.held_out import HeldOutSet, write_held_out
from translator.corpus.normalizer import Normalizer
from translator.errors import CorpusError
from translator.evaluation.metrics import Score
from translator.evaluation.results import add_scores, claim_name
from translator.evaluation.robustness import WAYS
from translator.evaluation.systems import System
from translator.evaluation.test_sets import check_languages, look_into_training, sides_of, with_distinct_names
from translator.run.folder import RunFolder

NORMALIZER = Normalizer(NormalizationConfig())
ENGLISH = "The door is open."
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


# --- names ---


def named(name: str, *english: str) -> HeldOutSet:
    return replace(held_out(*[(text, PERSIAN) for text in english]), name=name)


FIRST = named("news", "First.")
OTHER = named("news", "Other.")


@pytest.fixture
def system(tmp_path: Path) -> System:
    """A run whose own test set is called `toy`, and its validation text `validation`."""
    run = RunFolder(tmp_path / "run")
    write_held_out(run.held_out_folder, "test", [named("toy", "Of the run.")])
    write_held_out(run.held_out_folder, "validation", [named("validation", "For choosing.")])
    return System((run,))


def name_in_results(test_set: HeldOutSet, *systems: System) -> str:
    (renamed,) = with_distinct_names([test_set], systems)
    return renamed.name


def write_results(system: System, test_set: HeldOutSet) -> None:
    score = Score(test_set=test_set.name, metric="bleu", score=1.0, signature="s", normalization="raw", sentences=1)
    claim_name(system.folder, test_set.name, sides_of(test_set), replaces=True)
    add_scores(system.folder, [score])


@pytest.mark.parametrize("name", ["toy", "validation"])
def test_another_text_cannot_have_the_name_of_the_text_of_a_run(
    system: System, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    new_name = name_in_results(named(name, "Other."), system)
    assert re.fullmatch(f"{name}-[0-9a-f]{{8}}", new_name)
    assert f"test set `{name}` is called `{new_name}` in the results, since" in caplog.text


def test_a_separate_folder_of_results_has_only_the_names_in_it(system: System, tmp_path: Path) -> None:
    assert name_in_results(named("toy", "Other."), replace(system, results=tmp_path / "separate")) == "toy"


def test_the_text_of_a_run_keeps_its_name_among_results_on_another_text(system: System) -> None:
    write_results(system, named("toy", "Other."))
    assert name_in_results(named("toy", "Of the run."), system) == "toy"


def test_the_validation_text_gives_way_to_a_test_set_of_its_name(system: System) -> None:
    test_set = named("validation", "A source called validation.")
    write_held_out(system.runs[0].held_out_folder, "test", [test_set])
    assert name_in_results(test_set, system) == "validation"
    assert name_in_results(named("validation", "For choosing."), system) != "validation"


def test_a_text_has_the_same_name_each_time(system: System) -> None:
    assert name_in_results(FIRST, system) == "news"
    write_results(system, FIRST)
    assert name_in_results(FIRST, system) == "news"
    other_name = name_in_results(OTHER, system)
    assert other_name != "news"
    write_results(system, replace(OTHER, name=other_name))
    assert name_in_results(OTHER, system) == other_name


def test_texts_that_differ_only_in_references_are_two_texts(system: System) -> None:
    write_results(system, FIRST)
    more_references = replace(FIRST, references=((PERSIAN, "در گشوده است."),))
    assert name_in_results(more_references, system) != "news"
    write_results(system, more_references)
    assert name_in_results(FIRST, system) != "news", "the files now have two references"


def test_a_name_in_scores_whose_text_is_gone_is_taken(system: System) -> None:
    write_results(system, FIRST)
    (system.folder / "news.source.txt").unlink()
    assert name_in_results(FIRST, system) != "news"


def test_a_test_set_has_one_name_in_the_results_of_all_systems(system: System, tmp_path: Path) -> None:
    other_system = System((RunFolder(tmp_path / "other"),))
    write_results(other_system, OTHER)
    assert name_in_results(FIRST, system, other_system) != "news"


@pytest.mark.parametrize("way", WAYS)
def test_a_name_like_that_of_noisy_input_is_replaced(system: System, way: str) -> None:
    assert name_in_results(named(f"toy.{way}", "Other."), system).startswith(f"toy.{way}-")


# --- the training text ---


@pytest.fixture
def run(tiny: Any, tmp_path: Path) -> RunFolder:
    write_pairs(tmp_path / "toy.tsv", TRAINING)
    return untrained_run(tiny("corpus.split={validation: 0, test: 0}", "corpus.filters.near_duplicates=null"))


def test_words_below_the_count_threshold_are_rare(run: RunFolder, caplog: pytest.LogCaptureFixture) -> None:
    test_set = held_out(
        ("The DOOR opens", "x"), ("the the", "x"), ("...", "x"), ("quite unknown", "x"), ("the door’s", "x")
    )
    assert look_into_training(run, [test_set], 2, leaks=False) == {"news": (2 / 3, 0.0, 0.0, 1.0, 0.5)}
    assert look_into_training(run, [test_set], 1, leaks=False) == {"news": (1 / 3, 0.0, 0.0, 1.0, 0.0)}
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
