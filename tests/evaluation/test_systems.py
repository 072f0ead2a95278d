"""Systems are found by run folder, or as text files."""

from pathlib import Path

import pytest

from tests.support.translated_sets import evaluated_run, translated
from translator.errors import InputError
from translator.evaluation.systems import read_systems

REFERENCES = ["در باز است.", "او می‌خواند.", "هوا سرد است."]
SOURCES = ["The door is open.", "He reads.", "It is cold."]


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """Two run folders: the first was evaluated on two test sets, and on one of them twice."""
    sets = [
        translated(["نو"] * 3, REFERENCES, SOURCES),
        translated(["دوم"] * 3, REFERENCES, SOURCES, test_set="other"),
        translated(["کهنه"] * 3, REFERENCES, SOURCES, search="greedy"),
    ]
    first = evaluated_run(tmp_path / "runs" / "first", *sets)
    second = evaluated_run(tmp_path / "runs" / "second", translated(REFERENCES, REFERENCES, SOURCES))
    return str(first), str(second)


def test_a_run_is_read_as_its_newest_evaluation(runs: tuple[str, str]) -> None:
    ((first, second),) = read_systems(runs)
    assert first.hypotheses == ("نو",) * 3
    assert second.hypotheses == tuple(REFERENCES)


def test_a_sentence_has_those_references_that_are_not_blank(tmp_path: Path) -> None:
    source = write(tmp_path / "news.en", SOURCES)
    sides = [write(tmp_path / "news.fa", REFERENCES), write(tmp_path / "more.fa", ["یک", "", "سه"])]
    ((first, _),) = read_systems(sides, source=source, references=sides)
    assert first.text.references == ((REFERENCES[0], "یک"), (REFERENCES[1],), (REFERENCES[2], "سه"))


def test_a_text_file_needs_the_name_of_its_test_set_if_the_run_has_several(
    tmp_path: Path, runs: tuple[str, str]
) -> None:
    text_file = write(tmp_path / "a.txt", ["یک", "دو", "سه"])
    with pytest.raises(InputError, match=r"several test sets \(held, other\); select the one .* --test-set"):
        read_systems([runs[0], text_file])
    ((run, _),) = read_systems([runs[0], text_file], test_sets=["other"])
    assert run.hypotheses == ("دوم",) * 3
