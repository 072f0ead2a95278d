"""Reading parallel corpora in place."""

from translator.corpus.sources.reading import Pair, read_pairs, source_files

__all__ = ["Pair", "read_pairs", "source_files"]
