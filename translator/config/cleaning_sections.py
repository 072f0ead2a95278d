"""The sections about cleaning: which rules the normalizer applies, and which pairs are dropped."""

from typing import Annotated, Literal

from pydantic import Field

from translator.config.section import PositiveInt, Section

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Ratio = Annotated[float, Field(gt=1.0, le=1_000_000)]


class NormalizationConfig(Section):
    """Which rules of the normalizer are applied, to the corpus and at inference alike."""

    mojibake: bool = True
    """Text that was decoded with the wrong character set is repaired where that is certain: Ø³Ù„Ø§Ù… becomes سلام."""
    presentation_forms: bool = True
    """Ligatures and shaped letters become plain letters (Persian side)."""
    arabic_letters: bool = True
    """Arabic yeh and kaf become the Persian letters (Persian side)."""
    teh_marbuta: bool = False
    """ة becomes ه (Persian side); off, because Persian books also write it on purpose."""
    hamza: bool = True
    """A letter followed by a combining madda or hamza becomes one letter: ه and its hamza become ۀ (Persian side)."""
    tatweel: bool = True
    """The stretching stroke U+0640 is removed (Persian side)."""
    vowel_marks: Literal["keep", "strip"] = "strip"
    """Short-vowel marks of the Persian side; the tanwin of لطفاً is spelling and always stays."""
    digits: Literal["keep", "persian", "ascii"] = "persian"
    """Digits of the Persian side; digits glued to Latin letters stay as they are."""
    zero_width: bool = True
    """Controls, direction marks and other invisible characters are removed; ZWNJ is not one of them, and a soft hyphen
    of the Persian side becomes one."""
    zwnj: bool = True
    """ZWNJ is kept only between two letters or digits, and only one."""
    spaces: bool = True
    """Every kind of white space becomes one plain space, and none stays at the ends."""
    quotes: bool = True
    """Quotation marks become straight on the English side, and « » around Persian words on the Persian side."""
    dashes: bool = True
    """One hyphen, one dash: the long one, which -- becomes too."""
    punctuation_spacing: bool = True
    """No space before closing or after opening punctuation: text that a tokenizer took apart is joined again, and its
    escapes such as &quot; are undone."""
    contractions: bool = True
    """English endings that a tokenizer cut off are joined: it 's becomes it's (English side)."""
    orthography: bool = False
    """Prefixes and suffixes written apart are joined by ZWNJ (می روم, کتاب ها, بزرگ تر), and glued auxiliary verbs are
    parted (Persian side)."""


class FilterConfig(Section):
    """Which pairs are dropped; `null` switches a limit off, `false` a switch. Measured on normalized text."""

    replacement_character: bool = True
    """Drop a pair with U+FFFD, which stands where a character was lost."""
    max_words: PositiveInt | None = 100
    """Longest side, in words."""
    max_characters: PositiveInt | None = 1000
    """Longest side, in characters."""
    max_length_ratio: Ratio | None = 4.0
    """Longer side over shorter side, in characters, once the longer has 20 or more."""
    max_word_ratio: Ratio | None = 4.0
    """The same in words, once the longer has 12 or more."""
    min_source_script: Share | None = 0.5
    """Smallest share of Latin letters among the letters of the English side."""
    min_target_script: Share | None = 0.5
    """Smallest share of Arabic-script letters among the letters of the Persian side; English words that stand on both
    sides, such as terms and commands, do not count."""
    max_arabic: Share | None = 0.5
    """Largest share of Arabic among the words of the Persian side that are clearly Arabic or clearly Persian."""
    max_untranslated: Share | None = 0.8
    """Largest share of the words of one side that stand unchanged on the other, where 4 or more do."""
    min_number_agreement: Share | None = 0.5
    """Smallest share of the numbers in digits that both sides have in common, where both sides have some; a
    number in words and a year of the other calendar are understood."""
    max_markup: Share | None = 0.5
    """Largest share of characters of a side that are in web addresses, tags, entities, LaTeX and code."""
    max_repetition: Share | None = 0.5
    """Largest share of the words of a side that repeat the words just before them, or half of it where only one
    side does."""
    duplicates: bool = True
    """Drop a pair that was seen before (compared without case, punctuation and ZWNJ)."""
    near_duplicates: Share | None = 0.9
    """Drop a pair that has at least this share of its character 5-grams in common with an earlier one (Jaccard); pairs
    of fewer than 60 are left alone, and below 0.8 many go unfound."""
    max_same_source: PositiveInt | None = 10
    """Pairs that may share one English side."""
    max_same_target: PositiveInt | None = 10
    """Pairs that may share one Persian side."""
