"""Export: a trained model as a folder that other programs load."""

from translator.export.package import export_run

__all__ = ["export_run"]
