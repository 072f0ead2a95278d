"""Rule of the normalizer for English endings that a tokenizer split off. In examples, ␣ is a space."""

from typing import Final

from translator.corpus.normalizer.normalizer_rules import Rewriting, Row

# A space before an ending, in the four ways in which endings are split off.
_SPACE_IN_CONTRACTION: Final = (
    r" (?:(?=['sStTdDmMlLrRvVnN])(?:"
    r"(?<=[\w)\]] )(?='(?i:s|d|m|ll|re|ve)(?![\w'’]))"  # it␣'s
    r"|(?<=[A-Za-z] )(?=(?i:n't)(?!\w))"  # ca␣n't
    r"|(?<=[nN] )(?='[tT](?![\w'’]))"  # don␣'t
    r"|(?<=[A-Za-z]' )(?=(?i:s|t|d|m|ll|re|ve)(?![\w'’]))"  # ship'␣s
    r"))"
)
_SPACE_IN_TIS: Final = r"('[tT]) (?<=(?<![\w'’])'. )(?=(?i:is|was|will|were)(?!\w))"
_SPACE_IN_GONNA: Final = r"(?i) (?<=(?<![\w'’])(?:gon|wan) )(?=na(?![\w'’]))| (?<=(?<![\w'’])got )(?=ta(?![\w'’]))"

JOIN_CONTRACTIONS: Final = Rewriting(
    rows=(
        Row(contains="'", pattern=_SPACE_IN_CONTRACTION, replacement=""),  # it␣'s → it's, don␣'t → don't
        Row(contains="'", pattern=_SPACE_IN_TIS, replacement=r"\1"),  # 't␣is → 'tis
        *(Row(contains=part, pattern=_SPACE_IN_GONNA, replacement="") for part in ("n na", "t ta")),  # gon␣na → gonna
    )
)
