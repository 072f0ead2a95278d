"""Export: a trained model as a folder that other programs load, and CTranslate2 as an engine of our own translator."""

from translator.export.engine import load_translator
from translator.export.package import export_run

__all__ = ["export_run", "load_translator"]
