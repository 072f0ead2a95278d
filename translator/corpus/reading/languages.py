"""Codes of English and Persian in the names of files, of columns, and in translation memories: one table for all."""

import re
from typing import Final, Literal, NamedTuple

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
_ENGLISH_CODES: Final = "|".join(code for code, language in _CODES.items() if language == "en")
_PERSIAN_CODES: Final = "|".join(code for code, language in _CODES.items() if language == "fa")
_FROM_PERSIAN: Final = re.compile(rf"(?<![a-z])({_PERSIAN_CODES})([-_]arab)?[-_]({_ENGLISH_CODES})(?![a-z])")


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


class NameWithLanguage(NamedTuple):
    """A name that ends in a language."""

    stem: str  # what precedes the language, with the separator; the two sides of a corpus have the same
    language: LanguageCode


def split_language(name: str) -> NameWithLanguage | None:
    """Return stem and language of a name such as `train.eng_Latn` or `sentence_fa`; None if it ends in no language.

    The language begins the name, or stands after a dot, a hyphen or an underscore.
    """
    starts = [0, *(separator.end() for separator in _SEPARATOR.finditer(name))]
    # The longest tag is the right one: `fa_IR`, not a name that ends in `IR`.
    for start in starts:
        language = language_of(name[start:])
        if language is not None:
            return NameWithLanguage(name[:start], language)
    return None


def is_from_persian(name: str) -> bool:
    """Return whether a name has a direction from Persian to English, such as `fa-en` or `pes_Arab-eng_Latn`."""
    return _FROM_PERSIAN.search(name.lower()) is not None
