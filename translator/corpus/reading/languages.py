"""English and Persian: their codes in names of files and columns and in TMX, and whether each is on its side."""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

from translator.corpus.normalizer.mojibake import is_suspect
from translator.corpus.reading.lines import Pair
from translator.corpus.selecting.scripts import ARABIC_LETTER
from translator.errors import CorpusError
from translator.run.text import excerpt

LanguageCode = Literal["en", "fa"]

# A code of ISO 639 or a name, then perhaps a script, and a region or an extension (BCP 47). `en-fa` is a direction.
# Dari (prs, and fa-AF) and Tajik (tgk) are other languages: they are read only where a user names their file or column.
_TAG: Final = re.compile(
    "(?:(?P<english>en|eng|english)(?:-latn)?|(?:fa|fas|per|pes|persian|farsi)(?:-arab|-aran)?)"
    r"(?:-(?!(?:en|fa|af)\b)(?:[a-z]{1,2}|[0-9]{3})\b.*)?"
)
_SEPARATOR: Final = re.compile(r"[._-]")
_CHARACTERS_COMPARED: Final = 200  # of each side of a pair
_SWAPPED_SHARE: Final = 0.9  # of the pairs, with which the sides count as swapped
_LANGUAGE_SHARE: Final = 0.01  # of the pairs; with fewer letters of a side's script, it is no text of the language
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")


def language_of(tag: str) -> LanguageCode | None:
    """Return `en` or `fa` for the tag of a language, such as `en`, `eng_Latn`, `en-US` or `Farsi`; None for another."""
    match = _TAG.fullmatch(tag.lower().replace("_", "-"))
    if match is None:
        return None
    return "fa" if match["english"] is None else "en"


def split_language(name: str) -> tuple[str, LanguageCode] | None:
    """Return stem and language of a name such as `train.eng_Latn` or `sentence_fa`; None if it ends in no language.

    The language begins the name, or stands after a dot, a hyphen or an underscore. The stem is what precedes it, with
    the separator; the two sides of a corpus have the same.
    """
    starts = [0, *(separator.end() for separator in _SEPARATOR.finditer(name))]
    # The longest tag is the right one, so starts are tried from the left: `fa_IR`, not a name that ends in `IR`.
    for start in starts:
        language = language_of(name[start:])
        if language is not None:
            return name[:start], language
    return None


def paired_names(
    names: Iterable[str], split: Callable[[str], tuple[str, LanguageCode] | None] = split_language
) -> list[tuple[str, str]]:
    """Return the English and the Persian name of each pair that differs only in the language.

    `split` returns stem and language of a name; the case of a stem does not matter.
    """
    # 1. The names by stem and language. Several may be alike: `x.fa` and `x.fas` have one stem and one language.
    names_by_stem: dict[str, dict[LanguageCode, list[str]]] = {}
    for name in names:
        parts = split(name)
        if parts is not None:
            stem, language = parts
            names_by_stem.setdefault(stem.lower(), {}).setdefault(language, []).append(name)

    # 2. Each English name of a stem with each Persian one.
    pairs: list[tuple[str, str]] = []
    for names_by_language in names_by_stem.values():
        pairs += itertools.product(names_by_language.get("en", ()), names_by_language.get("fa", ()))
    return pairs


# --- whether the first pairs have each language on its side ---


def refuse_swapped(pairs: Sequence[Pair]) -> None:
    """Raise CorpusError if 90% of the first `pairs` with letters on both sides are Persian first and English second."""
    pairs_with_letters = 0
    swapped_pairs = 0
    for pair in pairs:
        # Positive: most letters are of the Arabic script; negative: most are Latin.
        surplus_of_source = _arabic_surplus(pair.source)
        surplus_of_target = _arabic_surplus(pair.target)
        pairs_with_letters += surplus_of_source != 0 and surplus_of_target != 0
        swapped_pairs += surplus_of_source > 0 > surplus_of_target
    if swapped_pairs and swapped_pairs >= _SWAPPED_SHARE * pairs_with_letters:
        raise CorpusError(
            f"the two sides are swapped: {swapped_pairs:,} of the first {pairs_with_letters:,} pairs with letters are "
            "Persian on the English side and English on the Persian side; swap the files, or name both columns"
        )


def _arabic_surplus(text: str) -> int:
    """Return how many more letters of the Arabic script than Latin ones the beginning of `text` has."""
    text = text[:_CHARACTERS_COMPARED]
    return len(ARABIC_LETTER.findall(text)) - len(_LATIN.findall(text))


def refuse_other_scripts(pairs: Sequence[Pair]) -> None:
    """Raise CorpusError if fewer than 1% of the first `pairs` have letters of the script of their side."""
    pairs_with_texts = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    english_texts = [pair.source for pair in pairs_with_texts]
    persian_texts = [pair.target for pair in pairs_with_texts]
    for language, texts, script, letter in (
        ("English", english_texts, "Latin", _LATIN),
        ("Persian", persian_texts, "Arabic-script", ARABIC_LETTER),
    ):
        # Text that was decoded with the wrong character set counts too, since the normalizer may repair it.
        texts_with_letters = [text for text in texts if letter.search(text) or is_suspect(text)]
        if len(texts_with_letters) < _LANGUAGE_SHARE * len(texts):
            raise CorpusError(
                f"the {language} side is no {language}: {len(texts_with_letters)} of its first {len(texts):,} texts "
                f"have {script} letters; the first is `{excerpt(texts[0], 100)}`; name the right columns"
            )
