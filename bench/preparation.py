"""Preparation speed: pairs a second from raw files to token stores, everything made anew."""

import tempfile
import time

from translator.config import Config
from translator.data import DataHandler


def bench_preparation(config: Config) -> list[str]:
    """Return the lines of a report on preparing the corpus of `config` in an empty folder, then finding it again."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = config.corpus.model_copy(update={"prepared_directory": folder})
        fresh = config.model_copy(update={"corpus": corpus})
        began = time.perf_counter()
        data = DataHandler(fresh)
        anew = time.perf_counter() - began
        began = time.perf_counter()
        DataHandler(fresh)
        again = time.perf_counter() - began
    pairs = sum(source.read for source in data.corpus.report.sources)
    return [
        f"preparation of {pairs:,} pairs, subword training included",
        f"  anew {anew:.1f} s, {pairs / anew:,.0f} pairs/s; found again by fingerprint in {again:.2f} s",
    ]
