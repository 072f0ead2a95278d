"""Repeated words: a translation that repeats itself (Holtzman et al. 2020 §3)."""

from collections import Counter

from translator.evaluation.mistakes.sentence import NO_MISTAKE, Mistake, Sentence, list_counts
from translator.search.loop_detection import circling_words, repeated_words, words_of


def check_repetition(sentence: Sentence) -> Mistake | None:
    """Find words that repeat themselves, or their letters, more often than in source and references."""
    words = words_of(sentence.hypothesis)
    repeated = _repeated_places(sentence.hypothesis)
    if not repeated:
        return NO_MISTAKE
    allowed_count = max(len(_repeated_places(text)) for text in (sentence.source, *sentence.references))
    surplus_count = max(0, len(repeated) - allowed_count)
    word_list = list_counts(Counter(words[place] for place in repeated))
    return Mistake(
        severity=surplus_count / len(words),
        note=f"{len(repeated)} of {len(words)} words repeated: {word_list}",
    )


def _repeated_places(text: str) -> list[int]:
    """Return the places, from 0, of the words of `text` that repeat earlier ones or their own letters."""
    words = words_of(text)
    return sorted({*circling_words(words), *repeated_words(words)})
