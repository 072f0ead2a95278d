"""Subtitles: what is translated of them, what stays, and how a sentence is laid out over cues."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.loud_translator import loud
from translator.errors import TranslatorError
from translator.inference.files.subtitles import divided
from translator.inference.files.whole_files import read_whole_file, translate_whole_file

EXAMPLES = yaml.safe_load(Path(__file__).with_name("subtitles.yaml").read_text(encoding="utf-8"))
FILES = EXAMPLES["files"]
OVER = FILES["sentence over three cues"]


def in_capitals(file: Path, content: bytes) -> tuple[list[str], str]:
    """Return the texts of a file with this content, and the file in capital letters."""
    file.write_bytes(content)
    whole_file: Any = read_whole_file(file)
    return whole_file.texts, translate_whole_file(loud(), whole_file, file.name)


@pytest.mark.parametrize(("text", "weights", "parts"), EXAMPLES["divided"])
def test_words_are_divided_in_proportion(text: str, weights: list[int], parts: list[str]) -> None:
    assert divided(text, weights) == parts


@given(st.lists(st.text("ab", min_size=1), max_size=9), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_dividing_loses_no_word_and_leaves_no_part_empty(words: list[str], weights: list[int]) -> None:
    parts = divided(" ".join(words), weights)
    assert len(parts) == len(weights)
    assert " ".join(parts).split() == words
    assert sum(map(bool, parts)) == min(len(words), len(weights))


@pytest.mark.parametrize("name", FILES)
def test_only_the_text_of_cues_is_translated(name: str, tmp_path: Path) -> None:
    texts, written = in_capitals(tmp_path / "film.srt", FILES[name]["source"].encode())
    assert texts == FILES[name]["texts"]
    assert written == FILES[name]["written"]


def test_byte_order_marks_and_line_ends_of_windows_are_read(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + OVER["source"].encode().replace(b"\n", b"\r\n")
    assert in_capitals(tmp_path / "film.SRT", content) == (OVER["texts"], OVER["written"])


def test_captions_without_punctuation_are_translated_cue_by_cue(tmp_path: Path) -> None:
    cues = [f"00:00:{second:02}.000 --> 00:00:{second + 1:02}.000\nand so on\n\n" for second in range(20)]
    texts, _ = in_capitals(tmp_path / "film.vtt", ("WEBVTT\n\n" + "".join(cues)).encode())
    assert texts == ["and so on"] * 20


@pytest.mark.parametrize("name", EXAMPLES["broken"])
def test_a_broken_cue_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    content, message = EXAMPLES["broken"][name]
    file = tmp_path / "film.srt"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(TranslatorError, match=f"film.srt, {message}"):
        read_whole_file(file)
