"""A small part of English and Persian, which a small model learns in seconds.

Every sentence is one of few forms with few words in it, so that a test can say which translation is right.
"""

import random
from itertools import product

from sacrebleu.metrics.bleu import BLEU

NOUNS = {
    "book": "کتاب",
    "door": "در",
    "house": "خانه",
    "garden": "باغ",
    "letter": "نامه",
    "window": "پنجره",
    "table": "میز",
    "road": "جاده",
    "car": "ماشین",
    "tree": "درخت",
}
ADJECTIVES = {
    "old": "قدیمی",
    "new": "تازه",
    "big": "بزرگ",
    "small": "کوچک",
    "red": "سرخ",
    "white": "سفید",
    "clean": "تمیز",
    "beautiful": "زیبا",
}
PLACES = {"in the room": "در اتاق", "at home": "در خانه", "in the city": "در شهر"}


def statement(noun: str, adjective: str) -> tuple[str, str]:
    """Return "The book is old." with its translation."""
    return f"The {noun} is {adjective}.", f"{NOUNS[noun]} {ADJECTIVES[adjective]} است."


def question(noun: str, adjective: str) -> tuple[str, str]:
    """Return "Is the book old?" with its translation."""
    return f"Is the {noun} {adjective}?", f"آیا {NOUNS[noun]} {ADJECTIVES[adjective]} است؟"


def seen(noun: str, adjective: str) -> tuple[str, str]:
    """Return "I see the old book." with its translation."""
    return f"I see the {adjective} {noun}.", f"{NOUNS[noun]} {ADJECTIVES[adjective]} را می‌بینم."


def counted(noun: str, number: int, place: str) -> tuple[str, str]:
    """Return "There are 12 books in the room." with its translation."""
    return f"There are {number} {noun}s {place}.", f"{PLACES[place]} {persian(number)} {NOUNS[noun]} هست."


def persian(number: int | str) -> str:
    """Return a number, or a text with numbers, in Persian digits."""
    return str(number).translate(str.maketrans("0123456789", "۰۱۲۳۴۵۶۷۸۹"))


def all_pairs() -> list[tuple[str, str]]:
    """Return every pair of the language, in an order that is always the same and looks random."""
    draw = random.Random(1)
    pairs: list[tuple[str, str]] = []
    for noun, adjective in product(NOUNS, ADJECTIVES):
        pairs += [statement(noun, adjective), question(noun, adjective), seen(noun, adjective)]
    for noun, place in product(NOUNS, PLACES):
        for _ in range(6):
            pairs.append(counted(noun, draw.randint(2, 9999), place))
    pairs = list(dict.fromkeys(pairs))
    draw.shuffle(pairs)
    return pairs


def nearest_to(reference: str, translations: list[str]) -> str:
    """Return the first of the translations with the largest BLEU."""
    bleu = BLEU(effective_order=True)
    scores = [bleu.sentence_score(text, [reference]).score for text in translations]
    return translations[scores.index(max(scores))]
