"""Half-spaces (ZWNJ) in Persian: words that a translation spells with other separators than the reference."""

import re
from typing import Final, NamedTuple

from translator.evaluation.mistakes.sentence import Mistake, Sentence
from translator.evaluation.text_variants import ZWNJ

_TOKEN: Final = re.compile(rf"[^\W_]+(?:{ZWNJ}[^\W_]+)*+|[^\w\s{ZWNJ}]")  # a word with its half-spaces, or a mark
_UNIFIED_LETTERS: Final[dict[int, int | None]] = {
    **str.maketrans("يىكةۀ٠١٢٣٤٥٦٧٨٩", "ییکهه۰۱۲۳۴۵۶۷۸۹"),
    **dict.fromkeys([*range(0x64B, 0x660), 0x670, 0x640, 0x200D]),
}
"""One form for each letter that Arabic and Persian encode differently; vowel marks are removed."""


class HalfSpaceComparison(NamedTuple):
    """Words with half-spaces in two texts."""

    differing: list[str]  # words with other separators, as the hypothesis spells them
    shared: int  # words in both texts, those included


def check_half_spaces(sentence: Sentence) -> Mistake | None:
    """Compare the half-spaces with those of the reference that agrees best."""
    comparisons = [compare_half_spaces(sentence.hypothesis, reference) for reference in sentence.references]
    best = min(comparisons, key=lambda comparison: (len(comparison.differing), -comparison.shared))
    if not best.shared:
        return None
    return Mistake(severity=len(best.differing), note="، ".join(best.differing))


def compare_half_spaces(hypothesis: str, reference: str) -> HalfSpaceComparison:
    """Return the words that two texts spell with different half-spaces, and how many words they share.

    A word is shared if at least one text spells it with a half-space. Different ones are spelt as in the hypothesis.
    Variants of letters and vowel marks make no difference; punctuation separates words.
    """
    hypothesis_tokens = _spaced_tokens(hypothesis)
    reference_tokens = _spaced_tokens(reference)
    words_with_half_space = {word for word in f"{hypothesis_tokens} {reference_tokens}".split() if ZWNJ in word}
    differing = []
    shared = 0
    for word in sorted(words_with_half_space):
        # `می‌رود` may also be spelt as `می رود` or as `میرود`.
        spellings = (word, word.replace(ZWNJ, " "), word.replace(ZWNJ, ""))
        in_hypothesis = _spellings_in(hypothesis_tokens, spellings)
        in_reference = _spellings_in(reference_tokens, spellings)
        if not in_hypothesis or not in_reference:
            continue
        shared += 1
        if not in_hypothesis & in_reference:
            differing.append(min(in_hypothesis))
    return HalfSpaceComparison(differing=differing, shared=shared)


def _spaced_tokens(text: str) -> str:
    """Return the words and marks of `text` with a space before and after each, in unified letters."""
    unified = re.sub(f"{ZWNJ}+", ZWNJ, text.translate(_UNIFIED_LETTERS))
    return f" {' '.join(_TOKEN.findall(unified))} "


def _spellings_in(spaced_tokens: str, spellings: tuple[str, ...]) -> set[str]:
    return {spelling for spelling in spellings if f" {spelling} " in spaced_tokens}
