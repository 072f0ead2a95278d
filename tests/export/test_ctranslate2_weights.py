"""What CTranslate2 computes with an exported model is what the model computes."""

import itertools
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch
from export.stand_ins import POST, SMALL, pieces, sample_rows, stand_in

from translator.config import ModelConfig, SearchConfig
from translator.data import collate_source
from translator.errors import InputError
from translator.export.ctranslate2_weights import write_ctranslate2
from translator.model import Transformer
from translator.search import Hypothesis, score_targets, search
from translator.subword import SubwordPair

GREEDY = SearchConfig(method="greedy", max_length_ratio=1.0)
ARCHITECTURES = list(
    itertools.product(
        ("pre", "post"), ("relu", "gelu", "swiglu"), ("sinusoidal", "learned", "rotary"), ("none", "target", "all")
    )
)


def exported(folder: Path, config: ModelConfig, subword: SubwordPair, quantization: str = "float32") -> Any:
    write_ctranslate2(folder, stand_in(config, subword), config, subword, quantization)
    return ctranslate2.Translator(str(folder), compute_type="default", inter_threads=1, intra_threads=1)


def greedy(translator: Any, subword: SubwordPair, rows: list[list[int]], longest: int) -> list[list[str]]:
    found = translator.translate_batch(
        [subword.source.pieces_of(row) for row in rows],
        beam_size=1,
        max_decoding_length=longest,
        min_decoding_length=0,
        max_input_length=0,
        disable_unk=True,
        suppress_sequences=[["<pad>"], ["<s>"]],
        return_end_token=True,
    )
    return [one.hypotheses[0] for one in found]


def ours(config: ModelConfig, subword: SubwordPair, rows: list[list[int]]) -> list[Hypothesis]:
    return [found[0] for found in search(stand_in(config, subword), collate_source(rows), GREEDY)]


def test_a_library_too_old_for_rotary_positions_is_named(
    subword: SubwordPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = SMALL.model_copy(update={"positions": "rotary"})

    class Old:
        def __init__(self, num_layers: int, num_heads: int, pre_norm: bool = True) -> None: ...

    monkeypatch.setattr(ctranslate2.specs.transformer_spec, "TransformerEncoderSpec", Old)
    with pytest.raises(InputError, match=r"model\.positions is `rotary`.*CTranslate2 \d.*pip install --upgrade"):
        write_ctranslate2(tmp_path, stand_in(config, subword), config, subword)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("norm", "activation", "positions", "tied"), ARCHITECTURES)
def test_every_architecture_gives_the_same_tokens_and_probabilities(
    norm: str, activation: str, positions: str, tied: str, subword: SubwordPair, joint: SubwordPair, tmp_path: Path
) -> None:
    pair = joint if tied == "all" else subword
    changes = {"norm": norm, "activation": activation, "positions": positions, "tied_embeddings": tied}
    config = SMALL.model_copy(update=changes)
    rows = sample_rows(pair, 4)
    model, translator = stand_in(config, pair), exported(tmp_path, config, pair)
    longest = 8
    expected = [pieces(pair, one.tokens, one.finished)[:longest] for one in ours(config, pair, rows)]
    assert greedy(translator, pair, rows, longest) == expected
    targets = [[20, 60, 33, 7], [5], [], [9, 8]]
    scored = translator.score_batch(
        [pair.source.pieces_of(row) for row in rows], [pair.target.pieces_of(target) for target in targets]
    )
    for one, own in zip(scored, score_targets(model, collate_source(rows), targets), strict=True):
        assert one.log_probs == pytest.approx(own.token_scores, abs=1e-4)


def test_greedy_search_agrees_on_five_hundred_sentences(
    learnt: Transformer, subword: SubwordPair, tmp_path: Path
) -> None:
    rows = sample_rows(subword, 500)
    expected = [found[0] for found in search(learnt, collate_source(rows), GREEDY)]
    assert 100 < sum(one.finished for one in expected) < 500, "some end by themselves, some are stopped"
    assert len({one.tokens for one in expected}) > 200, "the model tells sentences apart"
    write_ctranslate2(tmp_path, learnt, POST, subword)
    translator = ctranslate2.Translator(str(tmp_path), inter_threads=1, intra_threads=1)
    found = greedy(translator, subword, rows, max(len(one.tokens) for one in expected) + 1)
    for one, own in zip(found, expected, strict=True):
        assert one[: len(own.tokens) + own.finished] == pieces(subword, own.tokens, own.finished)


def test_int8_is_near_and_leaves_the_model_as_it_was(subword: SubwordPair, tmp_path: Path) -> None:
    model = stand_in(SMALL, subword)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for name in ("float32", "int8"):
        (tmp_path / name).mkdir()
        write_ctranslate2(tmp_path / name, model, SMALL, subword, name)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("float32", "int8")]
    assert sizes[1] < 0.6 * sizes[0]
    rows = [subword.source.pieces_of(row) for row in sample_rows(subword, 20)]
    targets = [subword.target.pieces_of([10, 20, 30, 40])] * 20
    scores = [
        [
            sum(one.log_probs)
            for one in ctranslate2.Translator(str(tmp_path / name), compute_type=name).score_batch(rows, targets)
        ]
        for name in ("float32", "int8")
    ]
    assert scores[1] == pytest.approx(scores[0], rel=0.05)
    assert scores[1] != scores[0]


def test_a_source_ends_by_itself_and_a_target_begins_with_sos(subword: SubwordPair, tmp_path: Path) -> None:
    exported(tmp_path, SMALL, subword)
    text = (tmp_path / "config.json").read_text(encoding="utf-8")
    for entry in ('"add_source_eos": true', '"decoder_start_token": "<s>"', '"eos_token": "</s>"'):
        assert entry in text
