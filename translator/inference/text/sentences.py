"""Sentence boundaries: a text cut into its sentences by rules for English and Persian, with the white space between."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from translator.subword.placeholders import EMOJI, END_MARKS, is_number, things_to_copy


class Sentence(NamedTuple):
    """A sentence of a text."""

    before: str  # the white space between the previous sentence and this one, if any; empty for the first
    text: str


LINE_BREAK: Final = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # the line breaks of `str.splitlines`
_GAP: Final = re.compile(r"\s+")
_QUOTATION_MARKS: Final = "\"'”’»"
_DIRECTION_MARKS: Final = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # invisible
_CLOSING: Final = f"{_QUOTATION_MARKS})]{_DIRECTION_MARKS}"
_EMPHASIS: Final = "*_"  # of Markdown
_OPENING: Final = f"\"'“‘«([{{*_—–-{_DIRECTION_MARKS}"
_OPENING_TAG: Final = r"<[A-Za-z\d][^<>]*+>"
_CLOSING_TAG: Final = r"</[A-Za-z\d][\w:.-]*+>"
_TAGS_OF_WORD: Final = re.compile(rf"^[^<>]*>|{_OPENING_TAG}|{_CLOSING_TAG}")  # and the rest of a tag with attributes
_INSIDE: Final = f"{END_MARKS},;:،؛)]}}»”"  # never begin a sentence; so the white space in `. . .` ends none
_NEXT_WORD: Final = re.compile(
    rf"(?:[{re.escape(_OPENING)}]|{_OPENING_TAG})*([A-Z]\.|[^\W\d_]+|\S|)"  # a letter's full stop included
)
_ITEM_NUMBER: Final = re.compile(
    r"(?:[-–—*+>•]\s+)*"
    r"(?:(?:Step|Stage|Phase|Part|Chapter|Section|Article|Figure|Table|Volume|(?:Sec|Fig|Vol)\.|Lesson|Exercise|Question|"
    r"Example|Rule|Day|مرحله|مرحلهٔ|گام|فصل|بخش|قسمت|ماده|مادهٔ|شکل|جدول|جلد|درس|تمرین|سؤال|سوال|مثال|روز)\s+)?"
    r"[(\[]?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-zآ-ی]|الف|[ivxIVX]{1,5})[.)\]]+"
)
_LONGEST_ITEM_NUMBER: Final = 40  # characters

# --- what may follow the mark of a sentence ---

_SMILEY: Final = r"[:;][-'^o]?[)(\]\[DPpO/|*]+|=[)(D]+|<3|\^[_.-]?\^|[xX]D+"
_SMILEY_STARTS: Final = ":;=xX"
_FOOTNOTE: Final = r"\[(?:\d{1,3}|[a-z])\]|[¹²³⁰⁴-⁹†‡]+"
FACE: Final = f"(?:{EMOJI}|{_SMILEY})"
ORNAMENT: Final = f"(?:{FACE}|{_FOOTNOTE})"  # never translated
AFTER_MARK: Final = f"(?<=[{END_MARKS}{_QUOTATION_MARKS})*])"
_ORNAMENTS: Final = re.compile(rf"{ORNAMENT}++(?!\S)")  # a whole word
_LAST_ORNAMENTS: Final = re.compile(f"{AFTER_MARK}{ORNAMENT}++$")
_MARK_WITHOUT_SPACE: Final = re.compile(
    rf"(?<=[^\s{END_MARKS}(\[{{])(?P<mark>[{END_MARKS}]++)(?:{ORNAMENT}|[)\]»”’\"{_DIRECTION_MARKS}]|{_CLOSING_TAG})*+"
    rf"(?=(?:[(“‘«{_DIRECTION_MARKS}]|{_OPENING_TAG})*(?P<word>[^\W\d_]++(?:\u200c[^\W\d_]++)*+)(?![\w@/=(]|\.\w))"
)
_LAST_LETTERS: Final = re.compile(r"[^\W\d_]*$")
_LONGEST_ABBREVIATION: Final = 40  # characters


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
_ROMAN_NUMBER: Final = re.compile(r"[IVXLC]{2,}|[VX]")
_INITIALS: Final = re.compile(r"(?:[A-Z][a-z]?\.)*[A-Z]|(?:[a-z]\.)*[a-z]|Ph\.D|(?:[آ-ی]ـ?\.)*[آ-ی]ـ?")  # J, U.S, ه.ش
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
_PERSIAN_DOMAINS: Final = _words("کام ارگ نت اف\u200cام آی\u200cآر")  # after a full stop, as in لست.اف‌ام


def split_sentences(text: str) -> list[Sentence]:
    """Return the sentences of `text`, in order, without the white space at its ends; none for a blank text.

    A sentence ends at a line break of any kind, at a tab, and after a full stop, an exclamation mark, a question mark
    or an ellipsis; emoji, smileys, footnote marks and closing tags after these belong to it. It goes on if the mark
    belongs to an abbreviation, an initial or the number of a list item, or if the next word shows it. Without white
    space, a mark ends a sentence only where no address, version or abbreviation is likely. `before` and `text` of all
    sentences, joined, give the stripped text.

    >>> [sentence.text for sentence in split_sentences("Mr. Smith left at 5 p.m. He paid $3.50.Why? :) Nobody knows.")]
    ['Mr. Smith left at 5 p.m.', 'He paid $3.50.', 'Why? :)', 'Nobody knows.']
    """
    text = text.strip()
    sentences: list[Sentence] = []
    before = ""
    start = 0
    for end, next_start in _gaps_between_sentences(text):
        sentences.append(Sentence(before=before, text=text[start:end]))
        before = text[end:next_start]
        start = next_start
    if text:
        sentences.append(Sentence(before=before, text=text[start:]))
    return sentences


def _gaps_between_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the end of each sentence of `text` but the last, and the start of the next one."""
    lower_case = text.islower()
    start = 0
    for gap in _white_space_between_sentences(text, lower_case=lower_case):
        for end in _ends_without_space(text, start, gap.start(), lower_case=lower_case):
            yield end, end
        yield gap.span()
        start = gap.end()
    for end in _ends_without_space(text, start, len(text), lower_case=lower_case):
        yield end, end


