"""A text of several sentences: each sentence is translated, and what stands before and between them stays."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.fence.files import read_lines
from tests.fence.small_language import counted, question, seen, statement
from tests.support.command_line import refusal, succeed
from translator import Translator

BOOK, BOOK_FA = statement("book", "old")
TREE, TREE_FA = statement("tree", "beautiful")
ROAD, ROAD_FA = question("road", "new")
TABLE, TABLE_FA = seen("table", "clean")
SENTENCES = {
    "BOOK": (BOOK, BOOK_FA),
    "TREE": (TREE, TREE_FA),
    "ROAD": (ROAD, ROAD_FA),
    "NUMBER": counted("book", 12, "at home"),
}
FRAMES = yaml.safe_load(Path(__file__).with_name("sentence_frames.yaml").read_text(encoding="utf-8"))
CUT = "¦"  # marks the end of a sentence in the list of boundaries
BOUNDARIES = read_lines(Path(__file__).with_name("sentence_boundaries.txt"))


@pytest.fixture(scope="module")
def small_model(small_run: Path) -> Translator:
    return Translator.load(small_run)


def lines_of(run: Path, *options: str | Path, stdin: str = "") -> list[str]:
    """Translate to standard output."""
    return succeed("translate", "--run", run, *options, stdin=stdin).lines


# --- boundaries ---


def sentence_counts(run: Path, texts: list[str]) -> list[int]:
    """Return the number of sentences that a run translates in each text."""
    options = ["--format", "jsonl", "--scores", "--search", "greedy"]
    lines = lines_of(run, *options, stdin="".join(f"{text}\n" for text in texts))
    return [json.loads(line)["translations"][0]["pieces"] for line in lines]


def test_at_most_3_of_76_tricky_lines_have_a_wrong_number_of_sentences(small_run: Path, reverse_run: Path) -> None:
    wrong: list[str] = []
    for run, is_persian in ((small_run, False), (reverse_run, True)):
        lines = [line for line in BOUNDARIES if (re.search("[آ-ی]", line) is not None) == is_persian]
        counts = sentence_counts(run, [line.replace(CUT, "") for line in lines])
        for line, count in zip(lines, counts, strict=True):
            if count != line.count(CUT) + 1:
                wrong.append(line)
    assert len(BOUNDARIES) == 76
    assert len(wrong) <= 3, wrong


@pytest.mark.parametrize("frame", FRAMES)
def test_each_sentence_is_translated_and_the_rest_is_kept(frame: str, small_model: Translator) -> None:
    source = translation = frame
    for name, (english, persian) in SENTENCES.items():
        source = source.replace(name, english)
        translation = translation.replace(name, persian)
    assert small_model.translate(source) == translation


def test_a_cry_without_a_space_ends_a_sentence(small_model: Translator) -> None:
    assert small_model.translate(f"{BOOK[:-1]}!{ROAD}").endswith(ROAD_FA)


def test_an_emoji_without_a_mark_before_it_ends_a_sentence(small_model: Translator) -> None:
    first, second = small_model.translate(f"{BOOK[:-1]} 😀 {TREE}").split(" 😀 ")
    assert first.startswith("کتاب قدیمی است")
    assert second == TREE_FA


def test_a_tab_parts_texts_without_marks_and_stays(small_model: Translator) -> None:
    assert small_model.translate(f"{BOOK[:-1]}\t{TREE}").split("\t")[1:] == [TREE_FA]


@pytest.mark.parametrize("name", ["<b>Mr. Smith</b>", '<a href="x">Mr. Smith</a>', "<i>Mr.</i> Smith", "<i>e.g.</i>"])
def test_an_abbreviation_inside_tags_ends_no_sentence(name: str, small_run: Path) -> None:
    assert sentence_counts(small_run, [f"I see {name} in the room.", f"{name} is old."]) == [1, 1]


def test_an_address_with_a_capital_after_a_full_stop_stays_whole(small_model: Translator) -> None:
    address = "https://example.org/A.The"
    assert address in small_model.translate(f"I see {address} in the room.")


# --- lines, paragraphs, files ---


WRAPPED = "The book\nis old. Is the\nroad new?\n\nI see the clean\ntable.\n"


def test_paragraphs_joins_hard_wrapped_lines(small_run: Path, tmp_path: Path) -> None:
    source = tmp_path / "wrapped.en"
    source.write_text(WRAPPED, encoding="utf-8")
    expected = [f"{BOOK_FA} {ROAD_FA}", "", TABLE_FA]
    assert lines_of(small_run, "--input", source, "--paragraphs") == expected
    assert lines_of(small_run, "--paragraphs", stdin=WRAPPED) == expected
    assert lines_of(small_run, "--input", source, "--paragraphs", "--output", tmp_path / "out.fa") == []
    assert read_lines(tmp_path / "out.fa") == expected


def test_paragraphs_keeps_items_headings_and_quotations_apart(small_run: Path) -> None:
    text = f"# The old\n{BOOK}\n- Is the\n  road new?\n- {TREE}\n1. {BOOK}\n2) {TREE}\n{ROAD}\n"
    lines = lines_of(small_run, "--paragraphs", stdin=text)
    items = [f"- {ROAD_FA}", f"- {TREE_FA}", f"1. {BOOK_FA}", f"2) {TREE_FA} {ROAD_FA}"]
    assert lines[1:] == [BOOK_FA, *items]

    mail = f"> The book\n> is old.\n>\n>> I see the clean\n>> table.\n{TREE}\n| {BOOK}\n| {TREE}\n"
    lines = lines_of(small_run, "--paragraphs", stdin=mail)
    assert lines[:4] == [f"> {BOOK_FA}", ">", f">> {TABLE_FA}", TREE_FA]
    assert len(lines) == 6


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_signs_are_copied_and_never_become_u_fffd(engine: str, small_run: Path) -> None:
    sources = [f"• {BOOK}", f"▪ {BOOK} →", f"© {BOOK}", "The book is €20.", "The book is 20 °C old.", "x ≤ 3 and y ≥ 4"]
    lines = lines_of(small_run, "--engine", engine, stdin="\n".join(sources) + "\n")
    assert lines[:3] == [f"• {BOOK_FA}", f"▪ {BOOK_FA} →", f"© {BOOK_FA}"]
    assert "€۲۰" in lines[3]
    assert "°C" in lines[4]
    assert {"≤", "≥"} <= set(lines[5])
    assert "\ufffd" not in "".join(lines)


TWO_LINES = f"{BOOK}\n{ROAD}\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("old-mac.en", TWO_LINES.replace("\n", "\r").encode()),
        ("windows.en", TWO_LINES.replace("\n", "\r\n").encode()),
        ("book-utf16.en", TWO_LINES.encode("utf-16")),
    ],
)
def test_line_ends_of_every_kind_and_utf_16_are_read(
    name: str, content: bytes, small_run: Path, tmp_path: Path
) -> None:
    source = tmp_path / name
    source.write_bytes(content)
    assert lines_of(small_run, "--input", source) == [BOOK_FA, ROAD_FA]


def test_subtitles_on_standard_input_are_refused(small_run: Path) -> None:
    subtitles = "1\n00:00:02,830 --> 00:00:05,560\nThe book is old.\n"
    assert "subtitles" in refusal("translate", "--run", small_run, stdin=subtitles)
