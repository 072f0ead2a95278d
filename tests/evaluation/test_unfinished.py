"""Saved translations of a stopped evaluation: torn and mixed files give no wrong sentence; one process holds them."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.translated_sets import model_score
from translator.errors import RunError
from translator.evaluation.results import ModelScore
from translator.evaluation.unfinished import UnfinishedTranslations, hold_results

LINES = 5


def translations_of(text: str) -> dict[int, ModelScore]:
    return {line: model_score(f"{text} {line} «می‌رود»", -line / 3, -1.0) for line in range(1, LINES + 1)}


OURS, THEIRS = translations_of("ours"), translations_of("theirs")


def saved(folder: Path, translations: dict[int, ModelScore], search: str) -> UnfinishedTranslations:
    unfinished = UnfinishedTranslations(folder / f"{search}.partial.jsonl", {"search": search}, LINES)
    unfinished.write(translations)
    return unfinished


def test_appended_translations_are_read_back_by_line(tmp_path: Path) -> None:
    unfinished = saved(tmp_path, {}, "greedy")
    unfinished.append({3: OURS[3], 4: OURS[4]})
    unfinished.append({1: OURS[1]})
    assert unfinished.read() == {line: OURS[line] for line in (1, 3, 4)}


def test_a_file_that_is_not_there_has_no_translations(tmp_path: Path) -> None:
    assert UnfinishedTranslations(tmp_path / "none", {}, LINES).read() == {}


def test_lines_behind_the_end_of_the_text_do_not_count(tmp_path: Path) -> None:
    unfinished = saved(tmp_path, OURS, "greedy")
    shorter = UnfinishedTranslations(tmp_path / "greedy.partial.jsonl", {"search": "greedy"}, 2)
    assert len(unfinished.read()) == LINES
    assert set(shorter.read()) == {1, 2}


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), pieces=st.integers(1, 6))
def test_a_torn_and_mixed_file_gives_only_right_translations(
    tmp_path_factory: pytest.TempPathFactory, seed: int, pieces: int
) -> None:
    """Pieces of this evaluation's file and of another one's, cut at any byte, in any order."""
    folder = tmp_path_factory.getbasetemp()
    unfinished = saved(folder, OURS, "greedy")
    saved(folder, THEIRS, "beam")
    ours, theirs = ((folder / f"{name}.partial.jsonl").read_bytes() for name in ("greedy", "beam"))
    choice = random.Random(seed)
    content = b""
    for _ in range(pieces):
        source = choice.choice((ours, ours, theirs))
        start, end = sorted(choice.choices(range(len(source) + 1), k=2))
        content += source[start:end]
    (folder / "greedy.partial.jsonl").write_bytes(content)
    for line, translation in unfinished.read().items():
        assert translation == OURS[line]


def test_a_line_under_another_number_does_not_count(tmp_path: Path) -> None:
    unfinished = saved(tmp_path, {2: OURS[2]}, "greedy")
    file = tmp_path / "greedy.partial.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"line": 2', b'"line": 3'))
    assert unfinished.read() == {}


def test_results_that_are_held_are_refused_to_another_evaluation(tmp_path: Path) -> None:
    with hold_results(tmp_path, "toy.step-000005.greedy"):
        with (
            pytest.raises(RunError, match=r"another process is evaluating toy\.step-000005\.greedy"),
            hold_results(tmp_path, "toy.step-000005.greedy"),
        ):
            pass
        with hold_results(tmp_path, "toy.step-000005.beam-5"):
            pass
    with hold_results(tmp_path, "toy.step-000005.greedy"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_lock_file_of_a_killed_process_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".toy.lock").touch()
    with hold_results(tmp_path, "toy"):
        assert (tmp_path / ".toy.lock").exists()
    assert not (tmp_path / ".toy.lock").exists()
