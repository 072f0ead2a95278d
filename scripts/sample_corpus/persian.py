"""Persian spelling and conjugation, in the standard written register with the half-space (ZWNJ)."""

from __future__ import annotations

from dataclasses import dataclass

ZWNJ = "\u200c"
# These letters never join the next one, so a half-space after them would be invisible: کارها, but کتاب‌ها.
NON_JOINING = "اآدذرزژوؤ"
# Words in و and ه whose last letter is a consonant, against the rule of thumb below.
CONSONANT_VAV = frozenset({"گاو", "نو", "جلو", "عضو"})
CONSONANT_HE = frozenset({"کوه", "گروه", "ده", "شبیه", "متوجه"})
CONTINUOUS = "می" + ZWNJ

ENDINGS_PRESENT = {(1, False): "م", (2, True): "ید", (3, False): "د", (1, True): "یم", (3, True): "ند"}
ENDINGS_PAST = {**ENDINGS_PRESENT, (3, False): ""}
ENDINGS_PERFECT = {
    (1, False): ZWNJ + "ام",
    (2, True): ZWNJ + "اید",
    (3, False): " است",
    (1, True): ZWNJ + "ایم",
    (3, True): ZWNJ + "اند",
}
POSSESSIVES = {(1, False): "م", (2, True): "تان", (3, False): "ش", (1, True): "مان", (3, True): "شان"}
COPULA = {(1, False): "هستم", (2, True): "هستید", (3, False): "است", (1, True): "هستیم", (3, True): "هستند"}
SUBJUNCTIVE_BE = "باش"
Agreement = tuple[int, bool]


def attach(word: str, suffix: str) -> str:
    """Join a suffix that keeps its own shape, with a half-space only where the letters would otherwise join."""
    return word + suffix if word[-1] in NON_JOINING else word + ZWNJ + suffix


def ending_class(word: str) -> str:
    """How the last sound of a word behaves before an ending: "consonant", "silent_he", "long" (ا, و) or "ye"."""
    last = word.split(" ")[-1].split(ZWNJ)[-1]
    if last.endswith("ه"):
        pronounced = last in CONSONANT_HE or (last.endswith(("اه", "وه")) and last not in ("میوه", "قهوه"))
        return "consonant" if pronounced else "silent_he"
    if last.endswith("ا"):
        return "long"
    if last.endswith("و"):
        return "consonant" if last in CONSONANT_VAV else "long"
    if last.endswith("ی"):
        return "consonant" if last == "چای" else "ye"
    return "consonant"


def ezafe(word: str) -> str:
    """The word as the head of an ezafe chain; the short vowel is written only after ه and long vowels."""
    kind = ending_class(word)
    if kind == "silent_he":
        return word + ZWNJ + "ی"
    return word + "ی" if kind == "long" else word


def pluralize(word: str) -> str:
    """The plural in ها; in a compound of several words it goes to the head: ساعت‌های مچی."""
    head, space, tail = word.partition(" ")
    return f"{ezafe(attach(head, 'ها'))} {tail}" if space else attach(head, "ها")


def possess(word: str, owner: Agreement) -> str:
    """The word with a possessive ending: کتابم، خانه‌ام، عمویم، صندلی‌ام."""
    kind, suffix = ending_class(word), POSSESSIVES[owner]
    if kind == "long":
        return word + "ی" + suffix
    if kind == "consonant":
        return word + suffix
    # After ه and ی the singular endings are written with their alef: خانه‌ام، but خانه‌مان.
    return word + ZWNJ + (suffix if owner[1] else "ا" + suffix)


def with_indefinite_ye(word: str) -> str:
    """The word with the ی that marks the head of a relative clause: کتابی که، خانه‌ای که، دانشجویی که."""
    kind = ending_class(word)
    if kind == "consonant":
        return word + "ی"
    return word + "یی" if kind == "long" else word + ZWNJ + "ای"


def comparative(adjective: str) -> str:
    """The comparative in تر."""
    return attach(adjective, "تر")


def superlative(comparative_form: str) -> str:
    """The superlative, which stands before its noun: بزرگ‌ترین."""
    return comparative_form + "ین"


def prefixed(prefix: str, stem: str) -> str:
    """The stem after ب or ن, with the spelling change before a vowel: بیا، نیفتاد، بایست."""
    if stem.startswith("آ"):
        return prefix + "یا" + stem[1:]
    if stem.startswith("ا") and not stem.startswith("ای"):
        return prefix + "ی" + stem[1:]
    return prefix + stem


