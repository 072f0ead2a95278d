"""The normalizer: one spelling for what can be spelt in several ways, in training and at inference.

`CURRENT_RULES` has all rules in the order in which they apply, as data: tables of characters, rows with a pattern and a
replacement, and names of functions. A model keeps the rules of its training text in its `normalizer.json`, so a change
here affects only models that are trained from then on.

To add a rule, write its rows or its table in the file of its subject, and a line in `CURRENT_RULES`. For speed, most
patterns begin with a plain space or one small class of characters, and `contains` has the sign that a row looks for.
"""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Final

from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.normalizer import characters
from translator.corpus.normalizer.mojibake import SUSPECT
from translator.corpus.normalizer.orthography import COMPOSE_HAMZA, CONVERT_DIGITS, TIDY_ZWNJ, UNIFY_ORTHOGRAPHY
from translator.corpus.normalizer.punctuation import (
    JOIN_CONTRACTIONS,
    JOIN_ENGLISH_SIGNS,
    JOIN_PUNCTUATION,
    UNESCAPE,
    UNIFY_DASHES,
)
from translator.corpus.normalizer.quotation_marks import CORRECT_MARKS, ENGLISH_QUOTES, PERSIAN_QUOTES
from translator.corpus.normalizer.rules import (
    FUNCTIONS,
    SIGNS_OF_FUNCTIONS,
    Change,
    Language,
    NormalizerRules,
    Row,
    Rule,
    Step,
    Work,
)

NORMALIZER_VERSION: Final = 3  # names the rules in the labels of scores; raised whenever the output changes

_REPAIR: Final = Work(decoding="repair_decoding-1")
_SPACES: Final = Work(characters=characters.PLAIN_SPACES, text=("single_spaces-1",))
_DASHES: Final = Work(characters=characters.DASHES, text=(UNIFY_DASHES,))
_ZWNJ: Final = Work(text=(TIDY_ZWNJ,))

CURRENT_RULES: Final = NormalizerRules(
    version=NORMALIZER_VERSION,
    rules=(
        Rule(key="mojibake", english=_REPAIR, persian=_REPAIR),
        Rule(key="presentation_forms", persian=Work(characters=characters.PRESENTATION_FORMS)),
        Rule(key="arabic_letters", persian=Work(characters=characters.ARABIC_LETTERS)),
        Rule(key="tatweel", persian=Work(characters=characters.NO_TATWEEL)),
        Rule(key="vowel_marks", value="strip", persian=Work(characters=characters.NO_VOWEL_MARKS)),
        Rule(
            key="zero_width",
            english=Work(characters=characters.NO_ZERO_WIDTH),
            persian=Work(characters=characters.PERSIAN_ZERO_WIDTH),
        ),
        Rule(key="zwnj", english=_ZWNJ, persian=_ZWNJ),
        Rule(key="hamza", persian=Work(text=(COMPOSE_HAMZA,))),
        Rule(key="digits", value="persian", persian=Work(text=(CONVERT_DIGITS,))),
        Rule(key="digits", value="ascii", persian=Work(characters=characters.ASCII_DIGITS)),
        Rule(key="spaces", english=_SPACES, persian=_SPACES),
        Rule(
            key="punctuation_spacing",
            english=Work(
                decoding="decode_entities-1",
                text=(UNESCAPE, CORRECT_MARKS, *JOIN_PUNCTUATION, JOIN_ENGLISH_SIGNS, "join_apostrophes-1"),
            ),
            persian=Work(decoding="decode_entities-1", text=(UNESCAPE, *JOIN_PUNCTUATION)),
        ),
        Rule(key="contractions", english=Work(text=(JOIN_CONTRACTIONS,))),
        Rule(
            key="quotes",
            english=Work(characters=characters.ENGLISH_APOSTROPHES, text=ENGLISH_QUOTES),
            persian=Work(characters=characters.PERSIAN_APOSTROPHES, text=PERSIAN_QUOTES),
        ),
        Rule(key="dashes", english=_DASHES, persian=_DASHES),
        Rule(key="orthography", persian=Work(text=(UNIFY_ORTHOGRAPHY,))),
    ),
    # Signs whose replacement may need an earlier rule, or the same rule again.
    again={
        "english": f"[«»\"'`&@“”„‟″–‘’‚‛′´‹›{SUSPECT}]|--",
        "persian": f'["&@“”„‟–´‘’‚‛′‹›{SUSPECT}]|--',
    },
)
"""All rules in order; `digits` has one rule per setting."""

CHOSEN: Final = ("digits", "orthography", "mojibake")
"""The keys of rules that a configuration chooses one by one; the others belong to `rules: standard`."""
_MOST_PASSES: Final = 10
_SCRIPTS: Final = range(0x700)  # code points of the Latin and Arabic scripts, and of others between them
_REMEMBERED_CHOICES: Final = 4096

StepWithSigns = tuple[Change, frozenset[str] | None]
"""A step on the text, and signs of which every text that it changes has at least one; None: it may change any text."""


class Normalizer:
    """Applies the rules that a configuration enables, for each side. Normalization is idempotent.

    >>> Normalizer(NormalizationConfig()).target("كتاب  خوبي است .")
    'کتاب خوبی است.'
    """

    def __init__(
        self,
        config: NormalizationConfig,
        languages: Languages = (ENGLISH, PERSIAN),
        rules: NormalizerRules | None = None,
    ) -> None:
        """Create `source` and `target`, the functions that normalize a text of each language.

        Args:
            config: chooses among the rules.
            languages: (source, target).
            rules: those of a trained model (see `rules_of_run`); None: the current ones.
        """
        self.config = config
        self.languages = languages
        self.rules = rules if rules is not None else CURRENT_RULES
        english, persian = _chain(self.rules, config, "english"), _chain(self.rules, config, "persian")
        self.source, self.target = (english, persian) if languages[0] == ENGLISH else (persian, english)
        self.unify_orthography = _orthography(self.rules)
        """Applies the rule `orthography` alone, for translations into Persian, whatever the configuration says."""


