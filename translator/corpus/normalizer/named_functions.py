"""The functions that the rules of the normalizer name, for the few algorithms that are not replacements by a pattern.

A trained model names these functions in its `normalizer.json`. So what a name stands for never changes. A function that
shall give anything else for any text gets a new name, such as `join_quotes-2`; the old one stays, for the models that
were trained with it.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from translator.corpus.normalizer.mojibake import SUSPECT, repair_decoding
from translator.corpus.normalizer.punctuation import decode_entities, single_spaces
from translator.corpus.normalizer.quotation_marks import (
    join_apostrophes,
    join_quotes,
    pair_guillemets,
    restore_broken_quotes,
)

FUNCTIONS: Final[Mapping[str, Callable[[str], str]]] = {
    "repair_decoding-1": repair_decoding,
    "decode_entities-1": decode_entities,
    "single_spaces-1": single_spaces,
    "join_quotes-1": join_quotes,
    "join_apostrophes-1": join_apostrophes,
    "restore_broken_quotes-1": restore_broken_quotes,
    "pair_guillemets-1": pair_guillemets,
}


class Effect(NamedTuple):
    """What a function of the normalizer can do to a text."""

    needs: str  # a class of characters; a text without any of them stays unchanged
    adds: str  # characters that the text may have afterwards, and did not have


EFFECTS: Final[Mapping[str, Effect]] = {
    "repair_decoding-1": Effect(needs=f"[{SUSPECT}]", adds=""),  # of a repaired text nothing is assumed
    "decode_entities-1": Effect(needs="[&]", adds=""),  # likewise
    "join_quotes-1": Effect(needs='["]', adds=""),
    "join_apostrophes-1": Effect(needs="[']", adds=""),
    "restore_broken_quotes-1": Effect(needs="[;]", adds='"'),
    "pair_guillemets-1": Effect(needs='["]', adds="«»"),
}
"""What is known of the functions; one that is missing here is always called."""
