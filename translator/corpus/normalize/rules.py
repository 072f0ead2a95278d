"""The registry of the normalizer's rules: a rule is named as its key in the configuration, and shows what it does.

The order of `RULES` is the order in which they are applied. Invisible characters of examples are escapes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from translator.corpus.normalize import characters, dashes, letters, mojibake, orthography, quotes, spacing, tokenized

Change = Callable[[str], str]
Side = Literal["source", "target"]
SIDES: Final[tuple[Side, ...]] = ("source", "target")


@dataclass(frozen=True)
class Work:
    """What a rule does on one side."""

    decoding: Change | None = None
    """Reads the text anew, before all else."""
    character: Change | None = None
    """Replaces a single character; those of all rules become one table."""
    text: Change | None = None
    """Changes a text of which the single characters are done."""


NOTHING: Final = Work()


@dataclass(frozen=True)
class Rule:
    """One switch of the normalizer."""

    key: str
    """In `NormalizationConfig`."""
    does: str
    source: Work
    """On the English side."""
    target: Work
    """On the Persian side."""
    examples: tuple[tuple[Side, str, str], ...]
    """Side, before, after: of this rule alone, and of the default rules together with this one."""
    value: bool | str = True
    """The setting of the key under which the rule is applied."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides on which the rule does anything."""
        return tuple(side for side in SIDES if self.work(side) != NOTHING)

    def work(self, side: Side) -> Work:
        """Return what the rule does on `side`."""
        return self.source if side == "source" else self.target


