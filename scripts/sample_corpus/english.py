"""English morphology: articles, plurals, verb forms and the auxiliaries of statements and questions."""

from __future__ import annotations

VOWELS = "aeiou"
# Spelled with a vowel but spoken with a consonant, and the other way round.
CONSONANT_SOUND = ("uni", "useful", "euro")
VOWEL_SOUND = ("hour", "honest")
SUBJECT_BE = {(1, False): "am", (3, False): "is"}
MODALS = ("can", "must", "should", "will", "may")


def article(word: str) -> str:
    """ "a" or "an", by the sound that follows."""
    lower = word.lower()
    if lower.startswith(CONSONANT_SOUND):
        return "a"
    return "an" if lower[0] in VOWELS or lower.startswith(VOWEL_SOUND) else "a"


def pluralize(noun: str) -> str:
    """The regular plural; irregular ones are in the lexicon."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def third_person(base: str) -> str:
    """goes, watches, studies, has."""
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in VOWELS:
        return base[:-1] + "ies"
    return base + "s"


def regular_past(base: str) -> str:
    """walked, danced, studied."""
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in VOWELS:
        return base[:-1] + "ied"
    return base + "ed"


def regular_gerund(base: str) -> str:
    """walking, dancing; doubled consonants are in the lexicon."""
    if base.endswith("e") and not base.endswith(("ee", "ye")):
        return base[:-1] + "ing"
    return base + "ing"


def be(person: int, plural: bool, past: bool = False) -> str:
    """am, is, are, was, were."""
    if past:
        return "was" if not plural and person in (1, 3) else "were"
    return "are" if plural else SUBJECT_BE.get((person, plural), "are")


def verb_group(
    parts: tuple[str, str, str, str], tense: str, person: int, plural: bool, negative: bool
) -> tuple[str, str, str]:
    """The auxiliary, the negation and the main verb of one tense.

    `parts` is (base, past, participle,
        gerund). The auxiliary is empty where English needs none; `question_group` adds it.
    """
    base, past, participle, gerund = parts
    third = person == 3 and not plural
    no = "not" if negative else ""
    if tense == "present":
        if negative:
            return ("does" if third else "do", no, base)
        return "", "", third_person(base) if third else base
    if tense == "past":
        return ("did", no, base) if negative else ("", "", past)
    if tense == "progressive":
        return be(person, plural), no, gerund
    if tense == "past progressive":
        return be(person, plural, past=True), no, gerund
    if tense == "perfect":
        return "has" if third else "have", no, participle
    if tense == "past perfect":
        return "had", no, participle
    if tense == "future":
        return "will", no, base
    if tense == "used to":
        return "", "", f"used to {base}"
    if tense == "can" and negative:
        return "cannot", "", base
    if tense in MODALS:
        return tense, no, base
    raise ValueError(f"no English tense {tense!r}")


def question_group(
    parts: tuple[str, str, str, str], tense: str, person: int, plural: bool, negative: bool
) -> tuple[str, str, str]:
    """As `verb_group`, with the do of questions."""
    auxiliary, no, main = verb_group(parts, tense, person, plural, negative)
    if auxiliary:
        return auxiliary, no, main
    if tense == "present":
        return "does" if person == 3 and not plural else "do", "", parts[0]
    if tense == "past":
        return "did", "", parts[0]
    raise ValueError(f"no English question in tense {tense!r}")


def sentence(words: str, mark: str = ".") -> str:
    """Capital first letter, single spaces, final mark."""
    text = " ".join(words.split())
    return text[0].upper() + text[1:] + mark
