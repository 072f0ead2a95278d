"""Raw text to cleaned, split text: sources are read in place, normalized, filtered, split, and kept free of leaks."""

from translator.corpus.normalize import NORMALIZER_VERSION, Normalizer, fold
from translator.corpus.prepare import PreparedCorpus, Side, corpus_fingerprint, prepare_corpus
from translator.corpus.report import CorpusReport, SourceReport, format_report
from translator.corpus.sources import Pair, read_pairs, source_files
from translator.corpus.split import SPLITS, Split

__all__ = [
    "NORMALIZER_VERSION",
    "SPLITS",
    "CorpusReport",
    "Normalizer",
    "Pair",
    "PreparedCorpus",
    "Side",
    "SourceReport",
    "Split",
    "corpus_fingerprint",
    "fold",
    "format_report",
    "prepare_corpus",
    "read_pairs",
    "source_files",
]
