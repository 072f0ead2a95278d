"""English and Persian: their codes in names of files and columns and in TMX, and whether each is on its side."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from translator.corpus.normalizer.mojibake import is_suspect
from translator.corpus.reading.lines import Pair
from translator.corpus.selecting.scripts import ARABIC_LETTER, LETTERS
from translator.errors import CorpusError
from translator.run.text import excerpt

LanguageCode = Literal["en", "fa"]

_CODES: Final[dict[str, LanguageCode]] = {
    "en": "en",  # ISO 639-1
    "eng": "en",  # ISO 639-3
    "english": "en",
    "fa": "fa",  # ISO 639-1
    "fas": "fa",  # ISO 639-3, all of Persian
    "per": "fa",  # ISO 639-2, in libraries
    "pes": "fa",  # ISO 639-3, Persian of Iran
    "persian": "fa",
    "farsi": "fa",
}
"""Dari (prs, and fa-AF) and Tajik (tgk) are not in it: they are read only where a user names their file or column."""
_SCRIPTS: Final[dict[LanguageCode, frozenset[str]]] = {"en": frozenset({"latn"}), "fa": frozenset({"arab", "aran"})}
_DARI_REGION: Final = "af"
_SCRIPT: Final = re.compile("[a-z]{4}")
_REGION: Final = re.compile("[a-z]{2}|[0-9]{3}")
_SEPARATOR: Final = re.compile(r"[._-]")
_PAIRS_COMPARED_FROM: Final = 100  # with fewer pairs, two texts may be of any letters
_CHARACTERS_COMPARED: Final = 200  # of each side of a pair
_SWAPPED_SHARE: Final = 0.9  # of the pairs, with which the sides count as swapped
_LANGUAGE_SHARE: Final = 0.01  # of the pairs; with fewer letters of a side's script, it is no text of the language
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")


def language_of(tag: str) -> LanguageCode | None:
    """Return `en` or `fa` for the tag of a language, such as `en`, `eng_Latn`, `en-US` or `Farsi`; None for another.

    A tag is a code, then perhaps a script, a region and more, joined by `-` or `_` (BCP 47). Persian in another script,
    and the Persian of Afghanistan, are other languages.
    """
    code, *subtags = tag.lower().replace("_", "-").split("-")
    language = _CODES.get(code)
    if language is None:
        return None
    if subtags and _SCRIPT.fullmatch(subtags[0]):
        script = subtags.pop(0)
        if script not in _SCRIPTS[language]:
            return None
    if not subtags:
        return language
    # `en-fa` is a direction.
    region = subtags[0]
    is_region = _REGION.fullmatch(region) is not None and region not in _CODES
    is_dari = language == "fa" and region == _DARI_REGION
    is_extension = len(region) == 1  # as in `fa-u-nu-latn`
    return language if (is_region and not is_dari) or is_extension else None


def split_language(name: str) -> tuple[str, LanguageCode] | None:
    """Return stem and language of a name such as `train.eng_Latn` or `sentence_fa`; None if it ends in no language.

    The language begins the name, or stands after a dot, a hyphen or an underscore. The stem is what precedes it, with
    the separator; the two sides of a corpus have the same.
    """
    starts = [0, *(separator.end() for separator in _SEPARATOR.finditer(name))]
    # The longest tag is the right one: `fa_IR`, not a name that ends in `IR`.
    for start in starts:
        language = language_of(name[start:])
        if language is not None:
            return name[:start], language
    return None


# --- whether the first pairs have each language on its side ---


def refuse_swapped(pairs: Sequence[Pair], sides: tuple[str, str]) -> None:
    """Raise CorpusError if 90% of the pairs with letters on both sides have Persian first and English second.

    Args:
        pairs: the first ones of a corpus.
        sides: what holds the first and the second text, for the message.
    """
    pairs_with_letters = 0
    swapped_pairs = 0
    for pair in pairs:
        first_text = pair.source[:_CHARACTERS_COMPARED]
        second_text = pair.target[:_CHARACTERS_COMPARED]
        first_latin = len(_LATIN.findall(first_text))
        first_arabic = len(ARABIC_LETTER.findall(first_text))
        second_latin = len(_LATIN.findall(second_text))
        second_arabic = len(ARABIC_LETTER.findall(second_text))
        if first_latin + first_arabic > 0 and second_latin + second_arabic > 0:
            pairs_with_letters += 1
            swapped_pairs += first_arabic > first_latin and second_latin > second_arabic
    if swapped_pairs and swapped_pairs >= _SWAPPED_SHARE * pairs_with_letters:
        raise CorpusError(
            f"the two sides are swapped: {swapped_pairs:,} of the first {pairs_with_letters:,} pairs with letters are "
            f"Persian in {sides[0]} and English in {sides[1]}; swap the columns, the names of the files, or "
            "`source_path` and `target_path` (in a zip `source_member` and `target_member`, in a table `source_column` "
            "and `target_column`)"
        )


def refuse_other_scripts(pairs: Sequence[Pair], *, are_columns: bool) -> None:
    """Raise CorpusError if fewer than 1% of the pairs have letters on one of the sides.

    Args:
        pairs: the first ones of a corpus.
        are_columns: the texts are columns among others, which need to be the right ones: a few pairs suffice, and only
            letters of the script of the side count. Two texts may be in any script, for an experiment.
    """
    pairs_with_texts = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    count = len(pairs_with_texts)
    if count == 0 or (count < _PAIRS_COMPARED_FROM and not are_columns):
        return
    sides = (
        ("English", "Latin", _LATIN, [pair.source for pair in pairs_with_texts]),
        ("Persian", "Arabic-script", ARABIC_LETTER, [pair.target for pair in pairs_with_texts]),
    )
    for language, script, script_letter, texts in sides:
        letter = script_letter if are_columns else LETTERS
        # The normalizer may repair text that was decoded with the wrong character set.
        texts_with_letters = [text for text in texts if letter.search(text) or is_suspect(text)]
        if len(texts_with_letters) < _LANGUAGE_SHARE * count:
            kind = f"{script} letters" if are_columns else "letters"
            raise CorpusError(
                f"the {language} side is no {language}: {len(texts_with_letters)} of its first {count:,} texts have "
                f"{kind}; the first is `{excerpt(texts[0], 100)}`; give the right file, or in a table the right "
                "`source_column` and `target_column`"
            )
