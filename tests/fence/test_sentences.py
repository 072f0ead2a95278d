"""A text of several sentences: each sentence is translated, and what stands before and between them stays."""

import json
import re
from pathlib import Path

import pytest

from tests.fence.conftest import write_small_recipe
from tests.fence.small_language import counted, question, seen, statement
from tests.support.command_line import Finished, translator
from translator import Translator

BOOK, BOOK_FA = statement("book", "old")
TREE, TREE_FA = statement("tree", "beautiful")
ROAD, ROAD_FA = question("road", "new")
TABLE, TABLE_FA = seen("table", "clean")
CUT = "¦"  # marks the end of a sentence in the list of boundaries
INPUTS = Path("../shared/inputs").resolve()
BOUNDARIES = Path(__file__).with_name("sentence_boundaries.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def small_model(small_run: Path) -> Translator:
    return Translator.load(small_run)


def translated(run: Path, source: Path, *options: str) -> Finished:
    """Translate a file to standard output."""
    return translator("translate", "--run", run, "--input", source, *options)


# --- boundaries ---


@pytest.fixture(scope="module")
def persian_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that reads Persian; it has learned nothing, but a user can count the sentences that it reads."""
    folder = tmp_path_factory.mktemp("persian")
    settings = ["corpus.direction=fa-en", "training.augmentation.final_punctuation=0", "training.max_steps=1"]
    settings += ["training.initialization=random", "corpus.split.validation=2", "corpus.split.test=2"]
    options = [option for setting in settings for option in ("--set", setting)]
    result = translator("train", "--config", write_small_recipe(folder), *options)
    assert result.code == 0, result.err
    return folder / "runs" / "small"


def sentence_counts(run: Path, texts: list[str]) -> list[int]:
    """Return the number of sentences that a run translates in each text."""
    options = ["--format", "jsonl", "--scores", "--search", "greedy"]
    result = translator("translate", "--run", run, *options, stdin="".join(f"{text}\n" for text in texts))
    return [json.loads(line)["translations"][0]["pieces"] for line in result.lines]


def test_at_most_3_of_76_tricky_lines_have_a_wrong_number_of_sentences(small_run: Path, persian_run: Path) -> None:
    wrong: list[str] = []
    for run, is_persian in ((small_run, False), (persian_run, True)):
        lines = [line for line in BOUNDARIES if (re.search("[آ-ی]", line) is not None) == is_persian]
        counts = sentence_counts(run, [line.replace(CUT, "") for line in lines])
        for line, count in zip(lines, counts, strict=True):
            if count != line.count(CUT) + 1:
                wrong.append(line)
    assert len(BOUNDARIES) == 76
    assert len(wrong) <= 3, wrong


@pytest.mark.parametrize("between", ["", " ", "  ", "\t", "[1] ", "[1][2]", "¹ ", " 😀 ", "😀 ", " :) ", " ;-) "])
def test_what_stands_between_two_sentences_is_kept(between: str, small_model: Translator) -> None:
    assert small_model.translate(f"{BOOK}{between}{TREE}") == f"{BOOK_FA}{between}{TREE_FA}"


@pytest.mark.parametrize("end", ["[1]", " 😀", "😀😀", " :)", "¹"])
def test_what_stands_after_the_last_sentence_is_kept(end: str, small_model: Translator) -> None:
    assert small_model.translate(f"{TREE} {ROAD}{end}") == f"{TREE_FA} {ROAD_FA}{end}"


def test_a_question_or_a_cry_without_a_space_ends_a_sentence(small_model: Translator) -> None:
    assert small_model.translate(f"{ROAD}{BOOK}") == f"{ROAD_FA}{BOOK_FA}"
    assert small_model.translate(f"{BOOK[:-1]}!{ROAD}").endswith(ROAD_FA)


def test_an_emoji_without_a_mark_before_it_ends_a_sentence(small_model: Translator) -> None:
    first, second = small_model.translate(f"{BOOK[:-1]} 😀 {TREE}").split(" 😀 ")
    assert first.startswith("کتاب قدیمی است")
    assert second == TREE_FA


def test_a_tab_parts_texts_without_marks_and_stays(small_model: Translator) -> None:
    assert small_model.translate(f"{BOOK[:-1]}\t{TREE}").split("\t")[1:] == [TREE_FA]


@pytest.mark.parametrize("between", [" ", "", "  "])
@pytest.mark.parametrize("tag", ["b", "0", 'a href="x.html"'])
def test_each_sentence_keeps_its_own_tags(tag: str, between: str, small_model: Translator) -> None:
    end = tag.split()[0]
    first, second = f"<{tag}>{BOOK}</{end}>", f"<i>{TREE}</i>"
    first_fa, second_fa = f"<{tag}>{BOOK_FA}</{end}>", f"<i>{TREE_FA}</i>"
    assert small_model.translate(f"{first}{between}{second}") == f"{first_fa}{between}{second_fa}"
    assert small_model.translate(f"{first}{between}{TREE}") == f"{first_fa}{between}{TREE_FA}"
    assert small_model.translate(f"{BOOK}{between}{second}") == f"{BOOK_FA}{between}{second_fa}"


@pytest.mark.parametrize("remark", ["<!-- an old note -->", "<!DOCTYPE html>", '<?xml version="1.0"?>'])
def test_what_html_does_not_show_stays_beside_the_sentence(remark: str, small_model: Translator) -> None:
    assert small_model.translate(remark) == remark
    assert small_model.translate(f"{BOOK} {remark} {TREE}") == f"{BOOK_FA} {remark} {TREE_FA}"


@pytest.mark.parametrize("name", ["<b>Mr. Smith</b>", '<a href="x">Mr. Smith</a>', "<i>Mr.</i> Smith", "<i>e.g.</i>"])
def test_an_abbreviation_inside_tags_ends_no_sentence(name: str, small_run: Path) -> None:
    assert sentence_counts(small_run, [f"I see {name} in the room.", f"{name} is old."]) == [1, 1]


def test_an_address_with_a_capital_after_a_full_stop_stays_whole(small_model: Translator) -> None:
    address = "https://example.org/A.The"
    assert address in small_model.translate(f"I see {address} in the room.")


# --- marks before a sentence ---

MARKS = "- ,– ,* ,• ,1. ,12. ,1.2. ,2) ,(3) ,a) ,iv. ,> ,>> ,# ,### ,- [ ] ,* [x] ,\t- ,    ,> 1. ,[2] ,😀 "


@pytest.mark.parametrize("mark", MARKS.split(","))
def test_a_mark_before_a_sentence_stays_as_it_is(mark: str, small_model: Translator) -> None:
    assert small_model.translate(mark + BOOK) == mark + BOOK_FA


def test_each_sentence_of_a_line_keeps_its_mark(small_model: Translator) -> None:
    assert small_model.translate(f"- {ROAD} - {BOOK}") == f"- {ROAD_FA} - {BOOK_FA}"
    assert small_model.translate(f"  1. {ROAD} 2. {BOOK}") == f"  1. {ROAD_FA} 2. {BOOK_FA}"


def test_a_dash_that_touches_the_words_of_a_dialogue_stays(small_model: Translator) -> None:
    assert small_model.translate(f"-{ROAD}") == f"-{ROAD_FA}"


def test_the_number_of_a_list_item_may_touch_the_sentence(small_model: Translator) -> None:
    assert small_model.translate(f"1.{BOOK}") == f"1.{BOOK_FA}"


def test_emphasis_of_markdown_stays_around_its_sentence(small_model: Translator) -> None:
    assert small_model.translate(f"* **{BOOK}** {TREE}") == f"* **{BOOK_FA}** {TREE_FA}"


def test_a_number_inside_a_sentence_becomes_persian_though_that_of_a_list_item_stays(small_model: Translator) -> None:
    english, persian = counted("book", 12, "at home")
    assert small_model.translate(f"3. {english}") == f"3. {persian}"


# --- lines, paragraphs, files ---


def test_each_line_gives_one_line_with_all_its_sentences(small_run: Path, tmp_path: Path) -> None:
    source = tmp_path / "paragraph.en"
    source.write_text(f"{ROAD} {BOOK}\n\n{BOOK} {TREE} {TABLE}\n", encoding="utf-8")
    result = translated(small_run, source)
    assert result.lines == [f"{ROAD_FA} {BOOK_FA}", "", f"{BOOK_FA} {TREE_FA} {TABLE_FA}"]


WRAPPED = "The book\nis old. Is the\nroad new?\n\nI see the clean\ntable.\n"


def test_paragraphs_joins_hard_wrapped_lines(small_run: Path, tmp_path: Path) -> None:
    source = tmp_path / "wrapped.en"
    source.write_text(WRAPPED, encoding="utf-8")
    expected = [f"{BOOK_FA} {ROAD_FA}", "", TABLE_FA]
    assert translated(small_run, source, "--paragraphs").lines == expected
    assert translator("translate", "--run", small_run, "--paragraphs", stdin=WRAPPED).lines == expected

    assert translated(small_run, source, "--paragraphs", "--output", str(tmp_path / "out.fa")).code == 0
    assert (tmp_path / "out.fa").read_text(encoding="utf-8").splitlines() == expected


@pytest.mark.skipif(not INPUTS.exists(), reason="needs ../shared/inputs")
def test_a_wrapped_file_as_people_have_it_is_joined_in_files_and_pipes(small_run: Path, tmp_path: Path) -> None:
    text = (INPUTS / "wrapped.en").read_text(encoding="utf-8")
    expected = translator("translate", "--run", small_run, " ".join(text.split())).lines
    assert len(expected) == 1
    assert translated(small_run, INPUTS / "wrapped.en", "--paragraphs").lines == expected
    assert translator("translate", "--run", small_run, "--paragraphs", stdin=text).lines == expected
    assert len(translated(small_run, INPUTS / "wrapped.en").lines) == len(text.splitlines())


def test_paragraphs_keeps_items_headings_and_quotations_apart(small_run: Path) -> None:
    text = f"# The old\n{BOOK}\n- Is the\n  road new?\n- {TREE}\n1. {BOOK}\n2) {TREE}\n{ROAD}\n"
    result = translator("translate", "--run", small_run, "--paragraphs", stdin=text)
    items = [f"- {ROAD_FA}", f"- {TREE_FA}", f"1. {BOOK_FA}", f"2) {TREE_FA} {ROAD_FA}"]
    assert result.lines[1:] == [BOOK_FA, *items]

    mail = f"> The book\n> is old.\n>\n>> I see the clean\n>> table.\n{TREE}\n| {BOOK}\n| {TREE}\n"
    result = translator("translate", "--run", small_run, "--paragraphs", stdin=mail)
    assert result.lines[:4] == [f"> {BOOK_FA}", ">", f">> {TABLE_FA}", TREE_FA]
    assert len(result.lines) == 6


def test_ornaments_come_back_as_they_are(small_run: Path) -> None:
    ornaments = ["~~~", "", "* * * * *", "-----", "<<<>>>", "| | |", "///", "(…)", "§", "→", "#", "  * * *", "😀 😀"]
    result = translator("translate", "--run", small_run, stdin="\n".join(ornaments) + "\n")
    assert result.lines == ornaments


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_signs_are_copied_and_never_become_u_fffd(engine: str, small_run: Path) -> None:
    lines = [f"• {BOOK}", f"▪ {BOOK} →", f"© {BOOK}", "The book is €20.", "The book is 20 °C old.", "x ≤ 3 and y ≥ 4"]
    result = translator("translate", "--run", small_run, "--engine", engine, stdin="\n".join(lines) + "\n")
    assert result.lines[:3] == [f"• {BOOK_FA}", f"▪ {BOOK_FA} →", f"© {BOOK_FA}"]
    assert "€۲۰" in result.lines[3]
    assert "°C" in result.lines[4]
    assert {"≤", "≥"} <= set(result.lines[5])
    assert "\ufffd" not in result.out


def test_words_that_a_line_rightly_repeats_are_repeated(small_model: Translator) -> None:
    assert small_model.translate(" ".join([BOOK, BOOK, BOOK, TREE])) == " ".join([BOOK_FA, BOOK_FA, BOOK_FA, TREE_FA])


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
    assert translated(small_run, source).lines == [BOOK_FA, ROAD_FA]


# --- files that are refused ---

SUBTITLES = "1\n00:00:02,830 --> 00:00:05,560\nThe book is old.\n"
TABLE_ADVICE = "write its texts to a table"
XLIFF = '<?xml version="1.0"?>\n<xliff version="1.2">\n</xliff>\n'


@pytest.mark.parametrize(
    ("name", "content", "kind", "advice"),
    [
        ("film.txt", SUBTITLES, "subtitles", "ends in .srt or .vtt, and translate it with --input"),
        ("film.ass", "[Script Info]\n", "subtitles", TABLE_ADVICE),
        ("ui.txt", '# made up\nmsgid ""\nmsgstr ""\n', "PO", "ends in .po, and translate it with --input"),
        ("ui.mo", "\xde\x12\x04\x95" + "\0" * 24, "MO", "msgunfmt FILE > texts.po"),
        ("ui.xlf", XLIFF, "XLIFF", TABLE_ADVICE),
        ("ui.xml", XLIFF, "XLIFF", TABLE_ADVICE),
        ("Localizable.strings", '"title" = "The book is old.";\n', ".strings", TABLE_ADVICE),
        ("ui.en.json", '{\n  "title": "The book is old."\n}\n', "JSON object", TABLE_ADVICE),
    ],
)
def test_subtitles_and_messages_of_programs_are_refused_with_one_message(
    name: str, content: str, kind: str, advice: str, small_run: Path, tmp_path: Path
) -> None:
    source = tmp_path / name
    source.write_bytes(content.encode("latin-1"))
    result = translated(small_run, source, "--output", str(tmp_path / "out.fa"))
    assert result.code == 2
    assert kind in result.err
    assert advice in result.err
    assert len(result.err.splitlines()) == 1
    assert not (tmp_path / "out.fa").exists()


def test_subtitles_on_standard_input_are_refused_too(small_run: Path) -> None:
    result = translator("translate", "--run", small_run, stdin=SUBTITLES)
    assert (result.code, result.out) == (2, "")
    assert "subtitles" in result.err


def test_windows_1256_is_refused_with_the_command_that_converts_it(small_run: Path, tmp_path: Path) -> None:
    source = tmp_path / "book-cp1256.fa"
    source.write_bytes(f"{BOOK_FA}\n{TREE_FA}\n".replace("ی", "ي").encode("windows-1256", "ignore"))
    result = translated(small_run, source)
    assert (result.code, result.out) == (2, "")
    assert "iconv -f WINDOWS-1256" in result.err
