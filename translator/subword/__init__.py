"""Subword models: SentencePiece, trained, loaded and sampled, one for each language or joint."""

from translator.subword.model import (
    JOINT_FILE,
    RECORD_FILE,
    SOURCE_FILE,
    TARGET_FILE,
    SubwordModel,
    SubwordPair,
    prepare_subword,
)
from translator.subword.training import uses_byte_fallback

__all__ = ["JOINT_FILE", "RECORD_FILE", "SOURCE_FILE", "TARGET_FILE", "SubwordModel", "SubwordPair"]
__all__ += ["prepare_subword", "uses_byte_fallback"]
