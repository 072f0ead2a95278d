"""Sentence boundaries: a text cut into its sentences by rules for English and Persian, with the white space between."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from translator.subword.placeholders import PLACEHOLDERS


class Sentence(NamedTuple):
    """A sentence of a text."""

    before: str  # the white space between the previous sentence and this one; empty for the first
    text: str


LINE_BREAK: Final = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # the line breaks of `str.splitlines`
_GAP: Final = re.compile(r"\s+")
_MARKS: Final = ".!?…؟۔"
_QUOTATION_MARKS: Final = "\"'”’»"
_DIRECTION_MARKS: Final = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # invisible
_CLOSING: Final = f"{_QUOTATION_MARKS})]{_DIRECTION_MARKS}"
_OPENING: Final = f"\"'“‘«([{{*_—–-{_DIRECTION_MARKS}"
_INSIDE: Final = f"{_MARKS},;:،؛)]}}»”"  # never begin a sentence; so the white space in `. . .` ends none
_NEXT_WORD: Final = re.compile(rf"[{re.escape(_OPENING)}]*([A-Z]\.|[^\W\d_]+|\S|)")  # a letter's full stop included
_ITEM_NUMBER: Final = re.compile(r"[(\[]?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-zآ-ی]|[ivxIVX]{1,5})[.)\]]+")
_WORD_END: Final = frozenset(_MARKS + _CLOSING)  # the last character of a word that ends a sentence


def _words(text: str) -> frozenset[str]:
    """Return the words of a list in a string."""
    return frozenset(text.split())


# --- words ---

_SPEAKER: Final = re.compile(
    r"(?:[\"'”’»] )?(?:(?P<name>\w+) )?"
    r"(?:said|says|asked|cried|replied|answered|shouted|whispered|called|exclaimed|added|thought)\b"
    r"|(?:\w+ )?(?:گفت|گفتم|گفتند|می\u200cگوید|پرسید|پرسیدم|پرسیدند|فریاد|جواب|پاسخ|داد زد)\b"
)
_AFTER_QUOTATION: Final = _words("و که را")  # Persian words with which a sentence goes on after a quotation
# Abbreviations without their last full stop.
_NEVER_LAST: Final = _words(
    "Mr Mrs Ms Dr Drs Prof Rev Gen Col Capt Cpt Cmdr Lt Sgt Cpl Maj Adm Gov Sen Rep Hon Supt Messrs Mme Mlle Fr "
    "Br Rt Mt Ft e.g i.e eg ie cf viz vs approx"
)
_BEFORE_A_NUMBER: Final = _words(
    "no nos p pp par para ch chap vol vols fig figs sec sect art eq eqs v ver al ed eds ca c tel ext op b d ft lb lbs "
    "oz jan feb mar apr jun jul aug sep sept oct nov dec"
)
_SOMETIMES_LAST: Final = _words(
    "Jr Sr Inc Ltd Co Corp Bros Dept Univ Assn Esq St Ave Blvd Rd Bldg Mfg Intl Natl al ed eds"
)
_INITIALS: Final = re.compile(r"(?:[A-Z][a-z]?\.)*[A-Z]|(?:[a-z]\.)*[a-z]|Ph\.D|(?:[آ-ی]\.)*[آ-ی]")  # J, U.S, ه.ش
_HOURS: Final = frozenset({"a.m", "p.m", "A.M", "P.M", "m"})
_AFTER_HOURS: Final = _words(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August "
    "September October November December Eastern Central Mountain Pacific Greenwich EST EDT CST CDT MST MDT PST PDT "
    "GMT UTC ET CT PT BST CET"
)
_FIRST_WORDS: Final = _words(
    "The This That These Those There Then Thus They He She It We You His Her Its Our Their My Your I But And Or So Yet "
    "If When While Where What Who Why How Which As At In On For From With After Before Since Because Although Though "
    "However Once Now Here No Not Yes All Some Many Most Each Every Both Another Today Yesterday Tomorrow Later Soon "
    "Still Even Only Until Unless By To Of Is Are Was Were Do Does Did Can Could Will Would Should May Let Please An A "
    "Also Meanwhile Perhaps Maybe Nobody Everybody Somebody Everyone Someone "
    "او این آن ما من شما آنها ولی اما سپس اگر وقتی"
)
"""Words with a capital only at the start of a sentence, and Persian words that usually begin one."""
_NUMBERS: Final = frozenset(PLACEHOLDERS)  # a placeholder stands for a number more often than for anything else


def split_sentences(text: str) -> list[Sentence]:
    """Return the sentences of `text`, in order, without the white space at its ends; none for a blank text.

    A sentence ends at a line break of any kind, and at white space after a full stop, an exclamation mark, a question
    mark or an ellipsis. It goes on if the mark belongs to an abbreviation, an initial or the number of a list item, or
    if the next word shows it. `before` and `text` of all sentences, joined, give the stripped text.

    >>> [sentence.text for sentence in split_sentences("Mr. Smith left at 5 p.m. He paid $3.50. Why?")]
    ['Mr. Smith left at 5 p.m.', 'He paid $3.50.', 'Why?']
    """
    text = text.strip()
    sentences: list[Sentence] = []
    before = ""
    start = 0
    for gap in _gaps_between_sentences(text):
        sentences.append(Sentence(before=before, text=text[start : gap.start()]))
        before = gap[0]
        start = gap.end()
    if text:
        sentences.append(Sentence(before=before, text=text[start:]))
    return sentences


def _gaps_between_sentences(text: str) -> Iterator[re.Match[str]]:
    """Yield the white space after each sentence of `text` but the last."""
    lower_case = text.islower()
    sentence_start = 0
    word_start = 0
    for gap in _GAP.finditer(text):
        word = text[word_start : gap.start()]
        is_end = gap[0] != " " and LINE_BREAK.search(gap[0]) is not None
        if not is_end and word[-1] in _WORD_END:
            is_item_number = word_start == sentence_start and _ITEM_NUMBER.fullmatch(word) is not None
            is_end = not is_item_number and _ends_sentence(word, text, gap.end(), lower_case=lower_case)
        word_start = gap.end()
        if is_end:
            sentence_start = gap.end()
            yield gap


def _ends_sentence(word: str, text: str, next_start: int, *, lower_case: bool) -> bool:
    """Return whether a sentence of `text` ends with `word`; the next word begins at `next_start`.

    A small letter can begin a sentence in a text without capitals (`lower_case`), and after a question mark.
    """
    # 1. Part the word from its marks: (Yes!") is the body (Yes, the mark ! and the closing marks ").
    marked = word.rstrip(_CLOSING)
    body = marked.rstrip(_MARKS)
    mark = marked[len(body) :]
    closing = word[len(marked) :]
    if not mark:
        return False

    # 2. Does the sentence go on after the mark?
    next_match = _NEXT_WORD.match(text, next_start)
    next_word = next_match[1] if next_match else ""
    is_small = next_word.islower()  # but not iPhone
    is_ellipsis = mark == "…" or mark.startswith("..")
    in_quotation = any(sign in _QUOTATION_MARKS for sign in closing)
    if next_word[:1] in tuple(_INSIDE):
        return False
    is_question = mark.endswith(("?", "؟")) and not closing  # people type: Really? i am late
    if is_small and (in_quotation or is_ellipsis or not (lower_case or is_question)):
        return False
    if in_quotation and next_word in _AFTER_QUOTATION:
        return False
    if (in_quotation or is_small) and _is_speaker(text, next_start):
        return False
    if is_ellipsis and next_word == body:  # I... I do not know.
        return False

    # 3. Does the full stop belong to an abbreviation?
    return mark != "." or in_quotation or not _is_abbreviation(body.lstrip(_OPENING), next_word)


def _is_speaker(text: str, start: int) -> bool:
    """Return whether the words at `start` name the speaker of direct speech, as after "Why?" in: "Why?" Mary asked."""
    speaker = _SPEAKER.match(text, start)
    return speaker is not None and (speaker["name"] == "I" or speaker["name"] not in _FIRST_WORDS)


def _is_abbreviation(word: str, next_word: str) -> bool:
    """Return whether the full stop after `word` only abbreviates it, as far as `next_word`, which follows, shows."""
    if word in _NEVER_LAST or word.capitalize() in _NEVER_LAST:  # also mr. and MR.
        return True
    if word.lower() in _BEFORE_A_NUMBER and (next_word.isdigit() or next_word in _NUMBERS):
        return True
    if word in _HOURS:
        return next_word in _AFTER_HOURS or next_word[:1].islower()
    if word in _SOMETIMES_LAST or (word != "I" and _INITIALS.fullmatch(word)):
        return next_word not in _FIRST_WORDS
    return False
