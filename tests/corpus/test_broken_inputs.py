"""Broken text through the whole preparation: what a person is told, and that nothing is left of what was refused."""

import random
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus.broken_corpora import (
    COUNT,
    aligned_numbers,
    config_of,
    contents,
    one_line,
    refusal,
    rows,
    sides,
    table,
    texts_of,
)
from corpus.sources.corpora import PACKERS, folder_of, one_file, two_files, zip_file

from translator.config import SourceConfig, parse_config
from translator.corpus import prepare_corpus
from translator.errors import ConfigError, TranslatorError

Layout = Callable[[Path, bytes, bytes], SourceConfig]

LAYOUTS: dict[str, Layout] = {
    "files": two_files,
    "packed files": lambda folder, english, persian: two_files(
        folder, PACKERS[".gz"](english), PACKERS[".gz"](persian), ".gz"
    ),
    "zip": lambda folder, english, persian: zip_file(
        folder / "text.zip", {"T.en-fa.en": english, "T.en-fa.fa": persian}
    ),
    "folder": lambda folder, english, persian: folder_of(folder / "folder", {"b.en": english, "b.fa": persian}),
}
"""Ways to store two sides."""

ODD = ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e", "\r"]
"""What some programs take for the end of a line, and a corpus does not."""


@pytest.fixture(params=list(LAYOUTS))
def layout(request: pytest.FixtureRequest) -> Layout:
    """Each way in turn."""
    return LAYOUTS[request.param]


def replaced(text: bytes, line: int, content: bytes) -> bytes:
    """Return `text` with another line, counted from 1."""
    lines = text.split(b"\n")
    lines[line - 1] = content
    return b"\n".join(lines)


@pytest.mark.parametrize("missing", [1, 40, 397])
def test_sides_of_unequal_length(tmp_path: Path, layout: Layout, missing: int) -> None:
    pairs = rows(400)
    english, _ = sides(pairs)
    _, persian = sides(pairs[: missing - 1] + pairs[missing:])
    message = refusal(layout(tmp_path, english, persian), tmp_path / "prepared")
    assert message.startswith("corpus source `text`: the two sides differ in length: ")
    assert " has 400 lines, " in message
    assert " has 399; every English line needs its Persian line" in message
    guess = re.search(r"First suspicious line: about ([\d,]+) \(a guess\), English: House (\d+) stands", message)
    assert guess is not None
    assert abs(int(guess[1]) - missing) <= 3
    assert guess[1] == guess[2]


def test_the_suspicious_line_is_shown_without_what_it_would_do_to_a_terminal(tmp_path: Path) -> None:
    english, persian = sides(rows(3))
    hostile = "House\r1\x1b[2J\u2028 \u202eriver \u0085\x00".encode()
    message = refusal(two_files(tmp_path, replaced(english, 1, hostile), persian[:10]), tmp_path / "prepared")
    assert r"English: House\r1\x1b[2J\u2028 \u202eriver \x85\x00; Persian: خانهٔ" in message


def test_marks_and_carriage_returns_in_mid_file_change_nothing(tmp_path: Path, layout: Layout) -> None:
    """Files, some of them from Windows, were put together with `cat`; the last has pairs that are held out, as read."""
    mixed = [b"", b""]
    for part in (rows()[:30], rows()[30:55], rows()[55:]):
        for place, text in enumerate(sides(part)):
            mixed[place] += b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n") if mixed[place] else text
    results = []
    for name, (english, persian) in (("clean", sides(rows())), ("mixed", mixed)):
        (tmp_path / name).mkdir()
        source = layout(tmp_path / name, english, persian)
        results.append(texts_of(prepare_corpus(config_of(source, tmp_path / name / "prepared"))))
    assert results[0] == results[1]
    assert len(results[0]) == 9


def test_what_only_looks_like_the_end_of_a_line_shifts_no_pair(tmp_path: Path, layout: Layout) -> None:
    pairs = rows()
    for place, mark in enumerate(ODD):
        source, target = pairs[3 + 5 * place]
        pairs[3 + 5 * place] = (source.replace(" ", mark, 1), target)
        source, target = pairs[55 - 5 * place]  # the last of these is held out, the others are for training
        pairs[55 - 5 * place] = (source, f"{mark}{target} {mark}")
    corpus = prepare_corpus(config_of(layout(tmp_path, *sides(pairs)), tmp_path / "prepared"))
    assert aligned_numbers(corpus) == set(range(1, COUNT + 1))
    assert corpus.report.sources[0].read == COUNT
    training = (corpus.directory / "train" / "text.en").read_text("utf-8")
    assert not any(mark in training for mark in ODD)


def test_zero_bytes(tmp_path: Path, layout: Layout) -> None:
    english, persian = sides(rows())
    spread = b"House\x007\x00stands\0."
    corpus = prepare_corpus(config_of(layout(tmp_path, replaced(english, 7, spread), persian), tmp_path / "prepared"))
    assert b"\0" not in (corpus.directory / "train" / "text.en").read_bytes()
    assert corpus.count("train", "text") == COUNT - 10
    lost = persian[:800] + bytes(len(persian) - 800)  # as a file system leaves a file after a crash
    message = refusal(layout(tmp_path, english, lost), tmp_path / "refused")
    assert " has 60 lines, " in message


