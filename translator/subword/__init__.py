"""Subword models: SentencePiece with its own `nfkc` rule, trained, loaded, sampled, and used in both directions.

The default rule of SentencePiece, `nmt_nfkc`, turns the Persian half-space (ZWNJ, U+200C) into a space; `nfkc` keeps
it, also inside pieces (`▁می‌کند` can be one piece). `nfkc` leaves Arabic yeh and kaf as they are, and repeated ZWNJ too:
those are the business of the normalizer, which comes before.
"""

from translator.subword.model import SubwordModel
from translator.subword.pair import JOINT_FILE, RECORD_FILE, SOURCE_FILE, TARGET_FILE, SubwordPair
from translator.subword.prepare import prepare_subword
from translator.subword.report import SubwordTable, format_subword_tables, subword_tables
from translator.subword.training import uses_byte_fallback

__all__ = [
    "JOINT_FILE",
    "RECORD_FILE",
    "SOURCE_FILE",
    "TARGET_FILE",
    "SubwordModel",
    "SubwordPair",
    "SubwordTable",
    "format_subword_tables",
    "prepare_subword",
    "subword_tables",
    "uses_byte_fallback",
]
