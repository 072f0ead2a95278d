"""Augmented pairs: decided by their seed, changed on both sides alike, never made empty."""

import re
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.config.training_section import AugmentationConfig
from translator.data.augmentation import Augmentation, SidePair, with_typos, without_final_punctuation
from translator.data.mixture import Draws
from translator.subword.placeholders import PLACEHOLDERS

PAIR = SidePair('He said: "In 1984 I sold 25 books to Sara."', "او گفت: «در ۱۹۸۴ من ۲۵ کتاب به Sara فروختم.»")
PAIR_WITHOUT_NAMES = SidePair("The door is open.", "در باز است.")
PAIR_WITH_PLACEHOLDER = SidePair(f"See {PLACEHOLDERS[0]}", f"{PLACEHOLDERS[0]} را ببین")
TEXTS = st.text(st.sampled_from("abAB .?!12۱۲کت\u200c»\"'"), min_size=1, max_size=40)
HALF_OF_ALL: dict[str, Any] = dict.fromkeys(AugmentationConfig.model_fields, 0.5)


def results(
    pair: SidePair = PAIR, count: int = 60, placeholders: str = PLACEHOLDERS[:4], **rates: Any
) -> list[SidePair]:
    augmentation = Augmentation(AugmentationConfig(**rates), placeholders)
    draws = Draws(epoch=0, pairs=np.arange(count), repetitions=np.zeros(count, np.int32))
    chosen = augmentation.chosen(1, draws).tolist()
    return [augmentation.apply(pair, kinds, str(seed)) for seed, kinds in enumerate(chosen)]


@given(TEXTS, TEXTS)
def test_no_side_becomes_empty(source: str, target: str) -> None:
    for pair in results(SidePair(source, target), 8, **HALF_OF_ALL):
        assert all(pair)


@pytest.mark.parametrize("kind", AugmentationConfig.model_fields)
def test_an_augmentation_rate_is_the_share_of_pairs_changed(kind: str) -> None:
    rates: dict[str, Any] = {kind: 0.25}
    changed_pairs = sum(pair != PAIR for pair in results(count=400, **rates))
    fewest = 40 if kind == "typos" else 60  # a text may get no typo, since only a share of its words does
    assert fewest <= changed_pairs <= 140


# --- typos ---

SENTENCE = "The CHILDREN are reading, it is so good."
WORDS = SENTENCE.split()


def mistyped_sentences() -> list[list[str]]:
    texts = {with_typos(SENTENCE, 1.0, Random(seed)) for seed in range(200)}
    return [text.split() for text in texts]


@pytest.mark.parametrize("place", [1, 3, 7])
def test_a_typo_is_one_mistake_inside_a_longer_word(place: int) -> None:
    for words in mistyped_sentences():
        assert words[place][0] == WORDS[place][0]
        assert abs(len(words[place]) - len(WORDS[place])) <= 1
        assert words[place].isupper() == WORDS[place].isupper()


# --- final punctuation ---


def test_final_punctuation_is_left_out_of_the_english_side() -> None:
    assert results(count=1, final_punctuation=1.0) == [(PAIR.source.replace(".", ""), PAIR.target)]


@pytest.mark.parametrize("pair", [SidePair("Yes", "بله."), SidePair("?", "؟")])
def test_a_source_without_text_before_final_punctuation_stays(pair: SidePair) -> None:
    assert results(pair, 1, final_punctuation=1.0) == [pair]


@pytest.mark.parametrize(("text", "expected"), [("Is it 3.5?!", "Is it 3.5"), ("او رفت …", "او رفت")])
def test_all_marks_of_final_punctuation_are_removed(text: str, expected: str) -> None:
    assert without_final_punctuation(text) == expected


# --- placeholders ---


def placeholders_of(text: str) -> list[str]:
    return [character for character in text if character in PLACEHOLDERS]


@pytest.mark.parametrize("pair", [PAIR, PAIR_WITHOUT_NAMES])
def test_copies_have_the_same_one_or_two_placeholders_on_both_sides(pair: SidePair) -> None:
    for source, target in results(pair, 200, copies=1.0):
        placeholders = placeholders_of(source)
        assert placeholders == placeholders_of(target)
        assert 1 <= len(placeholders) <= 2
        assert len(set(placeholders)) == len(placeholders)


@pytest.mark.parametrize(("pair", "stays"), [(PAIR, False), (PAIR_WITHOUT_NAMES, True)])
def test_a_placeholder_replaces_a_shared_word_or_is_added(pair: SidePair, stays: bool) -> None:
    for sides in results(pair, 200, copies=1.0):
        plain_sides = [re.sub(f" ?[{PLACEHOLDERS}] ?", "", side) for side in sides]
        assert (plain_sides == [*pair]) == stays


def test_copies_use_all_placeholders_equally_often() -> None:
    counts: Counter[str] = Counter()
    for source, _ in results(PAIR, 200, copies=1.0) + results(PAIR_WITHOUT_NAMES, 200, copies=1.0):
        counts.update(placeholders_of(source))
    assert set(counts) == set(PLACEHOLDERS[:4])
    assert min(counts.values()) > 0.6 * max(counts.values())


def test_copies_do_not_repeat_a_placeholder_of_the_pair() -> None:
    for source, _ in results(PAIR_WITH_PLACEHOLDER, 50, copies=1.0):
        assert source.count(PLACEHOLDERS[0]) == 1


def test_a_pair_that_has_all_placeholders_stays() -> None:
    assert results(PAIR_WITH_PLACEHOLDER, 5, PLACEHOLDERS[:1], copies=1.0) == [PAIR_WITH_PLACEHOLDER] * 5
