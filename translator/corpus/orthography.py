"""Persian orthography: half-spaces (ZWNJ, U+200C), hamza and madda. In examples, | is a ZWNJ and ␣ a space."""

from typing import Final

from translator.corpus.characters import VOWEL_MARKS, ZWNJ
from translator.corpus.normalizer_rules import Rewriting, Row

# --- stray half-spaces ---

# Keep it only between two letters or digits, marks included.
_STRAY_ZWNJ: Final = rf"{ZWNJ}(?:(?![^\W_])|(?<![^\W_]{ZWNJ})(?<![\u0653-\u0655{''.join(sorted(VOWEL_MARKS))}]{ZWNJ}))"
TIDY_ZWNJ: Final = Rewriting(
    rows=(
        Row(contains=ZWNJ * 2, pattern=f"{ZWNJ}+", replacement=ZWNJ),  # می||روم → می|روم
        Row(contains=ZWNJ, pattern=_STRAY_ZWNJ, replacement=""),  # «|کتاب → «کتاب, رفت|. → رفت.
    )
)

# --- hamza and madda ---

_MARKS: Final = "\u0653\u0654\u0655"  # madda, hamza above, hamza below
_COMPOSED: Final = {
    "\u0653": {"ا": "آ"},
    "\u0654": {"ا": "أ", "و": "ؤ", "ی": "ئ", "ي": "ئ", "ى": "ئ", "ه": "ۀ", "ۀ": "ۀ"},
    "\u0655": {"ا": "إ"},
}


def _hamza_rows() -> list[Row]:
    rows: list[Row] = []
    for mark in _MARKS:
        for letter, composed in _COMPOSED[mark].items():  # هٔ → ۀ, ا + U+0653 → آ
            rows.append(Row(contains=letter + mark, pattern=f"{letter}{mark}+", replacement=composed))
        rows.append(Row(contains=mark * 2, pattern=f"{mark}+", replacement=mark))  # of several equal marks, one remains
    # An acute accent in place of the madda: الا´ن → الآن.
    rows.append(Row(contains="´", pattern="(?<=ل)ا´(?=[ء-ی])", replacement="آ"))
    return rows


COMPOSE_HAMZA: Final = Rewriting(only_if=f"[{_MARKS}´]", rows=tuple(_hamza_rows()))
"""A letter and a combining madda or hamza become one character."""

# --- affixes joined by half-spaces ---

_LETTER: Final = "[\u0621-\u063a\u0641-\u064aپچژکگیۀ]"
_WORD_START: Final = rf"(?<![\w{ZWNJ}])"
_WORD_END: Final = rf"(?![\w{ZWNJ}])"

# An auxiliary verb that is joined to its participle: رفته|بود
_AUXILIARY: Final = r"(?:ن?(?:بود|شد|کرد)(?:م|ی|یم|ید|ند)?|است|(?:ن?باش|ن?خواه)(?:م|د|یم|ید|ند))"
_JOINED_AUXILIARY: Final = rf"(?<!\w)({_LETTER}{{2,}}(?:{ZWNJ}{_LETTER}+){{0,6}}?){ZWNJ}(?={_AUXILIARY}{_WORD_END})"
# What may be joined to it: the prefixes of می|کرد, برمی|شد, در|کرد
_VERB_PREFIX: Final = rf"(?:^|{ZWNJ}|بر|در|باز|فرا|فرو|وا|ور|سر)(?:ن?می|همی){ZWNJ}$|^(?:بر|در|باز|فرو?|وا|ور){ZWNJ}$"

_SPOKEN_VERBS: Final = "کنه|شه|گه|ره|ده|زنه|تونه|دونه|خوره|رسه|ذاره|مونه|کنن|شن|گن|رن|زنن|تونن|خوان|دونن|توان"
# Words that end like a verb and follow می where it means wine.
_NO_VERBS: Final = (
    "است|نیست|هست|مست|دست|ساقی|صافی|باقی|تلخی|ارغوانی|گلی|کهنسالی|نابی"
    "|خوش|پیش|بیش|لبریز|هم|کم|غم|جم|جام|مدام|خام|آتش|نوش"
)
_VERB: Final = rf"(?:{_LETTER}+(?:[دتمیش]|[دت]ه|[دمی](?:شان|تان|مان))|{_SPOKEN_VERBS})"
# می␣روم; می ناب, where می is wine, stays
_SEPARATE_MI: Final = rf"{_WORD_START}(ن?می) (?!(?:{_NO_VERBS}){_WORD_END})(?={_VERB}{_WORD_END})"

# کتاب␣های
_PLURAL: Final = "ها(?:ی|یی|یم|یت|یش|یمان|یتان|یشان)?"
_SPACE_BEFORE_PLURAL: Final = rf" (?<={_LETTER}{{2}} )(?={_PLURAL}{_WORD_END})"

# Nouns after which تر means wet.
_WET_THINGS: Final = [
    "آب",
    "چوب",
    "هیزم",
    "چشم",
    "چشمان",
    "چشمانش",
    "لب",
    "دیده",
    "باران",
    "شبنم",
    "آسمان",
    "کوهها",
    "گوشتی",
    "دسته\u200cگلی",
    "صنوبر",
    "پیه",
    "ریسمان",
    "چوبهای",
    "آدم\u200cهای",
]
_AFTER_WET_THING: Final = "".join(f"(?<!{_WORD_START}{noun} )" for noun in _WET_THINGS)
_COMPARATIVE: Final = "تر(?:ی|ین|ینِ|های|ها)?"
_NOT_WET: Final = "(?! و (?:تازه|خشک|تمیز|فرز|چسبان)| گل )"  # تر و تازه
# بزرگ␣تر
_SPACE_BEFORE_COMPARATIVE: Final = rf" (?<={_LETTER}{{2}} )(?={_COMPARATIVE}{_WORD_END}{_NOT_WET}){_AFTER_WET_THING}"

UNIFY_ORTHOGRAPHY: Final = Rewriting(
    rows=(
        # رفته|بود → رفته␣بود; می|کرد stays
        Row(contains=ZWNJ, pattern=_JOINED_AUXILIARY, unless=_VERB_PREFIX, replacement=r"\1 "),
        Row(contains="می ", pattern=_SEPARATE_MI, replacement=rf"\1{ZWNJ}"),  # می␣روم → می|روم
        Row(contains=" ها", pattern=_SPACE_BEFORE_PLURAL, replacement=ZWNJ),  # کتاب␣های → کتاب|های
        Row(contains=" تر", pattern=_SPACE_BEFORE_COMPARATIVE, replacement=ZWNJ),  # بزرگ␣تر → بزرگ|تر
    )
)
"""Affixes are joined by half-spaces, and auxiliary verbs are written apart."""
