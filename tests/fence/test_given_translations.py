"""A student learns translations of another system, from a file: distill --translations."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fence.small_language import all_pairs, counted
from tests.support.command_line import Finished, translator

SETTINGS = [
    "training.max_steps=4",
    "training.warmup_steps=1",
    "training.validate_every=4",
    "training.checkpoint_every=4",
]
SETTINGS += ["training.validation_sentences=4", "training.precision=float32", "subword.vocabulary_size=61"]
SETTINGS += ["model.d_model=32", "model.heads=2", "model.feed_forward=64"]


class Student(NamedTuple):
    """What a distillation has printed, and the folder of its text."""

    result: Finished
    text: Path

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """Return the pairs of a source."""
        sides = [(self.text / f"{name}.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "fa")]
        return list(zip(*sides, strict=True))


def distill(run: Path, output: Path, *options: str | Path) -> Student:
    result = translator("distill", "--run", run, "--beam", "2", "--output", output, *options, "--set", *SETTINGS)
    assert result.code == 0, result.err
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
    table = folder / "pairs.tsv"
    table.write_text("".join("\t".join(row) + "\n" for row in rows()), encoding="utf-8")
    return distill(small_run, folder / "from-table", "--translations", table)


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


def test_json_lines_give_the_same_text_as_a_table(from_table: Student, small_run: Path, folder: Path) -> None:
    objects = []
    for source, *translations in rows():
        several = {"translations": translations}
        objects.append({"source": source, **(several if len(translations) > 1 else {"translation": translations[0]})})
    lines = folder / "pairs.jsonl"
    lines.write_text("".join(json.dumps(line) + "\n" for line in objects), encoding="utf-8")
    again = distill(small_run, folder / "from-table", "--translations", lines)
    assert "is finished" in again.result.err + again.result.out, "the same text is not learned twice"


# --- the chain from translate to distill ---


def test_the_translations_of_the_run_itself_give_the_text_of_a_distillation_without_a_file(
    small_run: Path, folder: Path
) -> None:
    english = folder / "training.en"
    english.write_text("".join(f"{source}\n" for source, _ in TRAINING), encoding="utf-8")
    pairs = folder / "own.jsonl"
    options = ["--format", "jsonl", "--n-best", "2", "--set", "search.beam_size=2"]
    result = translator("translate", "--run", small_run, "--input", english, "--output", pairs, *options)
    assert result.code == 0, result.err
    without_file = distill(small_run, folder / "without")
    from_file = distill(small_run, folder / "with", "--translations", pairs)
    assert sorted(path.name for path in from_file.text.glob("*.en")) == ["teacher.en"]
    learned = (without_file.text / "small.fa").read_text(encoding="utf-8").splitlines()
    sources = [source for source, _ in TRAINING]
    assert from_file.pairs("teacher") == list(zip(sources, learned, strict=True))


# --- files with mistakes ---

GOOD = "".join(f"{english}\t{persian}\n" for english, persian in all_pairs()[:99]).encode()


def test_a_few_bad_rows_are_counted(small_run: Path, folder: Path) -> None:
    table = folder / "few.tsv"
    table.write_bytes(GOOD + b"The \xe9 is new.\t\xe9\n")
    student = distill(small_run, folder / "few", "--translations", table)
    assert re.search(r"few\.tsv: kept 99, bad_row 1$", student.result.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("short.tsv", b"The book is new.\n" + GOOD + b"The door is new.\t\n", ", line 1: the row does not have"),
        ("bytes.tsv", b"a\t\xe9\xe9\n" * 9, "bytes.tsv"),
        ("empty.tsv", b"", "empty.tsv has no lines"),
        ("blank.jsonl", b"\n\n", "blank.jsonl has no lines"),
        ("wrong.jsonl", b'{"text": "The book.", "translation": "x"}\n', ", line 1: the row does not have"),
        ("none.jsonl", b'{"source": "The book.", "translations": []}\n', ", line 1: the row does not have"),
        ("list.json", b'[{"source": "The book."}]', "is one JSON array"),
        ("pairs.csv", b"source,translation\n", "is CSV; give the translations as TSV or JSON Lines"),
        ("copies.tsv", b"The book is new.\tThe book is new.\n", "passes the filters"),
    ],
)
def test_a_file_with_mistakes_gives_one_message_and_leaves_nothing(
    name: str, content: bytes, message: str, small_run: Path, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    result = translator("distill", "--run", small_run, "--translations", file, "--output", tmp_path / "student")
    assert result.code == 2
    (line,) = result.err.strip().splitlines()
    assert line.startswith("translator: ")
    assert message in line
    assert str(file) in line
    assert list(tmp_path.iterdir()) == [file]


def test_the_run_translates_no_other_text_beside_a_file(small_run: Path, folder: Path) -> None:
    options = ("--translations", folder / "small.tsv", "--monolingual", folder / "small.tsv")
    result = translator("distill", "--run", small_run, *options)
    assert result.code == 2
    assert "leave out --monolingual" in result.err
