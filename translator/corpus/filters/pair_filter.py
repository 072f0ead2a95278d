"""Rules that drop a pair on its own merits, each with a name under which it is counted."""

import re
from collections.abc import Callable
from typing import Final

from translator.config import FilterConfig

RATIO_FROM: Final = 20
"""Characters of the longer side from which the length ratio is looked at: short sentences vary too much."""

EMPTY: Final = "empty"
DUPLICATE: Final = "duplicate"
FILTER_RULES: Final = (
    EMPTY,
    "too_many_words",
    "too_many_characters",
    "length_ratio",
    "source_script",
    "target_script",
    DUPLICATE,
)
"""All names, in the order in which the rules are applied; a pair is counted under the first that it breaks."""

_LATIN: Final = "A-Za-zªºÀ-ÖØ-öø-ɏḀ-ỿ"
_ARABIC: Final = "\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_LETTER: Final = re.compile(r"[^\W\d_]")
_NOT_LATIN: Final = re.compile(rf"[^\W\d_{_LATIN}]")
_NOT_ARABIC: Final = re.compile(rf"[^\W\d_{_ARABIC}]")

Check = Callable[[str, str], bool]


class PairFilter:
    """The filters that a configuration switches on, but for duplicates, which need the whole corpus."""

    def __init__(self, config: FilterConfig) -> None:
        """Choose the checks; each says whether a pair of normalized texts must go."""
        checks: list[tuple[str, Check]] = [(EMPTY, _empty)]
        if config.max_words:
            checks.append(("too_many_words", _too_many_words(config.max_words)))
        if config.max_characters:
            checks.append(("too_many_characters", _too_many_characters(config.max_characters)))
        if config.max_length_ratio:
            checks.append(("length_ratio", _length_ratio(config.max_length_ratio)))
        if config.min_source_script:
            checks.append(("source_script", _source_script(config.min_source_script)))
        if config.min_target_script:
            checks.append(("target_script", _target_script(config.min_target_script)))
        self._checks = tuple(checks)

    def broken_rule(self, source: str, target: str) -> str | None:
        """Return the name of the first rule that a pair of normalized texts breaks, or None if it is good."""
        for name, check in self._checks:
            if check(source, target):
                return name
        return None


def _empty(source: str, target: str) -> bool:
    return not source or not target or source.isspace() or target.isspace()


def _too_many_words(limit: int) -> Check:
    def check(source: str, target: str) -> bool:
        # Counting spaces is quicker than splitting, and settles all but the longest texts.
        return (source.count(" ") >= limit and len(source.split()) > limit) or (
            target.count(" ") >= limit and len(target.split()) > limit
        )

    return check


def _too_many_characters(limit: int) -> Check:
    return lambda source, target: len(source) > limit or len(target) > limit


def _length_ratio(limit: float) -> Check:
    def check(source: str, target: str) -> bool:
        length, other = len(source), len(target)
        shorter, longer = (length, other) if length < other else (other, length)
        return longer >= RATIO_FROM and longer > limit * shorter

    return check


def _source_script(share: float) -> Check:
    # All letters of an ASCII text are Latin, which settles nearly every English line.
    return lambda source, target: not source.isascii() and _script_share(source, _NOT_LATIN) < share


def _target_script(share: float) -> Check:
    return lambda source, target: _script_share(target, _NOT_ARABIC) < share


def _script_share(text: str, foreign: re.Pattern[str]) -> float:
    """Return the share of letters that are not `foreign`; 1 for a text without letters, such as a number."""
    if foreign.search(text) is None:
        return 1.0
    return 1.0 - len(foreign.findall(text)) / len(_LETTER.findall(text))
