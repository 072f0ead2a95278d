"""The filter for Arabic on the Persian side: one script, but other words.

After normalization both languages write the same yeh and kaf, so the evidence is in letters and words. Arabic has the
article ال, the letters ة أ إ and words such as فی, التی, هذا; Persian has پ چ ژ گ, the half-space and words such as که,
را, است. A Persian text may quote Arabic: what counts is which of the two prevails.
"""

import re
from collections.abc import Sequence
from typing import Final

from translator.corpus.filters.sides import Check, Sides

ARABIC_FROM: Final = 3
"""Arabic words from which a text is looked at: سلام علیکم and الحمد لله are Persian too."""

_WORD: Final = re.compile("[\u0620-\u065f\u066e-\u06d3\u200c]+")
_ARABIC_FORM: Final = re.compile(
    # The article, also after و ف ب ک; not the Persian words and the names that begin the same way.
    "[وفبک]?ال(?!آن|ان|بته|برت|برز|بسه|تفات|تماس|تهاب|حاق|داد|زا|غا|فا|فب|فت$|فر|ک[لسینو]|کتر|گ|ماس|مان|مپ|نا|نو|وار|وی|ه"
    "|یا|یز|یس|ین|یو|[بتفکی]$)..."
    # The article after لـ, and letters that Persian does not begin a word with.
    "|[وف]?لل..|[وفبکل]?[أإ]."
    # The ending ة, which Persian writes only in a few borrowed words.
    "|..+ة$"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ARABIC_WORDS: Final = _words(
    "فی وفی الی إلی والی عن وعن مع ومع هذا هذه وهذا وهذه ذلک وذلک تلک التی الذی الذین اللذین لا ولا لم ولم لن ولن قد "
    "وقد لقد کان وکان کانت وکانت یکون تکون هو وهو وهی أن إن وأن وإن إنه أنه إنها أنها إنی أنا أنت نحن ثم لیس لیست هناک "
    "أو أم أی أین عند عندما عندنا لأن ماذا کیف لماذا لها لهم لکم لنا بها بهم فیه فیها منه منها منهم علیه علیها علیهم "
    "إلیه إلیها هل یجب یمکن سوف جدا الآن الیوم کما ومن وما وعلی ولکن لکن قال وقال قالت یقول أنهم إنهم"
)
_PERSIAN_WORDS: Final = _words(
    "که را در از به است این و آن با برای می نمی شد شود بود هر یک خود تو او تا باید دارد کرد کرده شده کنید نیست هست "
    "شما ایشان آنان آنها اینها ها های هایی ای اند ام بر نه نیز اگر اما یا پس دو سه کند کنند کن شوند شدند دارند بی هیچ "
    "همه روز خدا باشد باشند داد گفت آمد رفت خدای خداوند بودند نزد"
)
_PERSIAN_LETTERS: Final = re.compile("[پچژگ\u200c\u06c0]")


def arabic(limit: float) -> Check:
    """Return the check that drops a pair whose Persian side has more than `limit` of Arabic in its words.

    With a limit of 0.5, "لا أعرف من کتب هذا الکتاب" goes; "او گفت: لا إله إلا الله" stays.
    """

    def check(sides: Sides) -> bool:
        target = sides.target
        # One of these stands in nearly every Arabic sentence, and in few Persian ones.
        if " ال" in target or "أ" in target or "إ" in target or target.startswith("ال"):
            return arabic_share(_WORD.findall(target)) > limit
        return False

    return check


def arabic_share(words: Sequence[str]) -> float:
    """Return the share of Arabic words among those that are clearly of one of the two languages.

    It is 0 where fewer than `ARABIC_FROM` are Arabic.
    """
    arabic_words = persian_words = 0
    for word in words:
        if word in _PERSIAN_WORDS or _PERSIAN_LETTERS.search(word):
            persian_words += 1
        elif word in _ARABIC_WORDS or _ARABIC_FORM.match(word):
            arabic_words += 1
    return arabic_words / (arabic_words + persian_words) if arabic_words >= ARABIC_FROM else 0.0
