"""As many lines out as in, in order, none cut; with a model that copies, and with a run folder."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from echo_model import GREEDY, Words, echo
from hypothesis import given, settings
from hypothesis import strategies as st
from untrained import untrained_run

from translator import Translator
from translator.config import SearchConfig
from translator.errors import InputError
from translator.inference import SOURCE_POSITIONS_AT_ONCE

LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(alphabet="ab \n\t", max_size=30), max_size=12))
def test_one_line_for_each_text_in_order(texts: list[str]) -> None:
    translator, _ = echo(max_length=8)
    assert translator.translate_lines(texts) == [" ".join(text.split()) for text in texts]


@pytest.mark.parametrize("search", [GREEDY, SearchConfig(method="beam", beam_size=3, batch_size=5)])
def test_order_survives_sorting_by_length(search: SearchConfig) -> None:
    translator, model = echo(search=search)
    texts = [" ".join(f"w{number}" for _ in range(1 + number * 7 % 15)) for number in range(40)]
    assert translator.translate_lines(texts) == texts
    widths = [width for _, width in model.shapes]
    assert widths == sorted(widths, reverse=True), "the longest first, so that memory does not run out at the end"
    assert max(rows for rows, _ in model.shapes) == search.batch_size


@pytest.mark.parametrize("separator", [*LINE_BREAKS, "\r\n"])
def test_a_line_break_inside_a_text_makes_no_second_line(separator: str) -> None:
    translator, _ = echo()
    assert translator.translate(f"a{separator}b{separator}") == "a b"


@pytest.mark.parametrize("separator", LINE_BREAKS)
def test_a_line_break_that_the_model_writes_makes_no_second_line(separator: str) -> None:
    class Breaking(Words):
        def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
            return [separator.join(self.words[token] for token in row) for row in rows]

    translator, _ = echo(subword=Breaking())
    assert translator.translate_lines(["a b", "c"]) == ["a b", "c"]


@pytest.mark.parametrize("text", ["", " ", "\t\u00a0\u200b", "\u2028"])
def test_empty_stays_empty_and_never_reaches_the_model(text: str) -> None:
    translator, model = echo()
    assert translator.translate_lines([text, text]) == ["", ""]
    assert model.shapes == []


def test_a_long_line_is_translated_whole_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    translator, model = echo(max_length=5)
    text = "One two three. Four five six seven, eight nine ten. Unbroken."
    with caplog.at_level(logging.WARNING, logger="translator"):
        assert translator.translate_lines(["short", text], first_line=11) == ["short", text]
    (record,) = caplog.records
    assert record.getMessage() == (
        "line 12 has 11 tokens, more than the 4 that the model can take at once: translated in 4 pieces"
    )
    assert max(width for _, width in model.shapes) <= 5


def test_a_word_longer_than_the_model_is_cut_between_tokens() -> None:
    class Letters(Words):
        def encode(self, texts: Sequence[str]) -> list[list[int]]:
            return [[10 + ord(letter) for letter in text] for text in texts]

        def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
            return ["".join(chr(token - 10) for token in row) for row in rows]

    translator, model = echo(max_length=6, subword=Letters())
    assert translator.translate("abcdefghijkl").replace(" ", "") == "abcdefghijkl"
    assert max(width for _, width in model.shapes) == 6


def test_a_very_long_line_does_not_come_with_company() -> None:
    search = SearchConfig(method="beam", beam_size=4, batch_size=64, max_length_ratio=0.01)
    translator, model = echo(max_length=3000, search=search)
    translator.translate_lines(["a " * 2500] * 3 + ["b c"] * 10)
    assert model.shapes == [(1, 2501), (1, 2501), (1, 2501), (10, 3)]
    assert all(rows == 1 or rows * width * 4 <= SOURCE_POSITIONS_AT_ONCE for rows, width in model.shapes)


def test_the_caller_can_stop_between_batches() -> None:
    translator, model = echo()

    def stop_after_second() -> None:
        if len(model.shapes) == 2:
            raise KeyboardInterrupt

    model.train()
    with pytest.raises(KeyboardInterrupt):
        translator.translate_lines(["a"] * 20, check=stop_after_second)
    assert len(model.shapes) == 2
    assert model.training, "the model is as it was"


@pytest.mark.parametrize("method", ["greedy", "beam", "sampling"])
def test_the_caller_can_stop_inside_a_search(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    translator, model = echo(search=SearchConfig.model_validate({"method": method, "batch_size": 5}))
    steps = []
    compute = model.step

    def counted(*arguments: Any) -> Any:
        steps.append(1)
        return compute(*arguments)

    def stop_after_third() -> None:
        if len(steps) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(model, "step", counted)
    with pytest.raises(KeyboardInterrupt):
        translator.translate_lines([" ".join("abcdefghij")], check=stop_after_third)
    assert len(steps) == 3
    assert translator.translate_lines(["a b c"]) == ["a b c"]


def test_the_progress_bar_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    translator, _ = echo()
    translator.translate_lines(["a"] * 9, description="translating x")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "translating x" in captured.err
    assert "9/9" in captured.err


def test_a_prefix_too_long_is_named_with_its_line_before_anything_is_searched() -> None:
    translator, model = echo()
    model.max_positions = 6
    texts = ["a b c d", "", "a b c", "a", "a b"]
    prefixes = ["", "p " * 9, "p p p p p", "p p p p p p", ""]  # the empty text has no translation to begin
    message = (
        "the forced prefix of line 14 has 6 tokens, but the model can take no more than 5 before the end of a sentence"
    )
    with pytest.raises(InputError, match=message):
        translator.translations(texts, prefixes=prefixes, first_line=11)
    assert model.shapes == []
    assert len(translator.translations(texts[:3], prefixes=prefixes[:3])) == 3, "the longest that fits"


def test_attention_is_the_last_layers_mean_over_heads() -> None:
    translator, model = echo()
    model.train()
    found = translator.attention("a b c")
    assert found.source == found.target == ["▁a", "▁b", "▁c", "</s>"]
    assert found.weights.tolist() == [[0.5, 0.0, 0.0, 0.5]] * 4
    assert model.training


def test_attention_of_a_translation_that_never_ends() -> None:
    translator, model = echo(search=SearchConfig(method="greedy", max_length_ratio=1.0))
    model.finishes = False
    found = translator.attention("a b")
    assert found.target == ["▁a"] * (3 + 10)
    assert found.weights.shape == (13, 3)


def test_attention_of_nothing() -> None:
    assert echo()[0].attention("").source == ["</s>"]


NASTY = [
    "\x00\x01\x07 bell \x1b[31mred\x7f",
    "emoji 👩‍👩‍👧‍👦 🇮🇷 fine",
    "\ud800 lone surrogate",
    "שלום سلام mixed \u202eabc\u202c",
    "x" * 100_000,
    "A sentence. " * 8_000,
    "<s> </s> <pad> <unk>",
    "é" * 300,
]


def test_a_run_folder_translates_whatever_comes(tiny: Any) -> None:
    run = untrained_run(tiny("search.max_length_ratio=0.1", "run.threads=1"))
    translator = Translator.load(run.path)
    lines = translator.translate_lines([*NASTY[:4], "", *NASTY[6:]])
    assert len(lines) == 7
    assert lines[4] == ""
    assert all(len(line.splitlines()) <= 1 for line in lines)


@pytest.mark.parametrize("text", [NASTY[4], NASTY[5]])
def test_a_hundred_thousand_characters(text: str) -> None:
    translator, _ = echo(max_length=40, search=SearchConfig(method="greedy", batch_size=1000))
    assert translator.translate(text) == text.strip()


def test_a_translation_does_not_depend_on_its_neighbours(tiny: Any) -> None:
    run = untrained_run(tiny())
    translator = Translator.load(run.path, search=SearchConfig(method="beam", beam_size=2, batch_size=3))
    texts = ["abc", "h", "", "gfedcba abc", "hhhhhhhh", "abcabc", "d e f"]
    together = translator.translate_lines(texts)
    assert len(set(together)) > 3, "the random model tells texts apart"
    assert [translator.translate(text) for text in texts] == together
    assert translator.translate_lines(texts[::-1]) == together[::-1]


WEIRD = st.text(
    st.characters()
    | st.sampled_from(
        LINE_BREAKS + "\t \u200c\u200e\u202e\u2066\ufeff\U0001f469\u200d\U0001f467\ud800\udfff\x00\x1b.!?,;"
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(WEIRD, max_size=8), st.sampled_from([4, 12]))
def test_whatever_comes_in_as_many_lines_go_out(texts: list[str], max_length: int) -> None:
    translator, model = echo(max_length=max_length)
    lines = translator.translate_lines(texts)
    assert len(lines) == len(texts)
    for text, line in zip(texts, lines, strict=True):
        assert len(line.splitlines()) <= 1
        line.encode("utf-8")
        if not text.strip():
            assert line == ""
    assert max((width for _, width in model.shapes), default=0) <= max_length
