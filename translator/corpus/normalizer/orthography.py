"""Persian orthography: digits, half-spaces (ZWNJ, U+200C), hamza and madda. In examples, | is a ZWNJ and ␣ a space."""

from typing import Final

from translator.corpus.normalizer.characters import PERSIAN_DIGITS, VOWEL_MARKS, ZWNJ
from translator.corpus.normalizer.rules import Rewriting, Row

# The patterns below are joined from named parts. They are data in the normalizer.json of a run, under a hash, so the
# joined text of a pattern must stay as it is. Flags such as `re.VERBOSE` would change it.

# --- stray half-spaces ---

# A half-space stays only between two letters or digits, marks included: می|روم. Else it is stray.
_LETTER_OR_DIGIT: Final = r"[^\W_]"
_MARK: Final = rf"[\u0653-\u0655{''.join(sorted(VOWEL_MARKS))}]"
_NO_LETTER_AFTER: Final = rf"(?!{_LETTER_OR_DIGIT})"  # رفت|.
_NO_LETTER_BEFORE: Final = rf"(?<!{_LETTER_OR_DIGIT}{ZWNJ})"  # «|کتاب; looks back from after the half-space
_NO_MARK_BEFORE: Final = rf"(?<!{_MARK}{ZWNJ})"  # a mark belongs to a letter: خانهٔ|ما stays
_STRAY_ZWNJ: Final = rf"{ZWNJ}(?:{_NO_LETTER_AFTER}|{_NO_LETTER_BEFORE}{_NO_MARK_BEFORE})"
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
_PAST_AUXILIARY: Final = r"ن?(?:بود|شد|کرد)(?:م|ی|یم|ید|ند)?"  # بود, شدند, نکردیم
_PRESENT_AUXILIARY: Final = r"(?:ن?باش|ن?خواه)(?:م|د|یم|ید|ند)"  # باشد, نخواهم
_AUXILIARY: Final = rf"(?:{_PAST_AUXILIARY}|است|{_PRESENT_AUXILIARY})"
_MORE_PARTS: Final = rf"(?:{ZWNJ}{_LETTER}+){{0,6}}?"  # a participle has up to seven parts: به|کار|رفته
_PARTICIPLE: Final = rf"(?<!\w)({_LETTER}{{2,}}{_MORE_PARTS})"
_JOINED_AUXILIARY: Final = rf"{_PARTICIPLE}{ZWNJ}(?={_AUXILIARY}{_WORD_END})"

# What may be joined to it: prefixes. They are searched in the match, which ends with the half-space before the verb.
_MI_BEFORE_VERB: Final = rf"(?:^|{ZWNJ}|بر|در|باز|فرا|فرو|وا|ور|سر)(?:ن?می|همی){ZWNJ}$"  # می|کرد, برمی|شد
_PREVERB: Final = rf"^(?:بر|در|باز|فرو?|وا|ور){ZWNJ}$"  # در|کرد
_VERB_PREFIX: Final = rf"{_MI_BEFORE_VERB}|{_PREVERB}"

# A verb after می: by its ending, or one of the spoken forms, which these endings miss.
_SPOKEN_VERBS: Final = "کنه|شه|گه|ره|ده|زنه|تونه|دونه|خوره|رسه|ذاره|مونه|کنن|شن|گن|رن|زنن|تونن|خوان|دونن|توان"
_VERB_ENDING: Final = "[دتمیش]|[دت]ه|[دمی](?:شان|تان|مان)"  # روم, گفت, دیده, بیندشان
_VERB: Final = rf"(?:{_LETTER}+(?:{_VERB_ENDING})|{_SPOKEN_VERBS})"
# Words that end like a verb and follow می where it means wine: می باقی.
_NO_VERBS: Final = (
    "است|نیست|هست|مست|دست|ساقی|صافی|باقی|تلخی|ارغوانی|گلی|کهنسالی|نابی"
    "|خوش|پیش|بیش|لبریز|هم|کم|غم|جم|جام|مدام|خام|آتش|نوش"
)
_NO_WORD_OF_WINE: Final = rf"(?!(?:{_NO_VERBS}){_WORD_END})"
# می␣روم, نمی␣روم
_SEPARATE_MI: Final = rf"{_WORD_START}(ن?می) {_NO_WORD_OF_WINE}(?={_VERB}{_WORD_END})"

# A space between a word of at least two letters and its suffix. It looks back from after the space.
_SPACE_AFTER_WORD: Final = rf" (?<={_LETTER}{{2}} )"

# کتاب␣های
_PLURAL: Final = "ها(?:ی|یی|یم|یت|یش|یمان|یتان|یشان)?"
_SPACE_BEFORE_PLURAL: Final = rf"{_SPACE_AFTER_WORD}(?={_PLURAL}{_WORD_END})"

# Nouns after which تر means wet: چوب تر, wet wood.
_WET_THINGS: Final = (
    "آب چوب هیزم چشم چشمان چشمانش لب دیده باران شبنم آسمان کوهها گوشتی دسته\u200cگلی صنوبر پیه ریسمان چوبهای "
    "آدم\u200cهای"
)
_AFTER_WET_THING: Final = "".join(f"(?<!{_WORD_START}{noun} )" for noun in _WET_THINGS.split())
_COMPARATIVE: Final = "تر(?:ی|ین|ینِ|های|ها)?"  # تر, ترین
_NOT_WET: Final = "(?! و (?:تازه|خشک|تمیز|فرز|چسبان)| گل )"  # تر و تازه
_COMPARATIVE_AHEAD: Final = rf"(?={_COMPARATIVE}{_WORD_END}{_NOT_WET})"
# بزرگ␣تر
_SPACE_BEFORE_COMPARATIVE: Final = rf"{_SPACE_AFTER_WORD}{_COMPARATIVE_AHEAD}{_AFTER_WET_THING}"

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

# --- digits ---

# The class has + and = as well: they are harmless, and with them Python searches a bitmap, which is faster.
_FOREIGN_DIGIT: Final = "[+0-9=٠-٩]"
_LATIN: Final = "[A-Za-zÀ-ɏ]"
_DIGITS_OR_LATIN: Final = "[A-Za-zÀ-ɏ0-9٠-٩۰-۹]+"
# What joins the parts of one token, as in UTF-8, v1.2.3, x = 3.
_JOINTS: Final = r"(?:[-_./:@+'’()\[\]{}^$\\#~?&%]+| ?[=<>]+ ?)"
_FUNCTION_CALL: Final = r"[A-Za-z]\w{0,60}\([^()ء-ی]{0,80}\)"  # pow(2, -1)
_TOKEN: Final = f"{_FUNCTION_CALL}|{_DIGITS_OR_LATIN}(?:{_JOINTS}{_DIGITS_OR_LATIN})*"

CONVERT_DIGITS: Final = Rewriting(
    only_if=_FOREIGN_DIGIT,
    rows=(Row(contains="", pattern=_TOKEN, unless=_LATIN, replacement=PERSIAN_DIGITS),),
)
"""Digits become Persian, except beside Latin letters: 25 سال → ۲۵ سال; MP3, UTF-8 and x = 3 stay."""
