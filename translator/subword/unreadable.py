"""The characters that a source vocabulary lacks: signs, and letters of another script."""

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from translator.subword.model import SubwordModel

if TYPE_CHECKING:  # not for loading a model, which should be fast
    from translator.corpus.normalizer import Normalizer

_SIGN_CATEGORIES: Final = ("S", "P")


class UnreadableCharacters:
    """The characters that a source vocabulary lacks."""

    def __init__(self, subword: SubwordModel, normalizer: "Normalizer") -> None:
        """Take the subword model and the normalizer of the source."""
        self._subword = subword
        self._normalizer = normalizer
        self.is_sign = lru_cache(maxsize=10_000)(self._is_unreadable_sign)
        self.is_letter = lru_cache(maxsize=10_000)(self._is_unreadable_letter)

    def in_text(self, text: str) -> set[str]:
        """Return the unreadable characters of `text`, signs and letters."""
        characters = set(text)
        unreadable = set(filter(self.is_sign, characters))
        if not text.isascii():
            unreadable.update(filter(self.is_letter, characters))
        return unreadable

    def _is_unreadable_sign(self, character: str) -> bool:
        return is_sign(character) and not self._subword.has_sign(self._normalizer.source(character))

    def _is_unreadable_letter(self, character: str) -> bool:
        if not character.isalpha() or is_mostly_in_script(character, self._normalizer.languages[0].script):
            return False
        return not self._subword.has_pieces(character)


def is_sign(character: str) -> bool:
    """Return whether a character is a symbol, a punctuation mark or a number like ½ that has no digit."""
    category = unicodedata.category(character)
    return category.startswith(_SIGN_CATEGORIES) or category == "No"


def is_mostly_in_script(text: str, script: str) -> bool:
    """Return whether at least half of the letters of `text` are of `script`, such as `LATIN`; accents do not matter."""
    if text.isascii() and script == "LATIN":
        return True
    letters = [character for character in text if character.isalpha()]
    letters_in_script = sum(_script_of(letter) == script for letter in letters)
    return 2 * letters_in_script >= len(letters)


@lru_cache(maxsize=10_000)
def _script_of(letter: str) -> str:
    """Return the first word of the Unicode name of a letter, in its compatibility form: `LATIN`, `ARABIC`, `CJK`."""
    plain_letter = unicodedata.normalize("NFKC", letter)[0]
    return unicodedata.name(plain_letter, "").partition(" ")[0]
