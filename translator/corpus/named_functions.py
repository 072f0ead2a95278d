"""The functions that the rules of the normalizer name, for the few algorithms that are not replacements by a pattern.

A trained model names these functions in its `normalizer.json`. So what a name stands for never changes. A function that
shall give anything else for any text gets a new name, such as `join_quotes-2`; the old one stays, for the models that
were trained with it.
"""

from collections.abc import Callable, Mapping
from typing import Final

from translator.corpus.mojibake import repair_decoding
from translator.corpus.punctuation import single_spaces
from translator.corpus.quotation_marks import (
    join_apostrophes,
    join_quotes,
    pair_guillemets,
    restore_broken_quotes,
)

FUNCTIONS: Final[Mapping[str, Callable[[str], str]]] = {
    "repair_decoding-1": repair_decoding,
    "single_spaces-1": single_spaces,
    "join_quotes-1": join_quotes,
    "join_apostrophes-1": join_apostrophes,
    "restore_broken_quotes-1": restore_broken_quotes,
    "pair_guillemets-1": pair_guillemets,
}
