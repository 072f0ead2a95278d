"""The rules that drop a pair on its own merits, one after another."""

from translator.config import FilterConfig
from translator.corpus.filters import rules
from translator.corpus.filters.arabic import arabic
from translator.corpus.filters.lengths import length_ratio, too_many_characters, too_many_words, word_ratio
from translator.corpus.filters.markup import markup
from translator.corpus.filters.missing import empty, replacement_character
from translator.corpus.filters.numbers import numbers
from translator.corpus.filters.repetition import repetition
from translator.corpus.filters.script import source_script, target_script
from translator.corpus.filters.sides import Check, Sides
from translator.corpus.filters.untranslated import untranslated


class PairFilter:
    """The filters that a configuration switches on, but for those that need to know the other pairs."""

    def __init__(self, config: FilterConfig) -> None:
        """Choose the checks; each says whether a pair of normalized texts must go."""
        checks: dict[str, Check] = {rules.EMPTY: empty}
        if config.replacement_character:
            checks[rules.REPLACEMENT_CHARACTER] = replacement_character
        if config.max_words is not None:
            checks[rules.TOO_MANY_WORDS] = too_many_words(config.max_words)
        if config.max_characters is not None:
            checks[rules.TOO_MANY_CHARACTERS] = too_many_characters(config.max_characters)
        if config.max_length_ratio is not None:
            checks[rules.LENGTH_RATIO] = length_ratio(config.max_length_ratio)
        if config.max_word_ratio is not None:
            checks[rules.WORD_RATIO] = word_ratio(config.max_word_ratio)
        if config.min_source_script is not None:
            checks[rules.SOURCE_SCRIPT] = source_script(config.min_source_script)
        if config.min_target_script is not None:
            checks[rules.TARGET_SCRIPT] = target_script(config.min_target_script)
        if config.max_arabic is not None:
            checks[rules.ARABIC] = arabic(config.max_arabic)
        if config.max_untranslated is not None:
            checks[rules.UNTRANSLATED] = untranslated(config.max_untranslated)
        if config.min_number_agreement is not None:
            checks[rules.NUMBERS] = numbers(config.min_number_agreement)
        if config.max_markup is not None:
            checks[rules.MARKUP] = markup(config.max_markup)
        if config.max_repetition is not None:
            checks[rules.REPETITION] = repetition(config.max_repetition)
        self._checks = tuple(checks.items())

    def broken_rule(self, source: str, target: str) -> str | None:
        """Return the name of the first rule that a pair of normalized texts breaks, or None if it is good."""
        sides = Sides.of(source, target)
        for name, breaks in self._checks:
            if breaks(sides):
                return name
        return None