def _white_space_between_sentences(text: str, *, lower_case: bool) -> Iterator[re.Match[str]]:
    """Yield the white space after each sentence of `text`; see `_ends_without_space` for the ends without any."""
    sentence_start = 0
    word_start = 0
    last_word = ""  # the last word of the sentence so far that is no ornament
    for gap in _GAP.finditer(text):
        # 1. May the word before the white space end a sentence? An ornament may if the word before it does.
        ends_in_letter = text[gap.start() - 1].isalpha()
        is_ornament = False
        # Of the ornaments, only smileys such as xD end in a letter. So most words are spared the slow match.
        if not ends_in_letter or text[word_start] in _SMILEY_STARTS:
            is_ornament = _ORNAMENTS.match(text, word_start, gap.start()) is not None
        if not is_ornament:
            last_word = text[word_start : gap.start()]
        may_end = is_ornament or not ends_in_letter

        # 2. Does the white space end a sentence? A line break always does. A tab does, except after the number of a
        # list item. An ornament after the white space belongs to the same sentence.
        if gap[0] != " " and LINE_BREAK.search(gap[0]):  # the comparison spares most white space the search
            is_end = True
        elif may_end and _is_item_number(text, sentence_start, gap.start()):
            is_end = False
        elif "\t" in gap[0]:
            is_end = True
        elif not may_end or _ORNAMENTS.match(text, gap.end()):
            is_end = False
        else:
            is_end = _ends_sentence(last_word, text, gap.end(), lower_case=lower_case)
            # People also write an emoji in place of a mark: I am happy 😀 We won.
            is_end = is_end or (is_ornament and last_word != "" and _begins_with_first_word(text, gap.end()))
        word_start = gap.end()
        if is_end:
            sentence_start = gap.end()
            last_word = ""
            yield gap


def _is_item_number(text: str, start: int, end: int) -> bool:
    """Return whether `text` from `start` to `end` is the number of a list item, such as `1.`, `(a)` or `Step 2.`."""
    return end - start <= _LONGEST_ITEM_NUMBER and _ITEM_NUMBER.fullmatch(text, start, end) is not None


def _begins_with_first_word(text: str, start: int) -> bool:
    """Return whether `text` has at `start` a word with a capital that is usual only at the start of a sentence."""
    next_match = _NEXT_WORD.match(text, start)
    return next_match is not None and next_match[1] in _FIRST_WORDS and next_match[1][0].isupper()


def _ends_without_space(text: str, start: int, end: int, *, lower_case: bool) -> Iterator[int]:
    """Yield the places between `start` and `end` where a sentence ends and the next one begins without white space."""
    addresses: list[tuple[int, int]] | None = None  # a stack with the first one on top, made when it is needed
    for match in _MARK_WITHOUT_SPACE.finditer(text, start, end):
        # The word before the mark, as much of it as an abbreviation may have; never empty, since no white space
        # precedes the mark.
        words = text[max(start, match.start() - _LONGEST_ABBREVIATION) : match.start()].split()
        word = _TAGS_OF_WORD.sub("", words[-1]).lstrip(_OPENING)
        if not _may_meet(word, match["mark"], match["word"], lower_case=lower_case):
            continue
        if not _ends_sentence(word + match[0], text, match.end(), lower_case=lower_case):
            continue
        if _is_item_number(text, start, match.end()):
            continue
        # A mark inside an address or a file name ends nothing. Drop the addresses before the mark; the next one begins
        # after the mark, or the mark is inside it.
        if addresses is None:
            addresses = list(_addresses(text, start, end))[::-1]
        while addresses and addresses[-1][1] <= match.start():
            addresses.pop()
        if not addresses or addresses[-1][0] > match.start():
            yield match.end()


