"""Export: a trained model as a folder for other programs."""

from translator.export.package import export_run

__all__ = ["export_run"]
