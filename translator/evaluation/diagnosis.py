"""Diagnosis of translations: mistakes that can be counted automatically, and scores of parts of a test set."""

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import and_, or_, sub
from typing import Any, Final, NamedTuple

from translator.config import MetricName
from translator.corpus.number_agreement import numbers_of
from translator.evaluation.metrics import ZWNJ, corpus_score
from translator.evaluation.results import ModelScore, ScoredSet
from translator.run.text import excerpt, is_persian
from translator.search.repetition import circling_words, repeated_words, words_of
from translator.subword.placeholders import is_number, things_to_copy

PART_METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf")
# The largest value of each part, and its name.
_LENGTHS: Final = {5: "1–5 words", 10: "6–10 words", 20: "11–20 words", 40: "21–40 words", math.inf: "over 40 words"}
_RARE_SHARES: Final = {0.0: "none", 0.1: "up to 10%", 0.25: "10–25%", 1.0: "over 25%"}
_RATIO_FROM: Final = 20  # characters of the longer text: the ratio of shorter ones varies too much
_LONGEST_RATIO: Final = 2.0
_LATIN_WORD: Final = re.compile("[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ]{2,}")
_ENGLISH_MARK: Final = re.compile("[,;?]")
_INSIDE: Final = re.compile(r"(?<=\d),(?=\d)|(?<=[A-Za-z]),(?=[A-Za-z])|&\w+;")
"""Marks that belong to a number, a Latin word or an entity."""
_TOKEN: Final = re.compile(rf"[^\W_]+(?:{ZWNJ}[^\W_]+)*+|[^\w\s{ZWNJ}]")  # a word with its half-spaces, or a mark
# One form for each letter that Arabic and Persian encode differently; vowel marks are removed.
_ONE_LETTER: Final[dict[int, int | None]] = {
    **str.maketrans("يىكةۀ٠١٢٣٤٥٦٧٨٩", "ییکهه۰۱۲۳۴۵۶۷۸۹"),
    **dict.fromkeys([*range(0x64B, 0x660), 0x670, 0x640, 0x200D]),
}
_LEAST_MARGIN: Final = 1e-4  # a smaller margin may be rounding between search and teacher forcing
_UNKNOWN: Final = "\u2047"  # decoded form of an unknown piece


class Mark(NamedTuple):
    """Result of a check on one sentence: severity of the mistake (0: none), and a short note."""

    weight: float = 0.0
    note: str = ""


