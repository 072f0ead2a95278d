"""`MarianMTModel` computes what the model computes, and `MarianTokenizer` gives our ids and our text."""

import importlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.export_stand_ins import POST, sample_pairs, sample_rows, stand_in
from translator.config import SearchConfig
from translator.config.corpus_section import ENGLISH, PERSIAN
from translator.core import EOS, PAD, SOS, UNK
from translator.core.batch import collate_source
from translator.errors import InputError
from translator.export.marian import generation_config, write_marian_weights
from translator.export.marian_tokenizer import write_marian_tokenizer
from translator.export.package import check_format
from translator.subword import SubwordPair

transformers: Any = importlib.import_module("transformers")  # its type annotations do not match its behaviour
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


@torch.no_grad()
@pytest.mark.parametrize(("activation", "tied"), [("gelu", "target"), ("relu", "all")])
def test_logits_agree(activation: str, tied: str, subword: SubwordPair, joint: SubwordPair, tmp_path: Path) -> None:
    pair = joint if tied == "all" else subword
    config = POST.model_copy(update={"activation": activation, "tied_embeddings": tied})

    # A batch with padding, and any target tokens.
    source = collate_source(sample_rows(pair, 12))
    source_mask = (source != PAD).long()
    assert not source_mask.all()
    target_input = torch.randint(EOS + 1, pair.target.vocabulary_size, (12, 9))
    target_input[:, 0] = SOS
    model = stand_in(config, pair)
    expected = model(source, target_input)

    def assert_logits(marian: Any) -> None:
        output = marian.eval()(input_ids=source, attention_mask=source_mask, decoder_input_ids=target_input)
        torch.testing.assert_close(output.logits, expected, atol=1e-4, rtol=0)

    write_marian_weights(tmp_path, model, config, SearchConfig(beam_size=7, length_penalty=0.8))
    marian, loading = transformers.MarianMTModel.from_pretrained(tmp_path, output_loading_info=True)
    for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not loading[problem], problem
    assert_logits(marian)
    assert marian.generation_config.forced_eos_token_id is None, "Marian's own default would force token 0"
    assert (marian.generation_config.num_beams, marian.generation_config.length_penalty) == (7, 0.8)

    # Saving it again, as after fine-tuning, must lose nothing.
    marian.save_pretrained(tmp_path / "again")
    assert_logits(transformers.MarianMTModel.from_pretrained(tmp_path / "again"))


def test_generation_config_follows_the_sampling_settings() -> None:
    sampling = SearchConfig(method="sampling", temperature=0.7, top_p=0.9, no_repeat_ngram=3)
    expected: dict[str, Any] = {
        "do_sample": True,
        "temperature": 0.7,
        "top_k": 0,
        "top_p": 0.9,
        "no_repeat_ngram_size": 3,
    }
    expected["suppress_tokens"] = [PAD, UNK, SOS]
    assert expected.items() <= generation_config(POST, sampling).items()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"norm": "pre"}, r"model\.norm is `pre`, but Marian has its LayerNorm after each residual sum"),
        ({"activation": "swiglu"}, r"model\.activation is `swiglu`, but Marian has no gated feed-forward"),
        ({"positions": "learned"}, r"model\.positions is `learned`, but Marian supports only sinusoids"),
    ],
)
def test_models_that_marian_cannot_represent_are_rejected(changes: dict[str, str], expected: str) -> None:
    advice = r".*Export it to ctranslate2 .* or train one with model\.norm: post"
    with pytest.raises(InputError, match=expected + advice):
        check_format("marian", None, POST.model_copy(update=changes))


PERSIAN_TEXTS = [*(persian for _, persian in sample_pairs("test")[:200]), "می‌رود ؟ 👍 ."]


class Tokenizers(NamedTuple):
    """The same subword models, as ours and as a `MarianTokenizer`."""

    subword: SubwordPair
    marian: Any


@pytest.fixture(scope="module", params=["subword_folder", "joint_folder"])
def tokenizers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizers:
    subword_folder: Path = request.getfixturevalue(request.param)
    folder = tmp_path_factory.mktemp("tokenizer")
    write_marian_tokenizer(folder, subword_folder, max_length=64, languages=(ENGLISH, PERSIAN))
    marian = transformers.MarianTokenizer.from_pretrained(folder)
    return Tokenizers(subword=SubwordPair.load(subword_folder), marian=marian)


def with_eos(rows: list[list[int]]) -> list[list[int]]:
    return [[*row, EOS] for row in rows]


def test_marian_tokenizer_has_our_ids_of_special_tokens_and_of_persian_and_decodes_to_our_text(
    tokenizers: Tokenizers,
) -> None:
    marian, target = tokenizers.marian, tokenizers.subword.target
    assert (marian.pad_token_id, marian.bos_token_id, marian.eos_token_id) == (PAD, SOS, EOS)
    assert marian.model_max_length == 64
    rows = target.encode(PERSIAN_TEXTS)
    assert marian(text_target=PERSIAN_TEXTS)["input_ids"] == with_eos(rows)
    generated = [[SOS, *row, EOS, PAD] for row in rows]
    assert marian.batch_decode(generated, skip_special_tokens=True) == target.decode_ids(generated)


@settings(max_examples=50)
@example("emoji 👩‍👩‍👧‍👦 🇮🇷 and é ß 中文")
@example("<s> </s> <pad> <unk> are text")
@example("▁ the mark of a space")
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40).filter(lambda text: "<<" not in text))
def test_marian_tokenizer_gives_our_ids_for_any_text(tokenizers: Tokenizers, text: str) -> None:
    assert tokenizers.marian([text])["input_ids"] == with_eos(tokenizers.subword.source.encode([text]))