@pytest.mark.parametrize("wrong", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", "é".encode("latin-1")])
def test_invalid_utf8(tmp_path: Path, layout: Layout, wrong: bytes) -> None:
    english, persian = sides(rows())
    english = replaced(english, 9, b"House 9" + wrong + b" stands.")
    persian = replaced(persian, 23, "خانهٔ 23".encode() + wrong)
    source = layout(tmp_path, english, persian)
    message = refusal(source, tmp_path / "prepared")
    offset = english.index(b"House 9") + 7
    assert f"n, line 9: not UTF-8 (byte 0x{wrong[0]:02x} at byte offset {offset:,} of the text)" in message.replace(
        "n.gz", "n"
    )
    assert "set `invalid_utf8: drop` for this source" in message
    dropping = source.model_copy(update={"invalid_utf8": "drop"})
    corpus = prepare_corpus(config_of(dropping, tmp_path / "prepared"))
    assert aligned_numbers(corpus) == set(range(1, COUNT + 1)) - {9, 23}
    (report,) = corpus.report.sources
    assert {rule: count for rule, count in report.dropped.items() if count} == {"invalid_utf8": 2}
    assert report.read == COUNT


def test_swapped_sides(tmp_path: Path, layout: Layout) -> None:
    english, persian = sides(rows())
    message = refusal(layout(tmp_path, persian, english), tmp_path / "prepared")
    assert "the two sides are swapped: 60 of the first 60 pairs with letters are Persian in " in message
    swapped = one_file(tmp_path / "text.tsv", table([(target, source) for source, target in rows()]))
    assert refusal(swapped, tmp_path / "prepared").endswith("; put English into the first column")


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("way", ["files", "packed files"])
def test_line_of_ten_megabytes(tmp_path: Path, way: str, side: int) -> None:
    texts = list(sides(rows()))
    texts[side] = replaced(texts[side], 30, random.Random(1).randbytes(5 << 20).hex().encode())
    settings = config_of(LAYOUTS[way](tmp_path, texts[0], texts[1]), tmp_path / "prepared")
    tracemalloc.start()
    try:
        corpus = prepare_corpus(settings)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 << 20
    assert aligned_numbers(corpus) == set(range(1, COUNT + 1)) - {30}
    assert corpus.report.sources[0].dropped["line_too_long"] == 1


def test_nothing_in_it(tmp_path: Path, layout: Layout) -> None:
    english, _ = sides(rows())
    assert "there is no line in it; check that it is the right file" in refusal(
        layout(tmp_path, b"", b""), tmp_path / "prepared"
    )
    message = refusal(layout(tmp_path, english, b""), tmp_path / "prepared")
    assert " has 60 lines, " in message
    assert " has 0; every English line" in message
    empty = one_file(tmp_path / "text.tsv", b"")
    assert "text.tsv: there is no line in it" in refusal(empty, tmp_path / "prepared")
    for suffix in (".gz", ".xz", ".zst", ".zip"):
        nothing = one_file(tmp_path / f"text{suffix}", b"")
        assert f"text{suffix} is damaged or was cut off" in refusal(nothing, tmp_path / "prepared")


@pytest.mark.parametrize("blank", [b"", b" \t\r", "\u00a0\u3000".encode(), b"\xef\xbb\xbf"])
def test_blank_side(tmp_path: Path, layout: Layout, blank: bytes) -> None:
    english, persian = sides(rows())
    message = refusal(layout(tmp_path, english, (blank + b"\n") * COUNT), tmp_path / "prepared")
    assert message.endswith(" is blank on every line; get the corpus again")
    assert ".fa" in message
    message = refusal(layout(tmp_path, (blank + b"\n") * COUNT, persian), tmp_path / "prepared")
    assert ".en" in message.partition(" is blank on every line")[0].rpartition(": ")[2]


def test_side_of_invisible_characters(tmp_path: Path, layout: Layout) -> None:
    english, _ = sides(rows())
    message = refusal(layout(tmp_path, english, "\u200c\u200b\u200f\n".encode() * COUNT), tmp_path / "prepared")
    assert message.startswith("corpus source `text`: all 60 pairs were dropped (empty 60); check the text")


def test_names_with_spaces_and_persian_letters(tmp_path: Path, layout: Layout) -> None:
    folder = tmp_path / "پیکره‌ی من (نو)"
    folder.mkdir()
    english, persian = sides(rows())
    source = layout(folder, english, persian).model_copy(update={"name": "میزان"})
    corpus = prepare_corpus(config_of(source, folder / "آماده شده"))
    assert len(list(corpus.lines("train", "میزان", "fa"))) == COUNT - 10
    assert sorted(contents(corpus.directory))[-1] == "validation/میزان.fa"
    message = refusal(layout(folder, english, persian[:-5]), folder / "آماده شده")
    assert "line 60: not UTF-8" in message
    assert str(folder) in message


def test_source_name_that_cannot_be_a_file_name() -> None:
    for name in ("my corpus", "../text", "کتاب‌ها", "a/b"):
        with pytest.raises(ConfigError) as caught:
            parse_config(f'corpus: {{sources: [{{name: "{name}", path: x}}]}}', "recipe.yaml")
        assert "letters, digits, `_`, `-` and `.`" in str(caught.value)


def test_path_that_cannot_be_opened(tmp_path: Path) -> None:
    long = SourceConfig(name="text", path=str(tmp_path / ("x" * 300)))
    with pytest.raises(TranslatorError) as caught:
        prepare_corpus(config_of(long, tmp_path / "prepared"))
    assert one_line(str(caught.value)).endswith("the name is too long for this file system; choose a shorter one")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not there to play a file without an end")
def test_source_without_an_end(tmp_path: Path) -> None:
    message = refusal(SourceConfig(name="text", path="/dev/full"), tmp_path / "prepared")
    assert message == "corpus source `text`: /dev/full is a pipe or a device; write its text to a file and give that"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.tsv").symlink_to("/dev/full")
    message = refusal(SourceConfig(name="text", path=str(tmp_path / "folder")), tmp_path / "prepared")
    assert "folder: `a.tsv`: this is not read; move it" in message
