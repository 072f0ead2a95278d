"""The files of an evaluation folder are read back as they were written; a damaged file gives one message."""

import dataclasses
import fcntl
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.translated_sets import translated, with_scores
from translator.errors import RunError
from translator.evaluation.metrics import Score
from translator.evaluation.results import (
    ScoredSet,
    add_scores,
    distinct_names,
    save_set,
    saved_scores,
    saved_sets,
)
from translator.run.files import write_json

LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12)
REFERENCE = LINE.map("ب{}".format)  # not blank


@settings(max_examples=30)
@given(st.lists(st.tuples(LINE, LINE, REFERENCE, REFERENCE), min_size=1, max_size=4))
def test_sets_with_any_text_are_read_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("evaluation")
    sources, hypotheses, first_references, second_references = zip(*rows, strict=True)
    # Only every second sentence has a second reference.
    references: list[tuple[str, ...]] = []
    for number, (first, second) in enumerate(zip(first_references, second_references, strict=True)):
        references.append((first, second) if number % 2 else (first,))
    saved = with_scores(translated(hypotheses, references, sources, left_out=(2, 7), cut_off=None))
    save_set(folder, saved)
    assert saved_sets(folder, "system") == [saved]


def one(*references: str) -> ScoredSet:
    """A test set of two sentences, the second with these references."""
    return with_scores(translated(["آ", "پ"], ["ب", references], ["a", "b"], test_set="flores"))


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("flores/step-000001.beam-5.txt", lambda content: content + b"\n"),
        ("flores/reference.txt", lambda content: b"\n"),
        ("flores/source.txt", lambda content: b"\xff\n\n"),
        ("scores.json", lambda content: content.replace(b'"metric"', b'"colour"')),
    ],
)
def test_a_damaged_file_is_refused_with_what_to_do_and_left_unchanged(
    tmp_path: Path, file: str, damage: Callable[[bytes], bytes]
) -> None:
    save_set(tmp_path, one("ت"))
    path = tmp_path / file
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    with pytest.raises(RunError, match=r"is damaged.*evaluate again"):
        saved_sets(tmp_path, "system")
    assert path.read_bytes() == damaged


@pytest.mark.parametrize(
    ("systems", "names"),
    [
        (["a 1 beam-5", "b 2 greedy"], ["a", "b"]),
        (["a 1 beam-5", "a 2 beam-5", "b 1 x"], ["a 1 beam-5", "a 2 beam-5", "b"]),
        (["a 1 x", "a 1 x", "a 1 x"], ["a 1 x", "a 1 x (2)", "a 1 x (3)"]),
    ],
)
def test_names_tell_systems_apart(systems: list[str], names: list[str]) -> None:
    sets = []
    for system, checkpoint, search in map(str.split, systems):
        sets.append(translated(["نه"], system=system, checkpoint=checkpoint, search=search))
    assert distinct_names(sets) == names


# --- scores.json ---

FIRST = Score(
    test_set="mizan",
    metric="bleu",
    score=1.0,
    signature="s",
    normalization="raw",
    search="greedy",
    checkpoint="step-000005",
    sentences=3,
)
CHRF = dataclasses.replace(FIRST, metric="chrf", score=2.0)
BEAM = dataclasses.replace(FIRST, search="beam-5", score=3.0)
FLORES = dataclasses.replace(FIRST, test_set="flores", interval=(0.5, 1.5))
AGAIN = dataclasses.replace(FIRST, score=9.0)


@pytest.mark.parametrize(
    ("additions", "own_names", "expected"),
    [
        ([[BEAM, FIRST, CHRF], [AGAIN]], [], [AGAIN, BEAM, CHRF]),
        ([[BEAM], [FLORES], [CHRF]], ["mizan"], [CHRF, BEAM, FLORES]),
    ],
    ids=["a setting has one score", "own sets come first"],
)
def test_scores_are_kept_in_order(
    additions: list[list[Score]], own_names: list[str], expected: list[Score], tmp_path: Path
) -> None:
    for scores in additions:
        add_scores(tmp_path, scores, own_names)
    assert saved_scores(tmp_path) == expected


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    """Without the lock, one writer could overwrite scores that the other has just written."""
    handle = os.open(tmp_path, os.O_RDONLY)
    with ThreadPoolExecutor() as pool:
        fcntl.flock(handle, fcntl.LOCK_EX)
        scores = pool.submit(add_scores, tmp_path, [FLORES])
        assert not wait((scores,), timeout=0.2).done
        write_json((tmp_path / "scores.json"), [dataclasses.asdict(FIRST)])
        os.close(handle)
        scores.result()
    assert saved_scores(tmp_path) == [FLORES, FIRST]
