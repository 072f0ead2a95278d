"""Subword models: training, loading and sampling of SentencePiece models, one per language or joint."""

from translator.subword.model import (
    JOINT_FILE,
    RECORD_FILE,
    SOURCE_FILE,
    TARGET_FILE,
    SubwordModel,
    SubwordPair,
    prepare_subword,
)
from translator.subword.training import VocabularySizeError, uses_byte_fallback

__all__ = ["JOINT_FILE", "RECORD_FILE", "SOURCE_FILE", "TARGET_FILE", "SubwordModel", "SubwordPair"]
__all__ += ["VocabularySizeError", "prepare_subword", "uses_byte_fallback"]
