"""Fetching public corpora, only when a person asks for one by name."""

from translator.corpus.download.datasets import DATASETS, dataset_table, recipe_snippet
from translator.corpus.download.download import download_dataset

__all__ = ["DATASETS", "dataset_table", "download_dataset", "recipe_snippet"]
