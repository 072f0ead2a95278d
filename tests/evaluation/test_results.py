"""The files of an evaluation folder are read back as they were written; a damaged file gives one message."""

import dataclasses
import fcntl
import json
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
    NoiseScore,
    ScoredSet,
    add_scores,
    distinct_names,
    has_other_text,
    read_scores,
    save_set,
    saved_scores,
    saved_sets,
)
from translator.run.files import write_json
from translator.run.folder import RunFolder

LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12)
REFERENCE = LINE.map("ب{}".format)  # not blank


@settings(deadline=None, max_examples=30)
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
    origins = ["a", "b"] * len(rows)
    saved = with_scores(
        translated(
            hypotheses,
            references,
            sources,
            origins=origins[: len(rows)] if len(rows) > 1 else ["held"],
            left_out=(2, 7),
            cut_off=(1,),
        )
    )
    noise = NoiseScore(
        way="typos",
        score=dataclasses.replace(saved.scores[0], test_set="held.typos", interval=(0.5, 1.5)),
        loss=1.5,
        p_value=0.25,
        changed=1,
        sources=sources,
        hypotheses=hypotheses,
    )
    saved = dataclasses.replace(saved, noise=(noise,))
    save_set(folder, saved)
    assert saved_sets(folder, "system") == [saved]
    assert not has_other_text(folder, saved.text)


def one(*references: str) -> ScoredSet:
    """A test set of two sentences, the second with these references."""
    return with_scores(translated(["آ", "پ"], ["ب", references], ["a", "b"], test_set="flores"))


@pytest.mark.parametrize("other", [one("ت", "ث"), one("ج"), with_scores(translated(["آ"], ["ب"], test_set="flores"))])
def test_a_name_stands_for_one_text(tmp_path: Path, other: ScoredSet) -> None:
    save_set(tmp_path, one("ت"))
    assert has_other_text(tmp_path, other.text)
    assert not has_other_text(tmp_path, one("ت").text)


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("step-000001.beam-5.json", lambda content: content[:-5]),
        ("step-000001.beam-5.json", lambda content: content.replace(b'"cut_off"', b'"colour"')),
        ("step-000001.beam-5.txt", lambda content: content + b"\n"),
        ("reference.txt", lambda content: b"\n"),
        ("source.txt", lambda content: b"\xff\n\n"),
    ],
)
def test_a_damaged_file_is_refused_with_what_to_do(tmp_path: Path, file: str, damage: Callable[[bytes], bytes]) -> None:
    save_set(tmp_path, one("ت"))
    path = tmp_path / "flores" / file
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(RunError, match=r"evaluat.* again|evaluate again"):
        saved_sets(tmp_path, "system")


def test_scores_by_source_are_those_of_its_sentences_alone() -> None:
    test_set = translated(["در", "باز", "باران"], ["در", "است", "باران"], origins=["a", "b", "a"])
    assert test_set.scores_by_source["a"]["chrf"] == pytest.approx(100)
    assert test_set.scores_by_source["b"]["chrf"] < 50
    assert translated(["در"]).scores_by_source == {}, "all sentences are of one source"


@pytest.mark.parametrize(
    ("systems", "names"),
    [
        ([("a", "1", "beam-5"), ("b", "2", "greedy")], ["a", "b"]),
        ([("a", "1", "beam-5"), ("a", "2", "beam-5"), ("b", "1", "x")], ["a 1 beam-5", "a 2 beam-5", "b"]),
        ([("a", "1", "x"), ("a", "1", "x"), ("a", "1", "x")], ["a 1 x", "a 1 x (2)", "a 1 x (3)"]),
        ([("a.txt", "", ""), ("a.txt", "", "")], ["a.txt", "a.txt (2)"]),
    ],
)
def test_names_tell_systems_apart(systems: list[tuple[str, str, str]], names: list[str]) -> None:
    sets = []
    for system, checkpoint, search in systems:
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


def test_new_scores_come_first(tmp_path: Path) -> None:
    add_scores(tmp_path, [FIRST, CHRF])
    add_scores(tmp_path, [BEAM])
    assert read_scores(tmp_path) == [BEAM, FIRST, CHRF]


def test_new_scores_replace_those_of_the_same_setting(tmp_path: Path) -> None:
    add_scores(tmp_path, [BEAM, FIRST, CHRF])
    again = dataclasses.replace(FIRST, score=9.0)
    add_scores(tmp_path, [again])
    assert read_scores(tmp_path) == [again, BEAM, CHRF]


def test_scores_of_the_own_test_sets_come_before_newer_ones_of_other_texts(tmp_path: Path) -> None:
    add_scores(tmp_path, [BEAM, CHRF], ["mizan"])
    add_scores(tmp_path, [FLORES], ["mizan"])
    newer = dataclasses.replace(FLORES, checkpoint="step-000009")
    add_scores(tmp_path, [newer], ["mizan"])
    assert read_scores(tmp_path) == [BEAM, CHRF, newer, FLORES]


def test_scores_of_the_own_test_sets_have_their_order(tmp_path: Path) -> None:
    for score in (BEAM, FLORES):
        add_scores(tmp_path, [score], ["mizan", "flores"])
    assert read_scores(tmp_path) == [BEAM, FLORES]


def test_saved_scores_are_those_that_were_added(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    add_scores(run.evaluation_folder, [FIRST, FLORES])
    assert saved_scores(run) == [FIRST, FLORES]


def test_scores_json_has_an_interval_where_a_score_has_one(tmp_path: Path) -> None:
    add_scores(tmp_path, [FIRST, FLORES])
    first, flores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert first == FIRST.to_json()
    assert "interval" not in first
    assert flores["interval"] == [0.5, 1.5]


@pytest.mark.parametrize("content", ["", "[", "{}", '[{"metric": "bleu"}]', "\xff"])
def test_a_damaged_scores_file_is_named_and_left_unchanged(tmp_path: Path, content: str) -> None:
    scores_file = tmp_path / "scores.json"
    scores_file.write_bytes(content.encode("latin-1"))
    with pytest.raises(RunError, match=r"scores\.json is damaged, or of another version .*\(.*\); delete it"):
        add_scores(tmp_path, [FIRST])
    assert scores_file.read_bytes() == content.encode("latin-1")


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    """Without the lock, one writer could overwrite scores that the other has just written."""
    flores = dataclasses.replace(FIRST, test_set="flores")
    handle = os.open(tmp_path, os.O_RDONLY)
    with ThreadPoolExecutor() as pool:
        fcntl.flock(handle, fcntl.LOCK_EX)
        scores = pool.submit(add_scores, tmp_path, [flores])
        assert not wait((scores,), timeout=0.2).done
        write_json((tmp_path / "scores.json"), [FIRST.to_json()])
        os.close(handle)
        scores.result()
    assert read_scores(tmp_path) == [flores, FIRST]
