"""As many lines out as in, in order, none cut; with a model that copies, and with a run folder."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from untrained import add_checkpoint, untrained_run

from translator import Translator
from translator.config import NormalizationConfig, SearchConfig
from translator.corpus.normalize import Normalizer
from translator.data import DataHandler
from translator.errors import CheckpointError, ConfigError, RunError, SubwordError
from translator.inference import POSITIONS_AT_ONCE
from translator.model import AttentionWeights
from translator.run_folder import RunFolder
from translator.special_tokens import EOS, SPECIAL_TOKENS
from translator.subword import SubwordModel

GREEDY = SearchConfig(method="greedy", batch_size=4)
LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


class Words:
    """A subword model in which each word is a token, learnt when it is first seen."""

    def __init__(self) -> None:
        self.words = [spelling for spelling, _ in SPECIAL_TOKENS]
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        self.seen += texts
        for word in (word for text in texts for word in text.split()):
            if word not in self.words:
                self.words.append(word)
        return [[self.words.index(word) for word in text.split()] for text in texts]

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [" ".join(self.words[token] for token in row) for row in rows]

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        return [self.words[token] for token in ids]


class Echo(torch.nn.Module):
    """A model that is certain of the source's own tokens."""

    max_positions = 100_000
    vocabulary = 4000

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, int]] = []
        self.finishes = True

    def start(self, source: Tensor, width: int = 1) -> "EchoState":
        assert not self.training
        assert torch.is_inference_mode_enabled()
        self.shapes.append((source.size(0), source.size(1)))
        return EchoState(source.repeat_interleave(width, dim=0))

    def step(self, tokens: Tensor, cache: "EchoState", /) -> Tensor:
        following = cache.rows[:, min(cache.length, cache.rows.size(1) - 1)]
        if not self.finishes:
            following = torch.full_like(following, EOS + 1)
        cache.length += 1
        return torch.nn.functional.one_hot(following.clamp(min=EOS), self.vocabulary) * 50.0

    def attention(self, source: Tensor, target_input: Tensor) -> AttentionWeights:
        shape = (1, 2, target_input.size(1), source.size(1))
        first, last = torch.zeros(shape), torch.zeros(shape)
        last[:, 0, :, 0] = 1.0
        last[:, 1, :, -1] = 1.0
        return AttentionWeights(cross=[first, last])


class EchoState:
    def __init__(self, rows: Tensor) -> None:
        self.rows = rows
        self.length = 0

    def select(self, rows: Tensor) -> None:
        self.rows = self.rows.index_select(0, rows)


def echo(max_length: int = 20, search: SearchConfig = GREEDY, subword: Any = None) -> tuple[Translator, Echo]:
    words = subword or Words()
    model = Echo()
    pair: Any = type("Pair", (), {"source": words, "target": words})
    network: Any = model
    normalizer = Normalizer(NormalizationConfig())
    return Translator(network, pair, normalizer, search, max_length, torch.device("cpu")), model


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
    assert all(rows == 1 or rows * width * 4 <= POSITIONS_AT_ONCE for rows, width in model.shapes)


def test_the_caller_can_stop_between_batches() -> None:
    translator, model = echo()
    calls = []

    def stop_at_third() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    model.train()
    with pytest.raises(KeyboardInterrupt):
        translator.translate_lines(["a"] * 20, between_batches=stop_at_third)
    assert len(model.shapes) == 2
    assert model.training, "the model is as it was"


def test_the_progress_bar_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    translator, _ = echo()
    translator.translate_lines(["a"] * 9, description="translating x")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "translating x" in captured.err
    assert "9/9" in captured.err


def test_attention_is_the_last_layers_mean_over_heads() -> None:
    translator, model = echo()
    model.train()
    found = translator.attention("a b c")
    assert found.source == found.target == ["a", "b", "c", "</s>"]
    assert found.weights.tolist() == [[0.5, 0.0, 0.0, 0.5]] * 4
    assert model.training


def test_attention_of_a_translation_that_never_ends() -> None:
    translator, model = echo(search=SearchConfig(method="greedy", max_length_ratio=1.0))
    model.finishes = False
    found = translator.attention("a b")
    assert found.target == ["a"] * (3 + 10)
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
    translator, _ = echo(max_length=40)
    assert translator.translate(text) == text.strip()


def test_a_translation_does_not_depend_on_its_neighbours(tiny: Any) -> None:
    run = untrained_run(tiny())
    translator = Translator.load(run.path, search=SearchConfig(method="beam", beam_size=2, batch_size=3))
    texts = ["abc", "h", "", "gfedcba abc", "hhhhhhhh", "abcabc", "d e f"]
    together = translator.translate_lines(texts)
    assert len(set(together)) > 3, "the random model tells texts apart"
    assert [translator.translate(text) for text in texts] == together
    assert translator.translate_lines(texts[::-1]) == together[::-1]


def test_load_takes_the_checkpoint_and_the_settings_asked_for(tiny: Any) -> None:
    config = tiny()
    run = untrained_run(config, step=5)
    add_checkpoint(run, config, DataHandler(config), step=9)
    best, last, other = (Translator.load(run.path, checkpoint=name) for name in ("best", "last", "5"))
    assert [loaded.checkpoint and loaded.checkpoint.step for loaded in (best, last, other)] == [9, 9, 5]
    texts = ["abc", "hgf", "ddd eee"]
    assert best.translate_lines(texts) == last.translate_lines(texts) != other.translate_lines(texts)
    shorter = Translator.load(str(run.path), overrides=["search.max_length_ratio=0.01"])
    assert all(len(line) <= 11 for line in shorter.translate_lines(texts))


def test_load_falls_back_to_the_cpu_only_when_nobody_asked(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    run = untrained_run(tiny("run.device=cuda"))
    assert len(Translator.load(run.path).translate_lines(["abc"])) == 1
    with pytest.raises(ConfigError, match=r"run\.device is `cuda`, but torch finds no CUDA GPU here"):
        Translator.load(run.path, device="cuda")


def test_load_falls_back_to_the_cpu_where_the_runs_gpu_is_not(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    run = untrained_run(tiny("run.device=cuda:3"))
    assert len(Translator.load(run.path).translate_lines(["abc"])) == 1
    with pytest.raises(ConfigError, match=r"run\.device is `cuda:3`, but there are only 1 GPUs"):
        Translator.load(run.path, device="cuda:3")


def test_load_refuses_other_subword_models(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(tiny())
    model = run.subword_folder / "target.model"
    SubwordModel.train(["xyz zyx", "zz xx yy"], tiny().subword, model)
    with pytest.raises(SubwordError, match=r"target\.model is not the model that was trained"):
        Translator.load(run.path)
    (run.subword_folder / "subword.json").unlink()
    with pytest.raises(CheckpointError, match=r"subword models in .* are not those .* `best` .* restore the whole run"):
        Translator.load(run.path)


def test_load_says_when_there_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no run at .*nowhere"):
        Translator.load(tmp_path / "nowhere")
    assert RunFolder(tmp_path / "nowhere").path.exists() is False
