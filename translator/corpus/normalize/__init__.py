"""One spelling for what is written in several ways, the same in training and at inference."""

from translator.corpus.normalize.folding import fold
from translator.corpus.normalize.normalizer import NORMALIZER_VERSION, Normalizer

__all__ = ["NORMALIZER_VERSION", "Normalizer", "fold"]