RULES: Final = (
    Rule(
        "mojibake",
        "Text that was decoded with the wrong character set is decoded again, where its bytes are UTF-8 beyond doubt.",
        Work(decoding=mojibake.repair),
        Work(decoding=mojibake.repair),
        (
            ("target", "Ø³Ù„Ø§Ù… Ø¯Ù†ÛŒØ§", "سلام دنیا"),
            ("target", "ط³ظ„ط§ظ… ط¯ظ†غŒط§", "سلام دنیا"),
            ("source", "a cafÃ© in Paris", "a café in Paris"),
        ),
    ),
    Rule(
        "presentation_forms",
        "Shaped letters and ligatures become plain letters.",
        NOTHING,
        Work(character=characters.presentation_forms),
        (("target", "ﺳﻼم", "سلام"), ("target", "ﷲ", "الله")),
    ),
    Rule(
        "arabic_letters",
        "Arabic yeh, alef maksura and kaf become Persian yeh and kaf.",
        NOTHING,
        Work(character=characters.arabic_letters),
        (("target", "كتاب عربي", "کتاب عربی"), ("target", "موسى", "موسی")),
    ),
    Rule(
        "teh_marbuta",
        "Teh marbuta becomes heh.",
        NOTHING,
        Work(character=characters.teh_marbuta),
        (("target", "دایرة المعارف", "دایره المعارف"),),
    ),
    Rule(
        "tatweel",
        "The stretching stroke is removed.",
        NOTHING,
        Work(character=characters.tatweel),
        (("target", "کتـــاب", "کتاب"),),
    ),
    Rule(
        "vowel_marks",
        "Short-vowel marks are removed; the tanwin of لطفاً is spelling and stays, as do madda and hamza.",
        NOTHING,
        Work(character=characters.vowel_marks),
        (("target", "کِتابِ خوب", "کتاب خوب"), ("target", "مُسلّماً", "مسلماً")),
        value="strip",
    ),
    Rule(
        "zero_width",
        "Invisible characters other than ZWNJ are removed; a soft hyphen in Persian text stands for ZWNJ.",
        Work(character=characters.zero_width),
        Work(character=characters.persian_zero_width),
        (
            ("source", "right\u200e and\ufeff left", "right and left"),
            ("target", "\u200fسلام\u202c", "سلام"),
            ("target", "بنی\u00adاسرائیل", "بنی\u200cاسرائیل"),
        ),
    ),
    Rule(
        "zwnj",
        "ZWNJ stays between two letters or digits, and only one of several.",
        Work(text=letters.tidy_zwnj),
        Work(text=letters.tidy_zwnj),
        (
            ("target", "می\u200c\u200cروم", "می\u200cروم"),
            ("target", "«\u200cکتاب\u200c»", "«کتاب»"),
            ("source", "a\u200c book", "a book"),
        ),
    ),
    Rule(
        "hamza",
        "A letter and the madda or hamza that follows it become one letter.",
        NOTHING,
        Work(text=letters.compose_hamza),
        (
            ("target", "خانه\u0654 ما", "خانۀ ما"),
            ("target", "قرا\u0653ن", "قرآن"),
            ("target", "الا´ن", "الآن"),
        ),
    ),
    Rule(
        "digits",
        "Digits become Persian, unless Latin letters are glued to them.",
        NOTHING,
        Work(text=letters.convert_digits),
        (("target", "در 25 سال و ٣ ماه", "در ۲۵ سال و ۳ ماه"), ("target", "فایل MP3", "فایل MP3")),
        value="persian",
    ),
    Rule(
        "digits",
        "Digits become ASCII.",
        NOTHING,
        Work(character=characters.ascii_digits),
        (("target", "در ۲۵ سال و ٣ ماه", "در 25 سال و 3 ماه"),),
        value="ascii",
    ),
    Rule(
        "spaces",
        "Every kind of white space becomes one plain space, and none stays at the ends.",
        Work(character=characters.white_space, text=spacing.tidy_spaces),
        Work(character=characters.white_space, text=spacing.tidy_spaces),
        (("source", " a\u00a0b\t c ", "a b c"), ("target", "یک\u2003 دو\u2028سه", "یک دو سه")),
    ),
    Rule(
        "punctuation_spacing",
        "Punctuation, brackets, quotation marks and escapes that a tokenizer set apart are put together again.",
        Work(text=tokenized.english_text),
        Work(text=tokenized.persian_text),
        (
            ("target", "رفت ، و « آمد » .", "رفت، و «آمد»."),
            ("target", "کرد ،ولی نرفت", "کرد، ولی نرفت"),
            ("source", 'he said , " yes ( no ) "', 'he said, "yes (no)"'),
            ("source", "well @-@ known R &amp; D for $ 5", "well-known R & D for $5"),
        ),
    ),
    Rule(
        "contractions",
        "English endings that a tokenizer cut off are joined.",
        Work(text=tokenized.english_contractions),
        NOTHING,
        (("source", "it 's what I ca n't do", "it's what I can't do"), ("source", "gon na see", "gonna see")),
    ),
    Rule(
        "quotes",
        "Straight quotation marks and apostrophes in English, guillemets in Persian where the marks come in pairs.",
        Work(character=quotes.english_apostrophe, text=quotes.english_quotes),
        Work(character=quotes.persian_apostrophe, text=quotes.persian_quotes),
        (
            ("source", "“it’s late”", '"it\'s late"'),
            ("source", ";Nay,; said he", '"Nay," said he'),
            ("target", 'گفت: "بله"', "گفت: «بله»"),
            ("target", "گفت: “بله”", "گفت: «بله»"),
            ("target", 'متغیر "name"', 'متغیر "name"'),
        ),
    ),
    Rule(
        "dashes",
        "One hyphen, one dash: the long one.",
        Work(character=dashes.dash, text=dashes.one_dash),
        Work(character=dashes.dash, text=dashes.one_dash),
        (
            ("source", "yes – no, well‐known, 0–9, so -- yes", "yes — no, well-known, 0-9, so — yes"),
            ("target", "او – اگر بخواهد – می‌آید", "او — اگر بخواهد — می‌آید"),
        ),
    ),
    Rule(
        "orthography",
        "Prefixes and suffixes that are written apart are joined by ZWNJ, and glued auxiliary verbs get a space.",
        NOTHING,
        Work(text=orthography.unify_orthography),
        (
            ("target", "نمی روم", "نمی\u200cروم"),
            ("target", "کتاب های بزرگ تر", "کتاب\u200cهای بزرگ\u200cتر"),
            ("target", "رفته\u200cبود", "رفته بود"),
            ("target", "می ناب", "می ناب"),
        ),
    ),
)
"""All rules, in their order; `digits` is there twice, once for each of its settings."""
