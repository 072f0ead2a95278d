"""Export: a trained model as a folder that other programs load, and CTranslate2 as an engine of our own translator."""

from translator.export.engine import ENGINES, load_translator
from translator.export.export import export_model_to_ctranslate2, export_model_to_marian, export_run
from translator.export.formats import FORMATS, QUANTIZATIONS
from translator.export.searcher import Ctranslate2Searcher

__all__ = [
    "ENGINES",
    "FORMATS",
    "QUANTIZATIONS",
    "Ctranslate2Searcher",
    "export_model_to_ctranslate2",
    "export_model_to_marian",
    "export_run",
    "load_translator",
]
