"""The normalizer: one spelling for what can be spelt in several ways, in training and at inference.

`CURRENT_RULES` has all rules in the order in which they apply, as data: tables of characters, rows with a pattern and a
replacement, and names of functions. A model keeps the rules of its training text in its `normalizer.json`, so a change
here affects only models that are trained from then on.

To add a rule, write its rows or its table in the file of its subject, a line in `CURRENT_RULES` and a key in
`NormalizationConfig`. For speed, most patterns begin with a plain space or one small class of characters.
"""

import re
from collections.abc import Sequence
from typing import Final

from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.normalizer import characters
from translator.corpus.normalizer.characters import CharacterTable, replacing
from translator.corpus.normalizer.contractions import JOIN_CONTRACTIONS
from translator.corpus.normalizer.digits import CONVERT_DIGITS
from translator.corpus.normalizer.mojibake import SUSPECT
from translator.corpus.normalizer.needed_steps import NeededSteps
from translator.corpus.normalizer.normalizer_rules import Change, Language, NormalizerRules, Rule, Work
from translator.corpus.normalizer.orthography import COMPOSE_HAMZA, TIDY_ZWNJ, UNIFY_ORTHOGRAPHY
from translator.corpus.normalizer.punctuation import JOIN_ENGLISH_SIGNS, JOIN_PUNCTUATION, UNESCAPE, UNIFY_DASHES
from translator.corpus.normalizer.quotation_marks import CORRECT_MARKS, ENGLISH_QUOTES, PERSIAN_QUOTES
from translator.corpus.normalizer.rewriting import CompiledStep, compile_step

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
        Rule(key="teh_marbuta", persian=Work(characters=characters.TEH_MARBUTA)),
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

_MOST_PASSES: Final = 10


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


def _chain(rules: NormalizerRules, config: NormalizationConfig, language: Language) -> Change:
    """Return the function that applies the rules of `config` to a text of `language` until nothing changes."""
    # 1. The steps in their order: repairs of the decoding, all tables as one, steps on the text.
    works: list[Work] = []
    for rule in rules.rules:
        if getattr(config, rule.key, None) == rule.value:
            works.append(rule.english if language == "english" else rule.persian)
    repairs = [compile_step(work.decoding) for work in works if work.decoding is not None]
    table = CharacterTable(*(replacing(work.characters) for work in works if work.characters is not None))
    text_steps: list[CompiledStep] = []
    for work in works:
        text_steps += map(compile_step, work.text)
    all_steps = [step.change for step in repairs] + [table] + [step.change for step in text_steps]

    # 2. Most texts need few of them.
    needed_repairs = NeededSteps(repairs, table)
    needed_steps = NeededSteps(text_steps, table)

    def normalize_once(text: str) -> str:
        codes = table.encode(text)
        if codes is None or needed_repairs.of(codes):
            steps: Sequence[Change] = all_steps
        else:
            new_codes = table.replace(codes)
            if new_codes != codes:
                text = table.decode(new_codes)
            steps = needed_steps.of(new_codes)
        for step in steps:
            text = step(text)
        return text

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
    steps: list[Change] = []
    for rule in rules.rules:
        if rule.key == "orthography":
            steps += [compile_step(step).change for step in rule.persian.text]

    def unify(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return unify
