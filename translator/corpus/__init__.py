"""Corpus preparation: read the sources in place, normalize, filter and split them without leaks between splits."""

from translator.corpus.normalizer import NORMALIZER_VERSION, Normalizer, fold
from translator.corpus.prepare import PreparedCorpus, prepare_corpus
from translator.corpus.report import format_report
from translator.corpus.sources import read_pairs

__all__ = ["NORMALIZER_VERSION", "Normalizer", "PreparedCorpus", "fold", "format_report", "prepare_corpus"]
__all__ += ["read_pairs"]
