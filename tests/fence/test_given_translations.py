"""A student learns translations of another system, from a file: distill --translations."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fence.files import read_lines, write_lines
from tests.fence.short_runs import STUDENT
from tests.fence.small_language import all_pairs, counted, nearest_to
from tests.support.command_line import Finished, succeed, translator


class Student(NamedTuple):
    """What a distillation has printed, and the folder of its text."""

    result: Finished
    text: Path

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """Return the pairs of a source."""
        return list(zip(read_lines(self.text / f"{name}.en"), read_lines(self.text / f"{name}.fa"), strict=True))


def distill(run: Path, translations: Path, output: Path) -> Student:
    result = succeed("distill", "--run", run, "--translations", translations, "--output", output, "--set", *STUDENT)
    return Student(result=result, text=output.with_name(f"{output.name}.text"))


TRAINING = all_pairs()[:-60]
"""The training pairs of the small run; the last ones of the corpus validate and test it."""


# --- the choice ---

LAMP = "The lamp is old.", "چراغ قدیمی است."
COUNTED = counted("garden", 10_001, "at home")


STATEMENTS = [pair for pair in TRAINING if pair[0].startswith("The ") and pair[0].endswith(("old.", "new."))]


def rows() -> list[tuple[str, ...]]:
    """Return sources with translations, of which three sources are usable and three are not."""
    (first, first_persian), (second, second_persian), (third, _) = STATEMENTS[:3]
    return [
        (first, f"{first_persian} {first_persian}", f" {first_persian}"),  # the first is a loop
        (second, "آن تازه است.", second_persian),  # the reference is nearer
        (LAMP[0], LAMP[0], LAMP[1]),  # the first is English
        (third, "است است است است"),
        (COUNTED[0], counted("garden", 10_002, "at home")[1]),
        ("The lamp is new.", "The lamp is new."),
    ]


@pytest.fixture(scope="module")
def from_table(small_run: Path, folder: Path) -> Student:
    table = write_lines(folder / "pairs.tsv", ["\t".join(row) for row in rows()])
    return distill(small_run, table, folder / "from-table")


def test_of_several_translations_the_nearest_to_the_reference_or_else_the_first_is_learned(
    from_table: Student,
) -> None:
    first, second, *_ = rows()
    assert from_table.pairs("teacher") == [(first[0], first[2]), (second[0], second[2]), LAMP]


def test_one_line_counts_what_each_filter_drops(from_table: Student) -> None:
    (counts,) = re.findall(r"pairs\.tsv: (.*)", from_table.result.out)
    assert set(counts.split(", ")) == {"kept 3", "loop 1", "numbers 1", "target_script 1"}


def test_pairs_without_a_translation_keep_their_references(from_table: Student) -> None:
    translated = {source for source, _ in from_table.pairs("teacher")}
    untranslated = [pair for pair in TRAINING if pair[0] not in translated]
    assert from_table.pairs("small") == untranslated
    assert re.search(r"^train +teacher +3 ", from_table.result.err, re.MULTILINE)
    assert re.search(rf"^train +small +{len(untranslated)} ", from_table.result.err, re.MULTILINE)


# --- the chain from translate to distill ---


def test_a_student_learns_what_the_run_itself_has_translated_and_a_few_bad_rows_are_counted(
    small_run: Path, folder: Path
) -> None:
    english = write_lines(folder / "training.en", [source for source, _ in TRAINING[:120]])
    pairs = folder / "own.jsonl"
    options = ("--format", "jsonl", "--n-best", "2", "--set", "search.beam_size=2")
    succeed("translate", "--run", small_run, "--input", english, "--output", pairs, *options)
    references = dict(TRAINING)
    expected = []
    for line in read_lines(pairs):
        row = json.loads(line)
        texts = [translation["text"] for translation in row["translations"]]
        expected.append((row["source"], nearest_to(references[row["source"]], texts)))
    with pairs.open("ab") as file:
        file.write(json.dumps({"source": LAMP[0], "translation": LAMP[1]}).encode() + b"\n")
        file.write(b'{"source": "The \xe9 is new.", "translation": "\xe9"}\n')

    student = distill(small_run, pairs, folder / "from-lines")
    assert student.pairs("teacher") == [*expected, LAMP]
    assert re.search(r"own\.jsonl: kept 121, bad_row 1$", student.result.out, re.MULTILINE)


def test_a_file_of_which_no_translation_passes_the_filters_is_refused(small_run: Path, tmp_path: Path) -> None:
    copies = write_lines(tmp_path / "copies.tsv", ["The book is new.\tThe book is new."])
    result = translator("distill", "--run", small_run, "--translations", copies, "--output", tmp_path / "student")
    assert result.code == 2
    assert "passes the filters" in result.err
    assert list(tmp_path.iterdir()) == [copies]
