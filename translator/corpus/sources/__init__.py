"""Reading parallel corpora in place."""

from translator.corpus.sources.pairs import Pair
from translator.corpus.sources.reading import read_pairs, source_files

__all__ = ["Pair", "read_pairs", "source_files"]
