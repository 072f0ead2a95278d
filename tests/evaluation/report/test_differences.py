"""Differences: nothing is lost, and what is the same is a longest common subsequence."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.evaluation.report import differences
from translator.evaluation.report.differences import common_subsequence, compare_words

WORDS = st.lists(st.sampled_from("abc"), max_size=9)


def longest(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """Return the length of a longest common subsequence by its definition."""

    @cache
    def among(one: int, other: int) -> int:
        if not one or not other:
            return 0
        if left[one - 1] == right[other - 1]:
            return among(one - 1, other - 1) + 1
        return max(among(one - 1, other), among(one, other - 1))

    return among(len(left), len(right))


@settings(deadline=None, max_examples=300)
@given(WORDS, WORDS)
def test_it_is_a_longest_common_subsequence(left: list[str], right: list[str]) -> None:
    in_left, in_right = common_subsequence(left, right)
    assert [left[place] for place in sorted(in_left)] == [right[place] for place in sorted(in_right)]
    assert len(in_left) == longest(tuple(left), tuple(right))


@settings(deadline=None)
@given(
    st.text(st.sampled_from("ab .\u200cدر،\U0001f642\u202e")), st.text(st.sampled_from("ab .\u200cدر،\U0001f642\u202e"))
)
def test_no_character_is_lost(reference: str, hypothesis: str) -> None:
    compared = compare_words(reference, hypothesis)
    assert "".join(compared.reference) == reference
    assert "".join(compared.hypothesis) == hypothesis
    assert 0 <= compared.likeness <= 1
    same = ["".join("".join(pieces[::2]).split()) for pieces in (compared.reference, compared.hypothesis)]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("reference", "hypothesis", "of_reference", "of_hypothesis"),
    [
        ("او موز دارد.", "او موز دارد.", ("او موز دارد.",), ("او موز دارد.",)),
        ("او موز دارد.", "او سیب دارد", ("او ", "موز", " دارد", "."), ("او ", "سیب", " دارد")),
        ("می\u200cروم", "می روم", ("", "می\u200cروم"), ("", "می روم")),
        ("", "او", ("",), ("", "او")),
        ("a b c", "c", ("", "a b", " c"), ("c",)),
    ],
)
def test_whole_words_differ(
    reference: str, hypothesis: str, of_reference: tuple[str, ...], of_hypothesis: tuple[str, ...]
) -> None:
    compared = compare_words(reference, hypothesis)
    assert (compared.reference, compared.hypothesis) == (of_reference, of_hypothesis)


def test_too_long_texts_are_compared_at_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_BITS", 3)
    in_left, in_right = common_subsequence(list("abxyd"), list("abyxd"))
    assert in_left == in_right == {0, 1, 4}
