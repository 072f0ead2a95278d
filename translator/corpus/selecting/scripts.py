"""The script of a text, and Arabic among words in the Arabic script."""

import re
from collections.abc import Sequence
from typing import Final

_LATIN: Final = "A-Za-zªºÀ-ÖØ-öø-ɏḀ-ỿ"
_ARABIC: Final = "\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
ARABIC_LETTER: Final = re.compile("[\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]")
LETTERS: Final = re.compile(r"[^\W\d_]+")  # a run of letters
_NOT_LATIN: Final = re.compile(rf"[^\W\d_{_LATIN}]+")
_NOT_ARABIC: Final = re.compile(rf"[^\W\d_{_ARABIC}]+")
ARABIC_SCRIPT_WORD: Final = re.compile(rf"(?:(?=[^\W\d_])[{_ARABIC}]){{2,}}+")
# Most text has no letter of another script. A class of ranges tests that much faster than \W.
_PLAIN_LATIN: Final = re.compile(r"[\x00-\xa9\xab-\xb4\xb6-\xb9\xbb-\u024f\u2000-\u206f\u20a0-\u20bf]*+")
_PLAIN_ARABIC: Final = re.compile(
    r"[\x00-@\[-`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\u0600-\u06ff\u2000-\u206f\u20a0-\u20bf]*+"
)


def latin_share(text: str) -> float:
    """Return the share of letters that are Latin; 1 for a text without letters, such as a number."""
    return 1.0 if text.isascii() or _PLAIN_LATIN.fullmatch(text) else 1.0 - _share_of_letters(_NOT_LATIN, text)


def arabic_script_share(text: str) -> float:
    """Return the share of letters of the Arabic script, including Persian; 1 for a text without letters."""
    return 1.0 if _PLAIN_ARABIC.fullmatch(text) else 1.0 - _share_of_letters(_NOT_ARABIC, text)


def _share_of_letters(pattern: re.Pattern[str], text: str) -> float:
    """Return the share of letters in the matches of `pattern`."""
    matched_letters = len("".join(pattern.findall(text)))
    if matched_letters == 0:
        return 0.0
    return matched_letters / len("".join(LETTERS.findall(text)))


# --- Arabic or Persian ---


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# After normalization Arabic and Persian use the same yeh and kaf. The evidence is in letters and words: Arabic has the
# article ال, the letters ة أ إ and words such as فی, التی, هذا; Persian has پ چ ژ گ, ZWNJ and words such as که, را.
_ARABIC_FORM: Final = re.compile(
    # The article, also after و ف ب ک; not the Persian words and the names that begin the same way.
    "[وفبک]?ال(?!آن|ان|بته|برت|برز|بسه|تفات|تماس|تهاب|حاق|داد|زا|غا|فا|فب|فت$|فر|ک[لسینو]|کتر|گ|ماس|مان|مپ|نا|نو|وار|وی|ه"
    "|یا|یز|یس|ین|یو|[بتفکی]$)..."
    # The article after لـ, and letters that do not begin a Persian word.
    "|[وف]?لل..|[وفبکل]?[أإ]."
    # The ending ة, which Persian writes only in a few borrowed words.
    "|..+ة$"
)
_ARABIC_WORDS: Final = _words(
    "فی وفی الی إلی والی عن وعن مع ومع هذا هذه وهذا وهذه ذلک وذلک تلک التی الذی الذین اللذین لا ولا لم ولم لن ولن "
    "قد وقد لقد کان وکان کانت وکانت یکون تکون هو وهو وهی أن إن وأن وإن إنه أنه إنها أنها إنی أنا أنت نحن ثم لیس "
    "لیست هناک أو أم أی أین عند عندما عندنا لأن ماذا کیف لماذا لها لهم لکم لنا بها بهم فیه فیها منه منها منهم علیه "
    "علیها علیهم إلیه إلیها هل یجب یمکن سوف جدا الآن الیوم کما ومن وما وعلی ولکن لکن قال وقال قالت یقول أنهم إنهم"
)
_PERSIAN_WORDS: Final = _words(
    "که را در از به است این و آن با برای می نمی شد شود بود هر یک خود تو او تا باید دارد کرد کرده شده کنید نیست هست "
    "شما ایشان آنان آنها اینها ها های هایی ای اند ام بر نه نیز اگر اما یا پس دو سه کند کنند کن شوند شدند دارند بی "
    "هیچ همه روز خدا باشد باشند داد گفت آمد رفت خدای خداوند بودند نزد"
)
_PERSIAN_LETTERS: Final = re.compile("[پچژگ\u200c\u06c0]")


def arabic_share(words: Sequence[str]) -> float:
    """Return the share of Arabic among words that are clearly Arabic or clearly Persian; 0 for under 3 Arabic ones."""
    arabic_words = persian_words = 0
    for word in words:
        if word in _PERSIAN_WORDS or _PERSIAN_LETTERS.search(word):
            persian_words += 1
        elif word in _ARABIC_WORDS or _ARABIC_FORM.match(word):
            arabic_words += 1
    return arabic_words / (arabic_words + persian_words) if arabic_words >= 3 else 0.0