@dataclass(frozen=True)
class Conjugator:
    """All finite forms of one Persian verb."""

    past: str
    present: str
    nonverbal: str = ""
    prefix: str = ""

    def _assemble(self, form: str) -> str:
        form = self.prefix + form
        return f"{self.nonverbal} {form}" if self.nonverbal else form

    @property
    def _is_have(self) -> bool:
        return self.past == "داشت" and not self.prefix

    def _present_personal(self, who: Agreement) -> str:
        stem = self.present
        # رو and شو end in a consonant v; a stem in ی after a vowel takes the endings unchanged.
        return stem + ENDINGS_PRESENT[who]

    @property
    def participle(self) -> str:
        """The past participle with its prefix, without the non-verbal part: رفته، برگشته."""
        return self.prefix + self.past + "ه"

    def simple_present(self, who: Agreement, negative: bool = False) -> str:
        """می‌روم، نمی‌روم; دارم has no می."""
        form = self._present_personal(who)
        if self._is_have:
            return self._assemble("ن" + form if negative else form)
        return self._assemble(("ن" if negative else "") + CONTINUOUS + form)

    def simple_past(self, who: Agreement, negative: bool = False) -> str:
        """رفتم، نرفتم."""
        form = self.past + ENDINGS_PAST[who]
        return self._assemble(prefixed("ن", form) if negative else form)

    def imperfect(self, who: Agreement, negative: bool = False) -> str:
        """می‌رفتم: was going, used to go."""
        form = self.past + ENDINGS_PAST[who]
        if self._is_have:
            return self._assemble("ن" + form if negative else form)
        return self._assemble(("ن" if negative else "") + CONTINUOUS + form)

    def perfect(self, who: Agreement, negative: bool = False) -> str:
        """رفته‌ام، نرفته است."""
        form = self.past + "ه"
        return self._assemble((prefixed("ن", form) if negative else form) + ENDINGS_PERFECT[who])

    def past_perfect(self, who: Agreement, negative: bool = False) -> str:
        """رفته بودم."""
        form = self.past + "ه"
        return self._assemble((prefixed("ن", form) if negative else form) + " بود" + ENDINGS_PAST[who])

    def future(self, who: Agreement, negative: bool = False) -> str:
        """خواهم رفت، برخواهم گشت."""
        auxiliary = ("ن" if negative else "") + "خواه" + ENDINGS_PRESENT[who]
        return self._assemble(f"{auxiliary} {self.past}")

    def subjunctive(self, who: Agreement, negative: bool = False) -> str:
        """بروم، نروم; کنم and شوم of compounds have no ب."""
        if self._is_have:
            form = ("ن" if negative else "") + "داشته " + SUBJUNCTIVE_BE + ENDINGS_PRESENT[who]
            return self._assemble(form)
        form = self._present_personal(who)
        if negative:
            return self._assemble(prefixed("ن", form))
        # برگردم has none either, but دربیاورم has it.
        bare = self.prefix == "بر" or self.past in ("کرد", "شد")
        return self._assemble(form if bare else prefixed("ب", form))

    def imperative(self, negative: bool = False) -> str:
        """The polite command, which has the form of the subjunctive: بروید، نروید."""
        return self.subjunctive((2, True), negative)

    def passive_past(self, who: Agreement, negative: bool = False) -> str:
        """نوشته شد; compounds with کردن put شدن in its place: تعمیر شد."""
        form = ("ن" if negative else "") + "شد" + ENDINGS_PAST[who]
        return f"{self.nonverbal} {form}" if self.past == "کرد" else f"{self.participle} {form}"


def be_present(who: Agreement, negative: bool = False) -> str:
    """هستم، است، نیستند."""
    if not negative:
        return COPULA[who]
    return "نیست" + ENDINGS_PAST[who]


def be_past(who: Agreement, negative: bool = False) -> str:
    """بودم، نبود."""
    return ("ن" if negative else "") + "بود" + ENDINGS_PAST[who]


def be_subjunctive(who: Agreement, negative: bool = False) -> str:
    """باشم، نباشد."""
    return ("ن" if negative else "") + SUBJUNCTIVE_BE + ENDINGS_PRESENT[who]
