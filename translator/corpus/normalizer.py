"""The normalizer: one spelling for what can be spelt in several ways, in training and at inference.

`RULES` has all rules in the order in which they apply. To add one, write its function here, or in `characters.py` for a
single character, a line in `RULES` and a key in `NormalizationConfig`; then raise `NORMALIZER_VERSION`. In examples, |
is a ZWNJ (U+200C) and ␣ a space. For speed, most patterns begin with a plain space or one small class of characters.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus import characters
from translator.corpus.characters import VOWEL_MARKS, ZWNJ, Change, CharacterTable, is_suspect, persian_digits

NORMALIZER_VERSION: Final[int] = 2  # raised whenever the output for any text changes; a model keeps its version

Side = Literal["source", "target"]


def _rewriting(*rows: tuple[str, str, str | Callable[[re.Match[str]], str]]) -> Change:
    """Return a function that applies each row in turn: text in every match (a fast test), pattern, replacement."""
    compiled = [(part, re.compile(pattern).sub, replacement) for part, pattern, replacement in rows]

    def rewrite(text: str) -> str:
        for part, substitute, replacement in compiled:
            if part in text:
                text = substitute(replacement, text)
        return text

    return rewrite


_tidy_zwnj: Final = _rewriting(
    (ZWNJ * 2, f"{ZWNJ}+", ZWNJ),  # می||روم → می|روم
    # Keep it only between two letters or digits: «|کتاب → «کتاب, رفت|. → رفت.
    (ZWNJ, rf"{ZWNJ}(?:(?![^\W_])|(?<![^\W_]{ZWNJ})(?<![\u0653-\u0655{''.join(VOWEL_MARKS)}]{ZWNJ}))", ""),
)
_PARTS: Final = ("ا\u0653", "ا\u0654", "ا\u0655", "و\u0654", "ی\u0654", "ي\u0654", "ى\u0654", "ه\u0654", "ۀ\u0654")
_COMPOSED: Final = dict(zip(_PARTS, "آأإؤئئئۀۀ", strict=True))
_compose_hamza: Final = _rewriting(
    *(  # هٔ → ۀ, ا + U+0653 → آ; of several equal marks, one remains
        (mark, f"([اوهۀيىی]?){mark}+", lambda found: _COMPOSED.get(pair := found[1] + found[0][-1], pair))
        for mark in "\u0653\u0654\u0655"
    ),
    ("´", "(?<=ل)ا´(?=[ء-ی])", "آ"),  # an acute accent in place of the madda: الا´ن → الآن
)

# The class has + and = as well: they are harmless, and with them Python searches a bitmap, which is faster.
_FOREIGN_DIGIT: Final = re.compile("[+0-9=٠-٩]")
_DIGITS_OR_LATIN: Final = "[A-Za-zÀ-ɏ0-9٠-٩۰-۹]+"
_TOKEN: Final = re.compile(
    r"[A-Za-z]\w{0,60}\([^()ء-ی]{0,80}\)"  # a function call with its arguments
    rf"|{_DIGITS_OR_LATIN}(?:(?:[-_./:@+'’()\[\]{{}}^$\\#~?&%]+| ?[=<>]+ ?){_DIGITS_OR_LATIN})*"
)
_LATIN: Final = re.compile("[A-Za-zÀ-ɏ]")


def _convert_digits(text: str) -> str:
    """Digits become Persian, except beside Latin letters: 25 سال → ۲۵ سال; MP3, UTF-8 and x = 3 stay."""
    if _FOREIGN_DIGIT.search(text) is None:
        return text
    return _TOKEN.sub(
        lambda found: found[0] if _LATIN.search(found[0]) else "".join(map(persian_digits, found[0])), text
    )


def _tidy_spaces(text: str) -> str:
    return " ".join(filter(None, text.split(" "))) if "  " in text else text.strip(" ")


_NAMES: Final = ("amp", "quot", "apos", "lt", "gt", "nbsp", "#91", "#93", "#124", "zwnj")
_ESCAPES: Final = {f"&{name};": sign for name, sign in zip(_NAMES, "&\"'<> []|" + ZWNJ, strict=True)}
_BRACKETS: Final = {"lrb": "(", "rrb": ")", "lsb": "[", "rsb": "]", "lcb": "{", "rcb": "}"}
_BRACKET: Final = r"(?<!\S)-((?i:[LR][RSC]B))-(?!\S)"
_rewrite_escapes: Final = _rewriting(
    ("&", "|".join(_ESCAPES), lambda match: _ESCAPES[match[0]]),  # R&amp;D → R&D
    ("@", r"(?<=\w) ?@([-/,.:])@ ?(?=\w)", r"\1"),  # well␣@-@␣known → well-known
    *((part, _BRACKET, lambda match: _BRACKETS[match[1].lower()]) for part in ("B-", "b-")),  # -LRB-␣x␣-RRB- → (␣x␣)
)


def _unescape(text: str) -> str:
    # Few texts are escaped, and four tests are faster than the loop over the rows.
    escaped = "&" in text or "@" in text or "B-" in text or "b-" in text
    return _rewrite_escapes(text) if escaped else text


_LOOSE: Final = re.compile(r" (?:[,،؛؟»”)\];!?:.]|(?<=[\[(«“] ))")  # anything that the patterns below may change
_END: Final = r"(?:[\s»”’\]\"']|$)"
_join_loose: Final = _rewriting(
    (" . . ", r"(?<!\S)\.(?: \.){2,}(?!\S)", lambda match: match[0].replace(" ", "")),
    (  # a sign on the wrong side of its space: a␣،b → a،␣b
        " ",
        r" (?=[،؛؟\]:.!])(?:[،؛؟\]]+(?=\w)|[:.!](?<=\w [:.!])(?=[«\u0621-\u064aپچژکگی]))",
        lambda match: f"{match[0].lstrip(' ')} ",
    ),
    (" .", r" \.(?<=\d \.)(?=\d)", "."),
    (
        " ",
        r"  *(?=[,،؛؟»”)\];!?:.])(?:"
        r"(?=[,،؛؟»”)\]](?!\w))"  # signs that always follow a word
        rf"|(?=[;!?]!*{_END})"  # but not in `a != b`, `?x=1`, `;)`
        rf"|(?=[:.]{_END})(?!(?<=\d )[:.] \d)(?<!\. )"  # but not in `10 : 30`, `2 . 3`, `... .`, `:)`
        ")",
        "",
    ),
    *((mark, r"(?:(?<=^[\[(«“])|(?<=[\s\[(«“\"'—–-][\[(«“]))  *", "") for mark in "(«[“"),
)
_part_words: Final = _rewriting(*((sign, rf"{sign}(?<=[^\W\d_].)(?=[^\W\d_])", f"{sign} ") for sign in "،؛؟"))  # a،b


def _join_punctuation(text: str) -> str:
    """Punctuation joins its word: رفت␣. → رفت., «␣متن␣» → «متن», (␣x␣) → (x), "␣yes␣" → "yes".

    Ambiguous text stays: `3 - 2`, `...`, `10 : 30`, `a != b`, `:)`, braces.
    """
    text = _join_quotes(text) if '"' in text else text
    return _part_words(text if _LOOSE.search(text) is None else _join_loose(text))


def _join_quotes(text: str) -> str:
    """Remove the spaces inside `" … "`, where straight quotes come in pairs with no letter on the outside."""
    parts = text.split('"')
    if len(parts) == 2:  # a single mark is clear only at the ends of the text and after a colon
        if not parts[0] or parts[0].endswith(": "):
            parts[1] = parts[1].lstrip(" ")
        elif not parts[1]:
            parts[0] = parts[0].rstrip(" ")
    for index in range(1, len(parts), 2) if len(parts) % 2 else ():
        before, quoted, after = parts[index - 1 : index + 2]
        free = (not before or before[-1] in " ([«“") and (not after or not after[0].isalnum())
        if free and not quoted.isspace():
            both = quoted[:1] == quoted[-1:] == " "
            if both or not before or before.endswith(": "):
                quoted = quoted.lstrip(" ")
            parts[index] = quoted.rstrip(" ") if both or not after else quoted
    return '"'.join(parts)


_WRONG_MARK: Final = r' " (?<=[A-Za-z] . )(?=(?i:s|t|ll|re|ve|d|m)(?![\w\'’])(?! "))'
_english_marks: Final = _rewriting(('"', _WRONG_MARK, " '"))  # god␣"␣s → god␣'s
_english_signs: Final = _rewriting(
    *((sign, rf"(?<!\S)\{sign} (?=\d)", sign) for sign in "$£€"),  # $␣5 → $5
    ("%", r"(?<=\d) %(?!\S)", "%"),  # 5␣% → 5%
    (" ' ", r"(?i)(?<![\w'])([dlo]) ' (?=[a-z]{2})", r"\1'"),  # d␣'␣Artagnan → d'Artagnan
    ("' ", r"(?i)(?<!\S)' (?=(?:em|tis|twas)(?![\w'’]))", "'"),
)
_FREE_APOSTROPHE: Final = re.compile(r"'(?<!\S')(?!\S)")


def _join_apostrophes(text: str) -> str:
    """Join the apostrophes of '␣yes␣' → 'yes' and servants␣'␣hall → servants' hall, unless their place is ambiguous."""
    free = [match.start() for match in _FREE_APOSTROPHE.finditer(text)] if "'" in text else []
    if free == [0]:
        return "'" + text[2:]
    if len(free) == 1 and (free[0] == len(text) - 1 or text[free[0] - 2] in "sS"):
        return text[: free[0] - 1] + text[free[0] :]
    if len(free) == 2 and free[1] - free[0] > 2:
        first, last = free
        before = text[first - 2] if first else ":"
        if before in ".:;!?" or (before != "," and text[last - 2] in ",.!?"):
            return f"{text[:first]}'{text[first + 2 : last - 1]}'{text[last + 1 :]}"
    return text


_CUT_WORD: Final = r"(?i) (?<=(?<![\w'’])(?:gon|wan) )(?=na(?![\w'’]))| (?<=(?<![\w'’])got )(?=ta(?![\w'’]))"
_join_contractions: Final = _rewriting(
    (  # it␣'s → it's, don␣'t → don't, ca␣n't → can't, ship'␣s → ship's
        "'",
        r" (?:(?=['sStTdDmMlLrRvVnN])(?:"
        r"(?<=[\w)\]] )(?='(?i:s|d|m|ll|re|ve)(?![\w'’]))"
        r"|(?<=[A-Za-z] )(?=(?i:n't)(?!\w))|(?<=[nN] )(?='[tT](?![\w'’]))"
        r"|(?<=[A-Za-z]' )(?=(?i:s|t|d|m|ll|re|ve)(?![\w'’]))))",
        "",
    ),
    ("'", r"'[tT] (?<=(?<![\w'’])'. )(?=(?i:is|was|will|were)(?!\w))", lambda match: match[0][:-1]),  # 't␣is → 'tis
    *((part, _CUT_WORD, "") for part in ("n na", "t ta")),  # gon␣na → gonna, got␣ta → gotta
)

_DOUBLE: Final = re.compile("[“”„‟″«»]")
_OPENING_SEMICOLON: Final = re.compile(r";(?<!\S;)(?=[^\W\d_])")
# At the start of a text or a clause, a semicolon can only be a broken quotation mark.
_CERTAIN_SEMICOLON: Final = re.compile(r";(?=[^\W\d_])(?:(?<=^;)|(?<=[:,.?!] ;))")
_CLOSING_SEMICOLON: Final = re.compile(r";(?<=[,.!?];)(?=\s|$)")
_LAST_SEMICOLON: Final = re.compile(r";$(?<=[^\W\d_]{2}[,.!?];)")
_join_marks: Final = _rewriting(
    # Two apostrophes: anywhere in a text that opens quotations with two backticks, else where they end a word.
    ("``", r"(?:(?<=\S) +)?(?<!')''(?!')", '"'),
    ("''", r"(?<=[\w.,!?;)])''(?!['\w])", '"'),
    ("``", "(?<!`)``(?!`) *", '"'),
    # A single one is an apostrophe, but not in `code`.
    ("`", r"((?<![\w`])`(?=[^\s`])[^`]*(?<=[^\s`])`(?![\w`]))|(?<!`)`(?!`)", lambda match: match[1] or "'"),
)


def _english_quotes(text: str) -> str:
    """Quotation marks become straight: “yes” → "yes", ``␣yes␣'' → "yes", ;Nay,; (broken &quot;) → "Nay,"."""
    if not text.isascii():
        text = _DOUBLE.sub('"', text)
    if ";" in text:
        certain = _CERTAIN_SEMICOLON.search(text) is not None or _CLOSING_SEMICOLON.search(text) is not None
        text, openings = _OPENING_SEMICOLON.subn('"', text) if certain else (text, 0)
        text = (_CLOSING_SEMICOLON if openings else _LAST_SEMICOLON).sub('"', text)
    return _join_marks(text)


_PERSIAN_LETTER: Final = re.compile("[\u0621-\u064aپچژکگیۀ]")
_guillemets: Final = _rewriting(  # “بله” → «بله»
    *((mark, '[“„”‟]([^“”„‟«»"]*)[“”„‟]', r"«\1»") for mark in "“”„‟"),
    *((mark, mark, "«") for mark in "“„‟"),
    ("”", "”", "»"),
    ("´", "´", "'"),
)


def _persian_quotes(text: str) -> str:
    """Quotation marks become guillemets; straight ones only where all of them are in pairs around Persian words."""
    parts = text.split('"')
    if len(parts) > 1 and len(parts) % 2:
        paired = [parts[0]]
        for quoted, after in zip(parts[1::2], parts[2::2], strict=True):
            free = not paired[-1][-1:].isalnum() and not after[:1].isalnum()
            tight = quoted and not quoted[0].isspace() and not quoted[-1].isspace()
            marks = "«»" if free and tight and _PERSIAN_LETTER.search(quoted) else '""'
            paired += [marks[0], quoted, marks[1], after]
        text = "".join(paired)
    return _guillemets(text)


_one_dash: Final = _rewriting(
    ("–", r"(?<=\w)–(?=\w)", "-"),  # inside a word or a number: 0–9 → 0-9
    ("–", "–", "—"),  # yes – no → yes — no
    # word--word → word—word, but an option (--help) and what follows a single letter (i--) stay
    ("--", r"(?<!\S)--(?!\S)|(?<=[^\W\d_]{2})--(?=[^\W\d_]{2}|\s|$)|(?<=[,.!?;:»\"”)])--(?!\S)", "—"),
)

_LETTER: Final = "[\u0621-\u063a\u0641-\u064aپچژکگیۀ]"
_WORD_START: Final = rf"(?<![\w{ZWNJ}])"
_WORD_END: Final = rf"(?![\w{ZWNJ}])"
_SPOKEN_VERBS: Final = "کنه|شه|گه|ره|ده|زنه|تونه|دونه|خوره|رسه|ذاره|مونه|کنن|شن|گن|رن|زنن|تونن|خوان|دونن|توان"
# Words that end like a verb and follow می where it means wine.
_NO_VERBS: Final = (
    "است|نیست|هست|مست|دست|ساقی|صافی|باقی|تلخی|ارغوانی|گلی|کهنسالی|نابی"
    "|خوش|پیش|بیش|لبریز|هم|کم|غم|جم|جام|مدام|خام|آتش|نوش"
)
# Nouns after which تر means wet.
_WET_THINGS: Final = (
    "و|آب|چوب|هیزم|چشم|چشمان|چشمانش|لب|دیده|باران|شبنم|آسمان|کوهها|گوشتی|دسته‌گلی|صنوبر|پیه|ریسمان|چوبهای|آدم‌های"
)
_VERB_PREFIXES: Final = re.compile(
    rf"(?:^|{ZWNJ}|بر|در|باز|فرا|فرو|وا|ور|سر)(?:ن?می|همی){ZWNJ}$|^(?:بر|در|باز|فرو?|وا|ور){ZWNJ}$"
)
unify_orthography: Final = _rewriting(
    (  # an auxiliary verb is written apart: رفته|بود → رفته␣بود; می|کرد stays
        ZWNJ,
        rf"(?<!\w){_LETTER}{{2,}}(?:{ZWNJ}{_LETTER}+){{0,6}}?{ZWNJ}"
        rf"(?=(?:ن?(?:بود|شد|کرد)(?:م|ی|یم|ید|ند)?|است|(?:ن?باش|ن?خواه)(?:م|د|یم|ید|ند)){_WORD_END})",
        lambda match: match[0] if _VERB_PREFIXES.search(match[0]) else f"{match[0][:-1]} ",
    ),
    (  # می and نمی are joined to the verb: می␣روم → می|روم; می ناب, where می is wine, stays
        "می ",
        rf"{_WORD_START}(ن?می) (?!(?:{_NO_VERBS}){_WORD_END})"
        rf"(?=(?:{_LETTER}+(?:[دتمیش]|[دت]ه|[دمی](?:شان|تان|مان))|{_SPOKEN_VERBS}){_WORD_END})",
        rf"\1{ZWNJ}",
    ),
    # کتاب␣های → کتاب|های
    (" ها", rf" (?<={_LETTER}{{2}} )(?=ها(?:ی|یی|یم|یت|یش|یمان|یتان|یشان)?{_WORD_END})", ZWNJ),
    (  # بزرگ␣تر → بزرگ|تر; where تر means wet, as in تر و تازه, it stays
        " تر",
        rf"(?:(?:(?<=^)|(?<=[^\w{ZWNJ}]))(?:{_WET_THINGS})|({_LETTER}{{2}})) "
        rf"(?=تر(?:ی|ین|ینِ|های|ها)?{_WORD_END}(?! و (?:تازه|خشک|تمیز|فرز|چسبان)| گل ))",
        lambda match: f"{match[1]}{ZWNJ}" if match[1] else match[0],
    ),
)


class Work(NamedTuple):
    """The work of a rule on one side: repair of decoding, then single characters, then steps on the whole text."""

    character: Change | None = None
    text: tuple[Change, ...] = ()
    decoding: Change | None = None


class Rule(NamedTuple):
    """One rule of the normalizer: its config key, its work on each side, and the value that enables it."""

    key: str
    source: Work
    target: Work
    value: bool | str = True


NOTHING: Final = Work()
_REPAIR: Final = Work(decoding=characters.repair_decoding)
_SPACES: Final = Work(characters.white_space, (_tidy_spaces,))
_DASHES: Final = Work(characters.dash, (_one_dash,))
_JOIN_ENGLISH: Final = (_unescape, _english_marks, _join_punctuation, _english_signs, _join_apostrophes)
_ENGLISH_QUOTES: Final = Work(characters.english_apostrophe, (_english_quotes,))
RULES: Final = (
    Rule("mojibake", _REPAIR, _REPAIR),
    Rule("presentation_forms", NOTHING, Work(characters.presentation_forms)),
    Rule("arabic_letters", NOTHING, Work(characters.arabic_letters)),
    Rule("teh_marbuta", NOTHING, Work(characters.teh_marbuta)),
    Rule("tatweel", NOTHING, Work(characters.tatweel)),
    Rule("vowel_marks", NOTHING, Work(characters.vowel_marks), value="strip"),
    Rule("zero_width", Work(characters.zero_width), Work(characters.persian_zero_width)),
    Rule("zwnj", Work(text=(_tidy_zwnj,)), Work(text=(_tidy_zwnj,))),
    Rule("hamza", NOTHING, Work(text=(_compose_hamza,))),
    Rule("digits", NOTHING, Work(text=(_convert_digits,)), value="persian"),
    Rule("digits", NOTHING, Work(characters.ascii_digits), value="ascii"),
    Rule("spaces", _SPACES, _SPACES),
    Rule("punctuation_spacing", Work(text=_JOIN_ENGLISH), Work(text=(_unescape, _join_punctuation))),
    Rule("contractions", Work(text=(_join_contractions,)), NOTHING),
    Rule("quotes", _ENGLISH_QUOTES, Work(characters.persian_apostrophe, (_persian_quotes,))),
    Rule("dashes", _DASHES, _DASHES),
    Rule("orthography", NOTHING, Work(text=(unify_orthography,))),
)
"""All rules in order; `digits` has one rule per setting."""

# Signs whose replacement may need an earlier rule, or the same rule again.
_UNSTABLE: Final = {"source": re.compile("[«»\"'`&@“”„‟″–‘’‚‛′´‹›]"), "target": re.compile('["&@“”„‟–´‘’‚‛′‹›]')}


class Normalizer:
    """Applies the rules that a configuration enables, for each side. Normalization is idempotent.

    >>> Normalizer(NormalizationConfig()).target("كتاب  خوبي است .")
    'کتاب خوبی است.'
    """

    def __init__(self, config: NormalizationConfig, languages: Languages = (ENGLISH, PERSIAN)) -> None:
        """Create `source` and `target`, the functions that normalize a text of each language."""
        english, persian = _chain(config, "source"), _chain(config, "target")
        self.languages = languages
        self.source, self.target = (english, persian) if languages[0] == ENGLISH else (persian, english)


def _chain(config: NormalizationConfig, side: Side) -> Change:
    """Return the function that applies the rules of `config` to `side` until nothing changes."""
    works: list[Work] = [getattr(rule, side) for rule in RULES if getattr(config, rule.key) == rule.value]
    steps: list[Change] = [work.decoding for work in works if work.decoding]
    if single := [work.character for work in works if work.character]:
        steps.append(CharacterTable(*single))
    steps += [change for work in works for change in work.text]
    unstable = _UNSTABLE[side].search

    def once(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    def normalize(text: str) -> str:
        normal = once(text)  # one pass suffices for nearly all lines
        if normal == text or not (unstable(text) or "--" in text or is_suspect(text)):
            return normal
        for _ in range(10):
            before, normal = normal, once(normal)
            if normal == before:
                break
        return normal

    return normalize


_FOLDED_LETTERS: Final = {"ة": "ه", "ە": "ه", "ہ": "ه", "ھ": "ه"}  # Arabic, Kurdish and Urdu


def _bare(character: str) -> str:  # É → e, ﻻ → لا, ² → 2
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())


def _essential(character: str) -> str:  # letters and digits only
    return _FOLDED_LETTERS.get(character, character) if character.isalnum() else ""


_FOLDING: Final = (characters.presentation_forms, _bare, characters.tatweel, characters.arabic_letters)
_fold_characters: Final = CharacterTable(*_FOLDING, characters.ascii_digits, _essential)


def fold(text: str) -> str:
    """Return the key for finding duplicates and leaks: plain letters and digits, or the text if it has none."""
    return _fold_characters(_unescape(characters.repair_decoding(text))) or " ".join(text.split())
