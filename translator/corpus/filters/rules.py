"""The names of all rules that drop a pair, in the order in which they are counted, and what each means."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

INVALID_UTF8: Final = "invalid_utf8"
LINE_TOO_LONG: Final = "line_too_long"
EMPTY: Final = "empty"
REPLACEMENT_CHARACTER: Final = "replacement_character"
TOO_MANY_WORDS: Final = "too_many_words"
TOO_MANY_CHARACTERS: Final = "too_many_characters"
LENGTH_RATIO: Final = "length_ratio"
WORD_RATIO: Final = "word_ratio"
SOURCE_SCRIPT: Final = "source_script"
TARGET_SCRIPT: Final = "target_script"
ARABIC: Final = "arabic"
UNTRANSLATED: Final = "untranslated"
NUMBERS: Final = "numbers"
MARKUP: Final = "markup"
REPETITION: Final = "repetition"
DUPLICATE: Final = "duplicate"
NEAR_DUPLICATE: Final = "near_duplicate"
SAME_SOURCE: Final = "same_source"
SAME_TARGET: Final = "same_target"

PAIR_RULES: Final = (
    EMPTY,
    REPLACEMENT_CHARACTER,
    TOO_MANY_WORDS,
    TOO_MANY_CHARACTERS,
    LENGTH_RATIO,
    WORD_RATIO,
    SOURCE_SCRIPT,
    TARGET_SCRIPT,
    ARABIC,
    UNTRANSLATED,
    NUMBERS,
    MARKUP,
    REPETITION,
)
"""What a pair breaks on its own merits."""
FILTER_RULES: Final = (
    INVALID_UTF8,
    LINE_TOO_LONG,
    *PAIR_RULES,
    DUPLICATE,
    NEAR_DUPLICATE,
    SAME_SOURCE,
    SAME_TARGET,
)
"""All names, in the order in which the rules are applied; a pair is counted under the first that it breaks."""

MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        INVALID_UTF8: "The line holds bytes that are not UTF-8.",
        LINE_TOO_LONG: "The line is longer than a sentence can be, and was not read to its end.",
        EMPTY: "One side has no text.",
        REPLACEMENT_CHARACTER: "A character was lost before: U+FFFD stands in its place.",
        TOO_MANY_WORDS: "One side has more words than allowed.",
        TOO_MANY_CHARACTERS: "One side has more characters than allowed.",
        LENGTH_RATIO: "One side has many times the characters of the other.",
        WORD_RATIO: "One side has many times the words of the other.",
        SOURCE_SCRIPT: "Too few letters of the English side are Latin.",
        TARGET_SCRIPT: "Too few letters of the Persian side are Persian or Arabic.",
        ARABIC: "The Persian side is Arabic by its words, not Persian.",
        UNTRANSLATED: "One side was copied to the other instead of being translated.",
        NUMBERS: "Both sides have numbers in digits, but other numbers.",
        MARKUP: "One side is mostly web addresses, tags or code.",
        REPETITION: "One side says the same words over and over.",
        DUPLICATE: "The same pair was seen before.",
        NEAR_DUPLICATE: "Nearly the same pair was seen before.",
        SAME_SOURCE: "The English side was seen with as many other Persian sides as allowed.",
        SAME_TARGET: "The Persian side was seen with as many other English sides as allowed.",
        "source_held_out": "The English side stands in a test set, or in validation, and must not be trained on.",
        "target_held_out": "The Persian side stands in a test set, or in validation, and must not be trained on.",
        "near_held_out": "The pair is nearly one of a named test set, and must not be trained on.",
    }
)
"""What each rule means, for a person who reads the report; the rules about leaks are among them."""
