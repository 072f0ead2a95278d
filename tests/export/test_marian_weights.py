"""What `MarianMTModel` computes with an exported model is what the model computes."""

import importlib
import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from export.stand_ins import POST, sample_rows, stand_in

from translator.config import ModelConfig, SearchConfig
from translator.data import collate_source
from translator.errors import InputError
from translator.export.formats import check_format
from translator.export.marian_weights import generation_config, write_marian_weights
from translator.model import Transformer
from translator.search import search
from translator.special_tokens import EOS, PAD, SOS
from translator.subword import SubwordPair

GREEDY = SearchConfig(method="greedy", max_length_ratio=1.0)

transformers: Any = importlib.import_module("transformers")  # its types say otherwise than it does
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def exported(folder: Path, model: Transformer, config: ModelConfig, search: SearchConfig = GREEDY) -> Any:
    write_marian_weights(folder, model, config, search)
    marian, told = transformers.MarianMTModel.from_pretrained(folder, output_loading_info=True)
    assert not any(told[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    return marian.eval()


def teacher_forced(marian: Any, source: torch.Tensor, target_input: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        found = marian(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=target_input)
    logits: torch.Tensor = found.logits
    return logits


@pytest.mark.parametrize(("activation", "tied"), list(itertools.product(("relu", "gelu"), ("none", "target", "all"))))
def test_logits_agree(activation: str, tied: str, subword: SubwordPair, joint: SubwordPair, tmp_path: Path) -> None:
    pair = joint if tied == "all" else subword
    config = POST.model_copy(update={"activation": activation, "tied_embeddings": tied})
    source = collate_source(sample_rows(pair, 12))
    assert bool((source == PAD).any()), "a batch with padding"
    target_input = torch.randint(EOS + 1, pair.target.vocabulary_size, (12, 9))
    target_input[:, 0] = SOS
    model = stand_in(config, pair)
    marian = exported(tmp_path, model, config)
    with torch.no_grad():
        expected = model(source, target_input)
    torch.testing.assert_close(teacher_forced(marian, source, target_input), expected, atol=1e-4, rtol=0)
    marian.save_pretrained(tmp_path / "again")  # whoever trains it on must not lose anything
    again = transformers.MarianMTModel.from_pretrained(tmp_path / "again").eval()
    torch.testing.assert_close(teacher_forced(again, source, target_input), expected, atol=1e-4, rtol=0)


def test_greedy_search_agrees_on_five_hundred_sentences(
    learnt: Transformer, subword: SubwordPair, tmp_path: Path
) -> None:
    rows = sample_rows(subword, 500)
    source = collate_source(rows)
    expected = [found[0] for found in search(learnt, source, GREEDY)]
    assert len({one.tokens for one in expected}) > 200, "the model tells sentences apart"
    longest = max(len(one.tokens) for one in expected) + 1
    found = exported(tmp_path, learnt, POST).generate(
        input_ids=source, attention_mask=(source != PAD).long(), max_new_tokens=longest
    )
    for one, own in zip(found.tolist(), expected, strict=True):
        assert one[0] == SOS
        assert one[1 : 1 + len(own.tokens) + own.finished] == [*own.tokens, *[EOS] * own.finished]


def test_beam_search_agrees_on_most_sentences(learnt: Transformer, subword: SubwordPair, tmp_path: Path) -> None:
    beam = SearchConfig(method="beam", beam_size=5, length_normalization="average", max_length_ratio=3.0)
    source = collate_source(sample_rows(subword, 40))
    expected = [found[0] for found in search(learnt, source, beam)]
    found = exported(tmp_path, learnt, POST, beam).generate(
        input_ids=source, attention_mask=(source != PAD).long(), max_new_tokens=60
    )
    same = [
        [token for token in one[1:] if token not in (PAD, EOS)] == list(own.tokens)
        for one, own in zip(found.tolist(), expected, strict=True)
    ]
    assert sum(same) >= 32


def test_a_start_that_is_no_pad_and_no_end_that_is_forced(subword: SubwordPair, tmp_path: Path) -> None:
    marian = exported(tmp_path, stand_in(POST, subword), POST, SearchConfig(beam_size=7, length_penalty=0.8))
    for settings in (marian.config, marian.generation_config):
        assert (settings.decoder_start_token_id, settings.pad_token_id, settings.eos_token_id) == (SOS, PAD, EOS)
        assert settings.forced_eos_token_id is None, "Marian's own default would force token 0"
    assert (marian.generation_config.num_beams, marian.generation_config.length_penalty) == (7, 0.8)


def test_sampling_is_said_with_all_its_settings() -> None:
    search = SearchConfig(method="sampling", temperature=0.7, top_p=0.9, no_repeat_ngram=3)
    settings = generation_config(POST, search)
    assert {key: settings[key] for key in ("do_sample", "temperature", "top_k", "top_p", "no_repeat_ngram_size")} == {
        "do_sample": True,
        "temperature": 0.7,
        "top_k": 0,
        "top_p": 0.9,
        "no_repeat_ngram_size": 3,
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"norm": "pre"}, r"model\.norm is `pre`, and Marian has its LayerNorm after each residual sum"),
        ({"activation": "swiglu"}, r"model\.activation is `swiglu`, and Marian has no gated feed-forward"),
        ({"positions": "learned"}, r"model\.positions is `learned`, and Marian computes its sinusoids anew"),
    ],
)
def test_what_marian_cannot_say(changes: dict[str, str], expected: str) -> None:
    with pytest.raises(
        InputError, match=rf"{expected}.*Export it to ctranslate2 .* or train one with model\.norm: post"
    ):
        check_format("marian", None, POST.model_copy(update=changes))


def test_formats_and_types_that_are_not() -> None:
    assert check_format("marian", None, POST) == ("marian", "float32")
    with pytest.raises(InputError, match=r"cannot export to `onnx`; choose one of: ctranslate2, marian, safetensors"):
        check_format("onnx", None, POST)
    with pytest.raises(InputError, match=r"marian cannot hold weights as `int8`; .* is a type of: ctranslate2"):
        check_format("marian", "int8", POST)
