"""Pairs that were seen before: exactly, nearly, or on one side alone."""

from translator.corpus.duplicates.caps import beyond_cap
from translator.corpus.duplicates.keys import (
    KEY_BYTES,
    LEAK_RULES,
    NEAR_HELD_OUT,
    SIDE_LEAK_RULES,
    Keys,
    Mask,
    PairKeys,
    first_occurrences,
    folded_key,
    join_keys,
    keys_from_bytes,
    leaks,
    mix,
    text_key,
    whole_pairs,
)
from translator.corpus.duplicates.minhash import BANDS, signatures
from translator.corpus.duplicates.near import near_duplicates
from translator.corpus.duplicates.shelf import Shelf, SignedTexts

__all__ = [
    "BANDS",
    "KEY_BYTES",
    "LEAK_RULES",
    "NEAR_HELD_OUT",
    "SIDE_LEAK_RULES",
    "Keys",
    "Mask",
    "PairKeys",
    "Shelf",
    "SignedTexts",
    "beyond_cap",
    "first_occurrences",
    "folded_key",
    "join_keys",
    "keys_from_bytes",
    "leaks",
    "mix",
    "near_duplicates",
    "signatures",
    "text_key",
    "whole_pairs",
]
