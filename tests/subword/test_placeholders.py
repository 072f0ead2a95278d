"""Copied text is cut out before the model and put back after it, whatever the model does with the placeholders."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sentences import ENGLISH, PERSIAN, trained, unigram
from translator.subword.placeholders import PLACEHOLDERS, cut_out, cut_out_of_pair, hide, put_back

FIRST, SECOND = list(PLACEHOLDERS[:2])
EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "copied"), EXAMPLES["copied"])
def test_urls_emails_handles_emoji_files_and_numbers_are_cut_out(text: str, copied: list[str]) -> None:
    shown, parts = cut_out(text, PLACEHOLDERS)
    assert list(parts.values()) == copied
    for part in copied:
        assert part not in shown


@given(st.text(), st.integers(0, 3))
def test_putting_back_what_was_cut_out_restores_any_text(text: str, count: int) -> None:
    shown, copied = cut_out(text, PLACEHOLDERS[:count])
    without_placeholders = "".join(character for character in text if character not in PLACEHOLDERS)
    # A unit that touches its number has a space before it now.
    assert put_back(shown, copied).replace(" ", "") == without_placeholders.replace(" ", "")


def test_neighbouring_numbers_share_the_last_placeholder_beside_an_address() -> None:
    text, copied = cut_out("See www.a.org: 1, 2.", PLACEHOLDERS[:2])
    assert (text, list(copied.values())) == (f"See {FIRST}: {SECOND}.", ["www.a.org", "1, 2"])


def test_a_part_comes_back_once_though_the_model_repeats_its_placeholder() -> None:
    assert put_back(f"{FIRST} and {FIRST} of {SECOND}", {FIRST: "12"}) == "12 and of"


def test_a_part_after_the_last_mark_moves_before_it_only_if_the_source_ends_with_a_mark() -> None:
    assert put_back(f"خانهٔ. {FIRST}", {FIRST: "12"}, "House 12.") == "خانهٔ 12."
    assert put_back(f"خانهٔ. {FIRST}", {FIRST: "12"}, "House. 12") == "خانهٔ. 12"


@given(st.text(st.sampled_from([*PLACEHOLDERS, *"1 a@.org"])), st.integers(0, 3))
def test_only_the_placeholders_of_copied_parts_are_in_the_text(text: str, count: int) -> None:
    shown, copied = cut_out(f"12 {text}", PLACEHOLDERS[:count])
    assert len(copied) <= count
    if count > 0:
        assert set(shown) & set(PLACEHOLDERS) == set(copied)


@pytest.mark.parametrize(("source", "target", "expected"), EXAMPLES["pairs"])
def test_a_pair_gets_placeholders_for_what_both_sides_contain(source: str, target: str, expected: list[str]) -> None:
    assert list(cut_out_of_pair(source, target, PLACEHOLDERS)) == expected


@pytest.mark.parametrize("translation", ["قیمت €۲۰ است", "قیمت €20 است"])
def test_a_number_with_its_sign_is_hidden_as_one_part(translation: str) -> None:
    assert hide(translation, {FIRST: "€۲۰"}) == f"قیمت {FIRST} است"


def test_a_character_learned_from_text_is_not_a_placeholder(tmp_path: Path) -> None:
    texts = [f"{text} {FIRST}" for text in ENGLISH]
    model = trained(texts * 5, unigram(vocabulary_size=80), tmp_path / "source.model")
    assert model.pieces_of(model.encode([FIRST])[0])[-1].endswith(FIRST)
    assert not model.placeholders


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_each_placeholder_of_a_model_is_one_piece_wherever_it_stands(tmp_path: Path, kind: str) -> None:
    config = unigram(model_type=kind, placeholders=2, vocabulary_size=90)
    model = trained([*ENGLISH, *PERSIAN] * 5, config, tmp_path / "source.model", fold=True)
    assert list(model.placeholders) == [FIRST, SECOND]
    for text in (f"the {FIRST}", f"the{SECOND}.", f"{FIRST}{SECOND}"):
        expected = [model.placeholders[character] for character in text if character in PLACEHOLDERS]
        ids = model.encode_one(text)
        assert [token for token in ids if token in model.placeholders.values()] == expected
        assert model.decode_ids([ids]) == [text]
