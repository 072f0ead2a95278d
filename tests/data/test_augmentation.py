"""Augmented pairs: decided by their seed, changed on both sides alike, never made empty."""

import re
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.config.sections import AugmentationConfig
from translator.data.augmentation import Augmentation, SidePair, title_case, with_typos, without_final_punctuation
from translator.subword.placeholders import PLACEHOLDERS

PAIR = SidePair('He said: "In 1984 I sold 25 books to Sara."', "او گفت: «در ۱۹۸۴ من ۲۵ کتاب به Sara فروختم.»")
TO_ASCII = str.maketrans("۰۱۲۳۴۵۶۷۸۹", "0123456789")
SIDES = st.text(st.sampled_from("abAB .?!12۱۲کت\u200c»\"'"), min_size=1, max_size=40)


def results(
    pair: SidePair = PAIR, count: int = 60, placeholders: str = PLACEHOLDERS[:4], **rates: Any
) -> list[SidePair]:
    augmentation = Augmentation(AugmentationConfig(**rates), placeholders)
    return [augmentation.apply(pair, str(seed)) for seed in range(count)]


@given(SIDES, SIDES)
def test_one_seed_gives_one_result_and_no_side_becomes_empty(source: str, target: str) -> None:
    rates: dict[str, Any] = dict.fromkeys(AugmentationConfig.model_fields, 0.5)
    found = results(SidePair(source, target), 8, **rates)
    assert found == results(SidePair(source, target), 8, **rates)
    assert all(side for pair in found for side in pair)
    assert results(SidePair(source, target), 8) == [(source, target)] * 8


@pytest.mark.parametrize("kind", AugmentationConfig.model_fields)
def test_an_augmentation_rate_is_the_share_of_pairs_changed(kind: str) -> None:
    rates: dict[str, Any] = {kind: 0.25}
    found = results(count=400, **rates)
    changed = sum(pair != PAIR for pair in found)
    assert 60 <= changed <= 140 or (kind == "typos" and 40 <= changed <= 140)
    cases = {SidePair(change(PAIR.source), PAIR.target) for change in (str.upper, title_case, str.lower)}
    assert kind != "case" or set(found) == {PAIR, *cases}


def test_a_typo_is_one_mistake_inside_a_longer_word() -> None:
    text = "The CHILDREN are reading, it is so good."
    found = {with_typos(text, 1.0, Random(seed)) for seed in range(200)}
    assert len(found) > 150 and text not in found
    for one in found:
        words = one.split()
        assert [words[place] for place in (0, 2, 4, 5, 6)] == ["The", "are", "it", "is", "so"]
        for word, typed in zip(("CHILDREN", "reading,", "good."), (words[1], words[3], words[7]), strict=True):
            assert word[0] == typed[0] and abs(len(word) - len(typed)) <= 1
            assert word.isupper() == typed.isupper()
    assert with_typos(text, 0.0, Random(1)) == text


def test_final_punctuation_is_left_out_of_the_english_side() -> None:
    assert results(count=1, final_punctuation=1.0) == [(PAIR.source.replace(".", ""), PAIR.target)]
    for pair in (SidePair("Yes", "بله."), SidePair("?", "؟")):
        assert results(pair, 1, final_punctuation=1.0) == [pair]
    assert without_final_punctuation("Is it 3.5?!") == "Is it 3.5"
    assert without_final_punctuation("او رفت …") == "او رفت"


def test_replaced_numbers_agree_on_both_sides_and_keep_length_and_script() -> None:
    found = results(numbers=1.0)
    assert len(set(found)) == len(found)
    for source, target in found:
        ours, theirs = re.findall(r"\d+", source), re.findall(r"\d+", target)
        assert ours == [number.translate(TO_ASCII) for number in theirs]
        assert list(map(len, ours)) == [4, 2] and not "".join(theirs).isascii()
    for text in ("on the 22nd at 10:30", "COVID-19 costs 3.5 or 1,200", "the 1990s"):
        assert results(SidePair(text, text), 5, numbers=1.0) == [(text, text)] * 5
    for pair in (SidePair("2 and 2", "۲ و ۲"), SidePair("1 man", "۱ مرد"), SidePair("1999", "۱۳۷۸")):
        assert results(pair, 5, numbers=1.0) == [pair] * 5


def test_copies_add_equal_placeholders_to_both_sides_and_use_all_evenly() -> None:
    used: Counter[str] = Counter()
    shared, without = PAIR, SidePair("The door is open.", "در باز است.")
    for pair in (shared, without):
        for source, target in results(pair, 200, copies=1.0):
            ours, theirs = (Counter(one for one in side if one in PLACEHOLDERS) for side in (source, target))
            assert ours == theirs and 1 <= ours.total() <= 2 and max(ours.values()) == 1
            used += ours
            plain = [re.sub(f" ?[{PLACEHOLDERS}] ?", "", side) for side in (source, target)]
            assert (plain == [*without]) is (pair is without), "a shared word makes room, anything else is added"
    taken = SidePair(f"See {PLACEHOLDERS[0]}", f"{PLACEHOLDERS[0]} را ببین")
    for source, _ in results(taken, 50, copies=1.0):
        assert source.count(PLACEHOLDERS[0]) == 1
    assert results(taken, 5, PLACEHOLDERS[:1], copies=1.0) == [taken] * 5, "none is left to use"
    assert set(used) == set(PLACEHOLDERS[:4]) and min(used.values()) > 0.6 * max(used.values())
