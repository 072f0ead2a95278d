"""From text to text with a trained model: the translator, its engines, and what they tell of a translation."""

from translator.inference.attention import Alignment, AttentionMap
from translator.inference.batches import SOURCE_POSITIONS_AT_ONCE
from translator.inference.searcher import AttentiveSearcher, Searcher
from translator.inference.torch_searcher import TorchSearcher
from translator.inference.translation import Translation
from translator.inference.translator import Translator

__all__ = [
    "SOURCE_POSITIONS_AT_ONCE",
    "Alignment",
    "AttentionMap",
    "AttentiveSearcher",
    "Searcher",
    "TorchSearcher",
    "Translation",
    "Translator",
]