class Part(NamedTuple):
    """Some sentences of a test set, and their scores on raw text."""

    kind: str  # `length`, `rare words` or `source`
    name: str  # for example `6–10 words`
    sentences: int
    scores: Mapping[MetricName, float]


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The mistakes in the translations of one test set, and the scores of its parts."""

    test_set: str
    system: str
    checkpoint: str
    search: str
    left_out: tuple[int, ...]  # lines of the test set, from 1, that are not among the sentences
    marks: tuple[Mapping[str, Mark], ...]  # for each sentence the mistakes in it, by name
    possible: Mapping[str, int]  # for each check, the number of sentences in which the mistake could occur
    parts: tuple[Part, ...]

    def counts(self) -> dict[str, int]:
        """Return the number of sentences with each mistake, including zeros."""
        found = Counter(name for marks in self.marks for name in marks)
        return {name: found[name] for name in self.possible}

    def worst(self, name: str, most: int) -> list[tuple[int, str]]:
        """Return number (from 1) and note of sentences with this mistake, worst first."""
        there = [(-marks[name].weight, number) for number, marks in enumerate(self.marks, start=1) if name in marks]
        return [(number, self.marks[number - 1][name].note) for _, number in heapq.nsmallest(most, there)]

    def to_json(self, examples: int = 5) -> dict[str, Any]:
        """Return the diagnosis as JSON values, with only the worst sentences."""
        findings = []
        for name, count in self.counts().items():
            worst = [{"sentence": number, "note": note} for number, note in self.worst(name, examples)]
            about = {"name": name, "meaning": MEANINGS[name], "count": count, "of": self.possible[name]}
            findings.append({**about, "examples": worst})
        names = {name: getattr(self, name) for name in ("test_set", "system", "checkpoint", "search")}
        counts = {"sentences": len(self.marks), "left_out": list(self.left_out)}
        parts = [part._asdict() for part in self.parts]
        return {**names, **counts, "findings": findings, "parts": parts}


class _Sentence(NamedTuple):
    source: str
    references: tuple[str, ...]
    hypothesis: str
    ours: ModelScore | None = None  # the model's score of the hypothesis
    theirs: ModelScore | None = None  # and of the first reference


Check = Callable[[_Sentence], Mark | None]  # None: the mistake cannot occur or cannot be checked


def diagnose(scored: ScoredSet) -> Diagnosis:
    """Return the mistakes in the translations, and the scores of the parts of the test set."""
    nothing = (None,) * len(scored.sources)
    ours, theirs = scored.hypothesis_scores, scored.reference_scores
    columns = (scored.sources, scored.references, scored.hypotheses, ours or nothing, theirs or nothing)
    sentences = [_Sentence(*row) for row in zip(*columns, strict=True)]
    unknown = {"unfinished", "search_errors"} if not ours else {"search_errors"} if not theirs else set()
    marks: list[dict[str, Mark]] = [{} for _ in sentences]
    possible: dict[str, int] = {}
    for name in (name for name in _CHECKS if name not in unknown):
        seen = [_CHECKS[name][0](one) for one in sentences]
        possible[name] = len(seen) - seen.count(None)
        for of_sentence, mark in zip(marks, seen, strict=True):
            if mark is not None and mark.weight > 0:
                of_sentence[name] = mark
    names = {name: getattr(scored, name) for name in ("test_set", "system", "checkpoint", "search", "left_out")}
    return Diagnosis(**names, marks=tuple(marks), possible=possible, parts=tuple(score_parts(scored)))


def score_parts(scored: ScoredSet) -> list[Part]:
    """Return the non-empty parts of a test set; a kind with a single part is omitted."""

    def named(value: float, limits: Mapping[float, str]) -> str:
        return next(name for limit, name in limits.items() if value <= limit)

    kinds = {
        "length": ([named(len(text.split()), _LENGTHS) for text in scored.sources], _LENGTHS.values()),
        "rare words": ([named(share, _RARE_SHARES) for share in scored.rare_shares], _RARE_SHARES.values()),
        "source": (scored.origins, dict.fromkeys(scored.origins)),
    }
    found = []
    for kind, (part_of, parts) in kinds.items():
        there = set(part_of)
        for part in (part for part in parts if part in there and len(there) > 1):
            rows = [number for number, name in enumerate(part_of) if name == part]
            hypotheses = [scored.hypotheses[row] for row in rows]
            references = [scored.references[row] for row in rows]
            scores = {name: corpus_score(name, hypotheses, references) for name in PART_METRICS}
            found.append(Part(kind, part, len(rows), scores))
    return found


# --- the checks ---


def _listed(counts: Counter[str]) -> str:
    return excerpt(" ".join(f"{one} ×{count}" if count > 1 else one for one, count in counts.items()), 200)


def _empty(one: _Sentence) -> Mark | None:
    if not all(map(words_of, (one.source, *one.references))):
        return None
    return Mark() if words_of(one.hypothesis) else Mark(len(one.source), one.hypothesis.strip() or "nothing")


def _repetition(one: _Sentence) -> Mark | None:
    words = words_of(one.hypothesis)
    repeated = _repeated(one.hypothesis)
    if not repeated:
        return Mark()
    allowed = max(len(_repeated(text)) for text in (one.source, *one.references))
    said = _listed(Counter(words[place] for place in repeated))
    note = f"{len(repeated)} of {len(words)} words repeated: {said}"
    return Mark(max(0, len(repeated) - allowed) / len(words), note)


def _repeated(text: str) -> list[int]:
    words = words_of(text)
    return sorted({*circling_words(words), *repeated_words(words)})


def _length(one: _Sentence, *, long: bool) -> Mark | None:
    """Compare the length with the nearest reference; empty translations have their own check."""
    length = len(one.hypothesis.strip())
    lengths = [len(text) for text in map(str.strip, one.references) if text]
    if not length or not lengths:
        return None
    nearest = min(lengths, key=lambda other: (abs(math.log(length / other)), other))
    ratio = length / nearest if long else nearest / length
    found = max(length, nearest) >= _RATIO_FROM and ratio > _LONGEST_RATIO
    return Mark(ratio, f"{length} characters, the reference {nearest}") if found else Mark()


def _unfinished(one: _Sentence) -> Mark | None:
    assert one.ours is not None
    return Mark() if one.ours.finished else Mark(one.ours.tokens or 1, f"stopped after {one.ours.tokens} tokens")


def _extra_latin(one: _Sentence) -> Counter[str]:
    texts = (one.hypothesis, *one.references)
    return reduce(sub, (Counter(map(str.lower, _LATIN_WORD.findall(text))) for text in texts))


def _is_into_persian(one: _Sentence) -> bool:
    return any(map(is_persian, one.references))


def _latin_words(one: _Sentence) -> Mark | None:
    if not _is_into_persian(one):
        return None
    return Mark((extra := _extra_latin(one)).total(), _listed(extra))


def _copied_source(one: _Sentence) -> Mark | None:
    if not _is_into_persian(one):
        return None
    copied = _extra_latin(one) & Counter(map(str.lower, _LATIN_WORD.findall(one.source)))
    share = copied.total() / max(len(words_of(one.hypothesis)), 1)
    return Mark(share, _listed(copied)) if share >= 0.5 else Mark()


def _numbers(one: _Sentence) -> Mark | None:
    """Find numbers in digits that were lost or invented; ۱۲, ١٢ and 12 are one number."""
    source = Counter(numbers_of(one.source))
    if not source:
        return None
    # References may spell a number in words: it is lost only if all references have it in digits.
    ours = Counter(numbers_of(one.hypothesis))
    references = [Counter(numbers_of(text)) for text in one.references]
    lost = (source & reduce(and_, references)) - ours
    invented = ours - (source | reduce(or_, references))
    note = [f"{name} {_listed(some)}" for name, some in (("lost", lost), ("invented", invented)) if some]
    return Mark(lost.total() + invented.total(), ", ".join(note))


def _copies(one: _Sentence) -> Mark | None:
    texts = (one.source, *one.references, one.hypothesis)
    source, *references, ours = (Counter(t for t in things_to_copy(text) if not is_number(t)) for text in texts)
    lost = reduce(and_, references, source) - ours
    return Mark(lost.total(), _listed(lost)) if source else None


def _half_spaces(one: _Sentence) -> Mark | None:
    """Compare the half-spaces with those of the reference that agrees best."""
    compared = [compare_half_spaces(one.hypothesis, reference) for reference in one.references]
    otherwise, shared = min(compared, key=lambda pair: (len(pair[0]), -pair[1]))
    return Mark(len(otherwise), "، ".join(otherwise)) if shared else None


def compare_half_spaces(hypothesis: str, reference: str) -> tuple[list[str], int]:
    """Return the words that two texts spell with different half-spaces, and how many words they share.

    A word is shared if at least one text spells it with a half-space. Different ones are spelt as in the hypothesis.
    Variants of letters and vowel marks make no difference; punctuation separates words.
    """
    texts = [re.sub(f"{ZWNJ}+", ZWNJ, text.translate(_ONE_LETTER)) for text in (hypothesis, reference)]
    ours, theirs = (f" {' '.join(_TOKEN.findall(text))} " for text in texts)
    shared, otherwise = 0, []
    for word in sorted({word for text in (ours, theirs) for word in text.split() if ZWNJ in word}):
        spellings = (word, word.replace(ZWNJ, " "), word.replace(ZWNJ, ""))
        in_ours, in_theirs = ({one for one in spellings if f" {one} " in text} for text in (ours, theirs))
        if in_ours and in_theirs:
            shared += 1
            otherwise += sorted(in_ours)[:1] if not in_ours & in_theirs else []
    return otherwise, shared


def _english_marks(one: _Sentence) -> Mark | None:
    if not _is_into_persian(one):
        return None
    texts = (_INSIDE.sub(" ", text) for text in (one.hypothesis, *one.references))
    extra = reduce(sub, (Counter(_ENGLISH_MARK.findall(text)) for text in texts))
    return Mark(extra.total(), _listed(extra))


def _search_error(one: _Sentence) -> Mark | None:
    """Check whether the model scores the reference above its own translation (Stahlberg and Byrne 2019 §2).

    Skips sentences translated in segments or cut short, and references that are too long or have unknown pieces.
    """
    ours, theirs = one.ours, one.theirs
    assert ours is not None and theirs is not None
    reference = one.references[0] if theirs.text is None else theirs.text
    comparable = ours.finished and theirs.finished and ours.pieces == theirs.pieces == 1 and _UNKNOWN not in reference
    if not comparable or ours.normalized_score is None or theirs.normalized_score is None:
        return None
    margin = theirs.normalized_score - ours.normalized_score
    # The same text in other tokens is not a search error.
    found = margin > _LEAST_MARGIN and reference != one.hypothesis
    return Mark(margin, f"the reference is better by {margin:.3f}") if found else Mark()


_CHECKS: Final[Mapping[str, tuple[Check, str]]] = {
    "empty": (_empty, "The translation has no word."),
    "repetition": (_repetition, "Words or letters repeat more often than in source and references."),
    "too_short": (partial(_length, long=False), "Less than half as many characters as the nearest reference."),
    "too_long": (partial(_length, long=True), "More than twice as many characters as the nearest reference."),
    "unfinished": (_unfinished, "The search reached its length limit before the end of the sentence."),
    "latin_words": (_latin_words, "Latin words that are in no reference."),
    "copied_source": (_copied_source, "At least half of the words are Latin source words that no reference has."),
    "numbers": (_numbers, "A number that the references have in digits was lost, or one was invented."),
    "copies": (_copies, "A web or e-mail address, handle, file name or emoji of the references was lost."),
    "half_spaces": (_half_spaces, "A word whose half-spaces (ZWNJ) or spaces differ from those in the reference."),
    "english_punctuation": (_english_marks, "English commas, semicolons or question marks that are in no reference."),
    "search_errors": (_search_error, "The model scores the reference above its own translation."),
}
MEANINGS: Final = {name: meaning for name, (_, meaning) in _CHECKS.items()}
