"""Each function of the text rooms gives what examples.yaml says."""

import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.echo_model import Words, echo
from tests.support.pipes import pipe_with
from translator.config import NormalizationConfig, SearchConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.inference.files.display import choose_display, visual_lines
from translator.inference.files.line_reader import read_lines
from translator.inference.text.joining import join_segments
from translator.inference.text.long_sentences import split_text
from translator.inference.text.output_text import output_texts, with_source_spelling, without_second_ending
from translator.inference.text.segments import Segment
from translator.inference.text.untranslated import cut_marks
from translator.inference.translation import Translation
from translator.subword.placeholders import PLACEHOLDERS

EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def words_of(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def without_words(line: str) -> str:
    translator, model = echo()
    translation = translator.translate(line)
    assert model.shapes == [], "the model has seen the line"
    return translation


def output(text: str, source: str, search: dict[str, Any], prefix: str = "", copied: str = "x.org") -> str:
    """Return the output text of a model that has written `text`, with a placeholder of `copied` for each @."""
    words = Words(PLACEHOLDERS[0])
    pair: Any = type("Pair", (), {"source": words, "target": words})
    settings = SearchConfig.model_validate(search)
    segment = Segment(line=0, source=source, ids=[], is_first=True, copied={PLACEHOLDERS[0]: copied})
    rows = words.encode([text.replace("@", PLACEHOLDERS[0])])
    (written,) = output_texts(rows, segment, prefix, pair, Normalizer(NormalizationConfig()), settings)
    return written


def joined(texts: Sequence[str], between: Sequence[str]) -> str:
    segments = [[Translation(text, -1.0, -1.0, tokens=2, pieces=1, finished=True)] for text in texts]
    return join_segments(segments, between, 1, ranked=True)[0].text


def lines(content: bytes) -> list[str]:
    with pipe_with(content) as pipe:
        return [text for text in read_lines(pipe) if text is not None]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "latin_words": with_source_spelling,
    "second_endings": without_second_ending,
    "long_sentences": lambda text, words: split_text(text, words_of, words),
    "without_words": without_words,
    "output": output,
    "joined": joined,
    "lines": lines,
    "terminals": lambda environment: choose_display("auto", Terminal(), environment),
    "visual_lines": visual_lines,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_what_its_examples_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "7")  # of the terminal, for `visual_lines`
    for *arguments, expected in EXAMPLES[name]:
        assert FUNCTIONS[name](*arguments) == expected, arguments


def test_a_forced_prefix_spells_latin_words_and_a_copied_part_stays_on_the_line() -> None:
    assert output("آقای Smth @", "He is there", {}, prefix="آقای Smith") == "آقای Smith x.org"
    assert output("در @ است", "It is here", {}, copied="a\u2028b") == "در a b است"


def test_marks_and_their_sentence_are_told_apart() -> None:
    for parts in EXAMPLES["marks"]:
        assert list(cut_marks("".join(parts))) == parts


def test_only_a_terminal_gets_visual_order() -> None:
    assert choose_display("visual", Terminal(), {}) == "visual"
    assert choose_display("logical", Terminal(), {"TERM": "linux"}) == "logical"
    assert choose_display("visual", io.StringIO(), {}) == "logical"


# --- texts that are too long ---


@given(st.text(alphabet="ab A.,;!?\"' -—。؟،", max_size=200), st.integers(1, 30))
def test_cutting_loses_no_text_and_only_single_words_exceed_the_limit(text: str, room: int) -> None:
    pieces = split_text(text, lambda texts: [len(text) for text in texts], room)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    for piece in pieces:
        assert piece == piece.strip() != ""
        assert len(piece) <= room or " " not in piece


@given(st.integers(1, 60), st.integers(1, 20))
def test_text_is_cut_into_as_few_and_as_even_segments_as_possible(words: int, room: int) -> None:
    segment_lengths = words_of(split_text(" ".join("w" * words), words_of, room))
    assert len(segment_lengths) == math.ceil(words / room)
    assert max(segment_lengths) == math.ceil(words / len(segment_lengths))
