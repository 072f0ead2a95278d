"""Search errors: the model scores the reference above its own translation (Stahlberg and Byrne 2019 §2)."""

from typing import Final

from translator.evaluation.mistakes.sentence import NO_MISTAKE, Mistake, Sentence

_MIN_MARGIN: Final = 1e-4  # a smaller margin may be rounding between search and teacher forcing
_UNKNOWN: Final = "\u2047"  # decoded form of an unknown piece


def check_search_error(sentence: Sentence) -> Mistake | None:
    """Check whether the model scores the reference above its own translation.

    Skips sentences translated in segments or cut short, and references that are too long or have unknown pieces.
    """
    hypothesis_score = sentence.hypothesis_score
    reference_score = sentence.reference_score
    assert hypothesis_score is not None and reference_score is not None

    # 1. Skip scores that cannot be compared.
    is_finished = hypothesis_score.finished and reference_score.finished
    is_single_segment = hypothesis_score.pieces == reference_score.pieces == 1
    reference = sentence.references[0] if reference_score.text is None else reference_score.text
    if not is_finished or not is_single_segment or _UNKNOWN in reference:
        return None
    if hypothesis_score.normalized_score is None or reference_score.normalized_score is None:
        return None

    # 2. Compare. The same text in other tokens is not a search error.
    margin = reference_score.normalized_score - hypothesis_score.normalized_score
    if margin <= _MIN_MARGIN or reference == sentence.hypothesis:
        return NO_MISTAKE
    return Mistake(severity=margin, note=f"the reference is better by {margin:.3f}")