def _applies(rule: Rule, config: NormalizationConfig) -> bool:
    if rule.key in CHOSEN:
        return bool(getattr(config, rule.key) == rule.value)
    return config.rules == "standard"


def _chain(rules: NormalizerRules, config: NormalizationConfig, language: Language) -> Change:
    """Return the function that applies the rules of `config` to a text of `language` until nothing changes."""
    works = [getattr(rule, language) for rule in rules.rules if _applies(rule, config)]

    # The steps in their order: repairs of the decoding, all tables of characters as one, steps on the text.
    steps = [_with_signs(work.decoding) for work in works if work.decoding is not None]
    steps.append(_character_replacer([work.characters for work in works if work.characters is not None]))
    for work in works:
        steps += map(_with_signs, work.text)

    normalize_once = _in_turn(steps)
    needs_another_pass = re.compile(rules.again[language]).search

    def normalize(text: str) -> str:
        normal = normalize_once(text)  # one pass suffices for nearly all lines
        if normal == text or needs_another_pass(text) is None:
            return normal
        for _ in range(_MOST_PASSES):
            before, normal = normal, normalize_once(normal)
            if normal == before:
                break
        return normal

    return normalize


def _orthography(rules: NormalizerRules) -> Change:
    """Return the function that applies the rule `orthography`, once."""
    steps: list[StepWithSigns] = []
    for rule in rules.rules:
        if rule.key == "orthography":
            steps += map(_with_signs, rule.persian.text)

    return _in_turn(steps)


# --- the steps ---


def _in_turn(steps: Sequence[StepWithSigns]) -> Change:
    """Return the function that applies `steps`, one after the other.

    Most lines have few signs besides letters, digits and spaces, and nearly every step looks for others. So the signs
    of a text, which one search finds, choose the steps, and those that cannot change it are left out.
    """
    sought = frozenset[str]().union(*(signs for _, signs in steps if signs is not None))
    # A search for all but the plain characters is fast; it also finds signs that no step looks for.
    plain = "".join(character for character in map(chr, _SCRIPTS) if character not in sought)
    signs_in = re.compile(f"[^{re.escape(plain)}]").findall

    @functools.lru_cache(_REMEMBERED_CHOICES)
    def needed(text_signs: frozenset[str], done: int) -> list[tuple[int, Change]]:
        """Return the steps, after the first `done`, that may change a text with these signs, and their numbers."""
        chosen = []
        for number, (change, signs) in enumerate(steps[done:], start=done + 1):
            if signs is None or not signs.isdisjoint(text_signs):
                chosen.append((number, change))
        return chosen

    def apply(text: str) -> str:
        done = 0
        while True:
            for number, change in needed(sought.intersection(signs_in(text)), done):
                changed = change(text)
                if changed != text:  # its signs may be others, so choose again among the steps that follow
                    text, done = changed, number
                    break
            else:
                return text

    return apply


def _with_signs(step: Step) -> StepWithSigns:
    """Return the function of a step, and its signs; raise re.error if a pattern or a template is invalid."""
    change = compile_step(step)
    if isinstance(step, str):
        return change, SIGNS_OF_FUNCTIONS.get(step)
    # Every match of a row has all of `contains`; a sign in it is rarer than a letter or a space.
    signs: set[str] = set()
    for row in step.rows:
        sign = next((part for part in row.contains if not part.isalnum() and part != " "), None)
        if sign is None:
            return change, None
        signs.add(sign)
    return change, frozenset(signs)


def _character_replacer(tables: Sequence[dict[str, str]]) -> StepWithSigns:
    """Return the step that replaces each character of a text by all `tables`, one after the other."""
    replacements = {}
    codes_of_tables = [str.maketrans(table) for table in tables]
    for character in {character for table in tables for character in table}:
        replacement = character
        for table_codes in codes_of_tables:  # an earlier table may give several characters, or none
            replacement = replacement.translate(table_codes)
        replacements[character] = replacement
    codes = str.maketrans(replacements)
    return lambda text: text.translate(codes), frozenset(replacements)


def compile_step(step: Step) -> Change:
    """Return the function of a step; raise re.error if a pattern or a template is invalid."""
    if isinstance(step, str):  # the name of a function
        return FUNCTIONS[step]
    rows = [(row.contains, re.compile(row.pattern).sub, _replacement(row)) for row in step.rows]

    def rewrite(text: str) -> str:
        for part, substitute, replacement in rows:
            if part in text:
                text = substitute(replacement, text)
        return text

    # A step with a condition leaves most texts alone by one search.
    if step.only_if is None:
        return rewrite
    has_match = re.compile(step.only_if).search
    return lambda text: text if has_match(text) is None else rewrite(text)


def _replacement(row: Row) -> str | Callable[[re.Match[str]], str]:
    """Return the replacement of a row as `re.sub` takes it."""
    exception = None if row.unless is None else re.compile(row.unless)
    if isinstance(row.replacement, str):
        template = row.replacement
        if exception is None:
            return template
        return lambda match: match[0] if exception.search(match[0]) else match.expand(template)
    table = str.maketrans(row.replacement)
    return lambda match: match[0] if exception and exception.search(match[0]) else match[0].translate(table)
