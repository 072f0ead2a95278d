"""Persian prefixes and suffixes that are written apart, or joined where they should be apart.

Before → after, for each rule, stands in its docstring; ␣ is a space and | a ZWNJ (U+200C). White space must be plain
single spaces. Texts differ in all of this, and readers accept each way, so none of it is a mistake.
"""

import re
from typing import Final

ZWNJ: Final = "\u200c"

_LETTER: Final = "[\u0621-\u063a\u0641-\u064aپچژکگیۀ]"
_WORD_START: Final = rf"(?<![\w{ZWNJ}])"
_WORD_END: Final = rf"(?![\w{ZWNJ}])"

_SPOKEN_VERBS: Final = "کنه|شه|گه|ره|ده|زنه|تونه|دونه|خوره|رسه|ذاره|مونه|کنن|شن|گن|رن|زنن|تونن|خوان|دونن|توان"
_NO_VERBS: Final = (
    "است|نیست|هست|مست|دست|ساقی|صافی|باقی|تلخی|ارغوانی|گلی|کهنسالی|نابی"
    "|خوش|پیش|بیش|لبریز|هم|کم|غم|جم|جام|مدام|خام|آتش|نوش"
)
"""What follows می where it is wine, and ends like a verb."""
_PREFIX: Final = re.compile(
    rf"{_WORD_START}(ن?می) (?!(?:{_NO_VERBS}){_WORD_END})"
    rf"(?=(?:{_LETTER}+(?:[دتمیش]|[دت]ه|[دمی](?:شان|تان|مان))|{_SPOKEN_VERBS}){_WORD_END})"
)


def join_verb_prefix(text: str) -> str:
    """می and نمی are joined to the verb: می␣روم → می|روم; می ناب, where می is wine, stays."""
    return _PREFIX.sub(rf"\1{ZWNJ}", text) if "می " in text else text


_PLURAL: Final = re.compile(rf" (?<={_LETTER}{{2}} )(?=ها(?:ی|یی|یم|یت|یش|یمان|یتان|یشان)?{_WORD_END})")


def join_plural(text: str) -> str:
    """The plural ending is joined to its noun: کتاب␣های → کتاب|های."""
    return _PLURAL.sub(ZWNJ, text) if " ها" in text else text


_WET_THINGS: Final = (
    "و|آب|چوب|هیزم|چشم|چشمان|چشمانش|لب|دیده|باران|شبنم|آسمان|کوهها|گوشتی|دسته‌گلی|صنوبر|پیه|ریسمان|چوبهای|آدم‌های"
)
_COMPARATIVE: Final = re.compile(
    rf"(?:(?:(?<=^)|(?<=[^\w{ZWNJ}]))(?:{_WET_THINGS})|({_LETTER}{{2}})) "
    rf"(?=تر(?:ی|ین|ینِ|های|ها)?{_WORD_END}(?! و (?:تازه|خشک|تمیز|فرز|چسبان)| گل ))"
)


def join_comparative(text: str) -> str:
    """تر and ترین are joined to the adjective: بزرگ␣تر → بزرگ|تر; where تر is wet, as in تر و تازه, it stays."""
    if " تر" not in text:
        return text
    return _COMPARATIVE.sub(lambda match: f"{match[1]}{ZWNJ}" if match[1] else match[0], text)


_PERSON: Final = "(?:م|ی|یم|ید|ند)?"
_AUXILIARY: Final = re.compile(
    rf"(?<!\w){_LETTER}{{2,}}(?:{ZWNJ}{_LETTER}+){{0,6}}?{ZWNJ}"
    rf"(?=(?:ن?(?:بود|شد|کرد){_PERSON}|است|(?:ن?باش|ن?خواه)(?:م|د|یم|ید|ند)){_WORD_END})"
)
_PREFIXES_OF_VERBS: Final = re.compile(
    rf"(?:^|{ZWNJ}|بر|در|باز|فرا|فرو|وا|ور|سر)(?:ن?می|همی){ZWNJ}$|^(?:بر|در|باز|فرو?|وا|ور){ZWNJ}$"
)


def part_auxiliary(text: str) -> str:
    """A verb that was glued to the word before it is parted: رفته|بود → رفته␣بود, خوب|است → خوب␣است; می|کرد stays."""
    return _AUXILIARY.sub(_part, text) if ZWNJ in text else text


def _part(match: re.Match[str]) -> str:
    return match[0] if _PREFIXES_OF_VERBS.search(match[0]) else f"{match[0][:-1]} "


def unify_orthography(text: str) -> str:
    """All rules of this module, one after another."""
    return join_comparative(join_plural(join_verb_prefix(part_auxiliary(text))))