def _addresses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each address and file name of `text` between `start` and `end`."""
    place = start
    for part in things_to_copy(text[start:end]):
        if not is_number(part):
            place = text.index(part, place)
            yield place, place + len(part)
            place += len(part)


def _may_meet(word: str, mark: str, next_word: str, *, lower_case: bool) -> bool:
    """Return whether `word` with its `mark` may end a sentence although `next_word` follows without white space."""
    last_letters = _LAST_LETTERS.search(word)
    letters = last_letters[0] if last_letters else ""  # at the end of the word
    is_stop = mark == "."
    # 1. A word that begins sentences. `I` and `A` may also be initials or parts of a version, so they have to follow a
    # word in small letters, or `I` a number.
    if next_word in ("I", "A"):
        follows_number = next_word == "I" and word.replace(".", "").isdigit()
        return follows_number or (len(letters) > 1 and letters.islower())
    if next_word in _FIRST_WORDS:
        return True
    # 2. A word of a script without capitals, such as Persian.
    if next_word.upper() == next_word.lower():
        return len(next_word) > 1 and next_word not in _PERSIAN_DOMAINS
    # 3. A capitalized word, as in old.Mary, but not in v2.Beta, Node.Js, java.util.List or J.R.R.Tolkien: before a full
    # stop, there have to be letters only, the first of them small.
    if next_word.istitle() and len(next_word) > 1:
        return not is_stop or (len(letters) > 1 and len(letters) == len(word) and not letters[0].isupper())
    # 4. A small letter begins a sentence only in a text without capitals.
    # A full stop in such a text may belong to an address, so only a word that usually begins a sentence may follow it.
    is_exclamation_or_question = mark.strip("!?؟") == ""
    is_clear_end = is_exclamation_or_question or (is_stop and next_word.capitalize() in _FIRST_WORDS)
    return lower_case and is_clear_end and len(letters) > 1 and len(next_word) > 2


def _ends_sentence(word: str, text: str, next_start: int, *, lower_case: bool) -> bool:
    """Return whether a sentence of `text` ends with `word`; the next word begins at `next_start`.

    A small letter can begin a sentence in a text without capitals (`lower_case`), and after a question mark.
    """
    # 1. Part the word from its marks: `(Yes!")[1]` has the body `(Yes`, the mark `!`, the closing marks `")` and the
    # footnote `[1]`.
    if ">" in word:
        word = _TAGS_OF_WORD.sub("", word)
    word = _LAST_ORNAMENTS.sub("", word)
    # Emphasis is two signs at the end, or signs at both ends. A single sign at the end may refer to a footnote.
    if word.endswith(("**", "__")) or word.startswith(tuple(_EMPHASIS)):
        word = word.rstrip(_EMPHASIS)
    marked = word.rstrip(_CLOSING)
    body = marked.rstrip(END_MARKS)
    mark = marked[len(body) :]
    closing = word[len(marked) :]
    if not mark:
        return False

    # 2. Does the sentence go on after the mark?
    next_match = _NEXT_WORD.match(text, next_start)
    next_word = next_match[1] if next_match else ""
    is_small = next_word.islower()  # False for iPhone, which may begin a sentence
    is_ellipsis = mark == "…" or mark.startswith("..")
    ends_quotation = any(sign in _QUOTATION_MARKS for sign in closing)
    if next_word and next_word[0] in _INSIDE:
        return False
    is_question = mark.endswith(("?", "؟")) and not closing  # people type: Really? i am late
    may_begin_small = (lower_case or is_question) and not ends_quotation and not is_ellipsis
    if is_small and not may_begin_small:
        return False
    if ends_quotation and next_word in _AFTER_QUOTATION:
        return False
    if (ends_quotation or is_small) and _is_speaker(text, next_start):
        return False
    if is_ellipsis and next_word == body:  # I... I do not know.
        return False

    # 3. Does the full stop belong to an abbreviation?
    return mark != "." or not _is_abbreviation(body.lstrip(_OPENING), next_word)


def _is_speaker(text: str, start: int) -> bool:
    """Return whether the words at `start` name the speaker of direct speech, as after "Why?" in: "Why?" Mary asked."""
    speaker = _SPEAKER.match(text, start)
    return speaker is not None and (speaker["name"] == "I" or speaker["name"] not in _FIRST_WORDS)


def _is_abbreviation(word: str, next_word: str) -> bool:
    """Return whether the full stop after `word` only abbreviates it, as far as `next_word`, which follows, shows."""
    if not _NEVER_LAST.isdisjoint((word, word.lower(), word.capitalize())):  # also mr., MR. and E.g.
        return True
    if word.lower() in _BEFORE_A_NUMBER and (next_word.isdigit() or _ROMAN_NUMBER.fullmatch(next_word)):
        return True
    if word in _HOURS:
        return next_word in _AFTER_HOURS or next_word[:1].islower()
    if word in _SOMETIMES_LAST or (word != "I" and _INITIALS.fullmatch(word)):
        return next_word not in _FIRST_WORDS
    return False
