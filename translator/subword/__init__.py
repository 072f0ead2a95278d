"""Subword models: training and loading of SentencePiece models, one per language or joint."""

from translator.subword.model import JOINT_FILE, SOURCE_FILE, TARGET_FILE, SubwordModel, SubwordPair
from translator.subword.preparation import prepare_subword

__all__ = [
    "JOINT_FILE",
    "SOURCE_FILE",
    "TARGET_FILE",
    "SubwordModel",
    "SubwordPair",
    "prepare_subword",
]
