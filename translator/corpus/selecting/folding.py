"""Folding: the key by which texts are compared, for finding duplicates and leaks."""

import codecs
import unicodedata
from typing import Final

from translator.corpus.normalizer.characters import ARABIC_LETTERS, ASCII_DIGITS, NO_TATWEEL, PRESENTATION_FORMS
from translator.corpus.normalizer.mojibake import repair_decoding
from translator.corpus.normalizer.normalizer import compile_step
from translator.corpus.normalizer.punctuation import UNESCAPE, decode_entities

_FOLDED_LETTERS: Final = {"ة": "ه", "ە": "ه", "ہ": "ه", "ھ": "ه"}  # Arabic, Kurdish and Urdu
_PLAIN: Final = {**NO_TATWEEL, **ARABIC_LETTERS, **ASCII_DIGITS, **_FOLDED_LETTERS}
_unescape: Final = compile_step(UNESCAPE)


class _FoldedCharacters(dict[int, str]):
    """The folded form of each character by its code point, computed when it is first asked for."""

    def __missing__(self, code: int) -> str:
        text = PRESENTATION_FORMS.get(chr(code), chr(code))
        bare = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())  # É → e, ﻻ → لا, ² → 2
        plain = [_PLAIN.get(character, character) for character in bare]
        return self.setdefault(code, "".join(filter(str.isalnum, plain)))


_FOLDED: Final = _FoldedCharacters()

# Most texts have only the characters of a page, an 8-bit encoding like ISO 8859-6. As bytes they are folded by a table
# of 256 bytes, many times faster than by `str.translate`. Each character of the page folds to one of the page or to
# none; none is a sign of wrong decoding, of an entity or of an escape, which `fold_repaired` looks for.
PAGE: Final = (
    "\0 !\"#$%'()*+,./:;<=>?[\\]^_`{|}~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    "ءآأؤإئابةتثجحخدذرزسشصضطظعغـفقكلمنهوىيًٌٍَُِّْٰپچژکگہۀیە۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩٪٫٬،؛؟"
    "\u200c\u00a0«»“”‘’–—…"
)
_DECODING: Final = PAGE.ljust(256, "\ufffe")  # undefined
_ENCODING: Final = codecs.charmap_build(_DECODING)
_FOLDED_CODES: Final = bytes(PAGE.index(_FOLDED[ord(character)]) for character in PAGE).ljust(256, b"\0")
_DROPPED_CODES: Final = bytes(code for code, character in enumerate(PAGE) if not _FOLDED[ord(character)])


def fold(text: str) -> str:
    """Return the key for finding duplicates and leaks: plain letters and digits, or the text if it has none."""
    try:
        codes = codecs.charmap_encode(text, "strict", _ENCODING)[0]
    except UnicodeEncodeError:
        folded = fold_repaired(text)
    else:
        folded = codecs.charmap_decode(codes.translate(_FOLDED_CODES, _DROPPED_CODES), "strict", _DECODING)[0]
    return folded or " ".join(text.split())


def fold_repaired(text: str) -> str:
    """Return the letters and digits of any text, without what repairs and escapes would make of them."""
    return _unescape(decode_entities(repair_decoding(text))).translate(_FOLDED)
