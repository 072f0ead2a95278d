"""The speed of searches on a GPU: Transformer-base with random weights, and sentences as long as those of a novel.

Every output has the length of its source plus a few tokens, since random weights never end a sentence. So all sentences
of a batch end in the same step, and none leaves early.
"""

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import torch

from bench.options import spread
from translator.config import ModelConfig, SearchConfig
from translator.core import SPECIAL_TOKENS
from translator.core.hypothesis import Rows
from translator.core.transformer import Transformer
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.search.request import SearchRequest
from translator.speed.inference_copy import search_copy

_ROUNDS: Final = 3
_MEDIAN_LENGTH: Final = 17  # source tokens of a sentence of Mizan with 8,000 pieces, about
_SIGMA: Final = 0.6  # of the logarithm of the length
_LONGEST: Final = 80
_OUTPUT_RATIO: Final = 0.6  # the length limit is this times the source length, plus ten: 22 tokens for 20
_SEARCHES: Final = {
    "beam 5": SearchConfig(method="beam", beam_size=5, max_length_ratio=_OUTPUT_RATIO),
    "greedy": SearchConfig(method="greedy", max_length_ratio=_OUTPUT_RATIO),
}


def bench_search(sizes: Mapping[str, Any], vocabulary: int, sentences: int, device: torch.device) -> Iterator[str]:
    """Yield sentences a second of each search, with the batches that the engine chooses by itself.

    Args:
        sizes: values of the section `model`.
        vocabulary: pieces of each language.
        sentences: number of sentences.
    """
    torch.manual_seed(1)
    config = ModelConfig.model_validate({**sizes, "positions": "rotary", "norm": "pre", "tied_embeddings": "target"})
    model = search_copy(Transformer(config.settings, vocabulary, vocabulary).to(device).eval())
    rows = _random_rows(sentences, vocabulary)
    yield f"  search, {sentences:,} sentences of {np.mean([len(row) for row in rows]):.1f} tokens:"
    for rounding in ("medium", "highest"):
        torch.set_float32_matmul_precision(rounding)
        searcher = TorchSearcher([model], device)
        for name, search in _SEARCHES.items():
            _seconds_of(searcher, rows[:200], search)  # warm-up
            speeds = [sentences / _seconds_of(searcher, rows, search) for _ in range(_ROUNDS)]
            yield f"    {name}, float32 products `{rounding}`: {spread(speeds, '{:,.0f}')} sentences a second"
    yield f"    a batch has at most {searcher.batch_rows:,} sentences and {searcher.batch_positions:,} positions"


def _random_rows(count: int, vocabulary: int) -> Rows:
    """Return `count` sentences of random ids, with the lengths of a novel's sentences."""
    generator = np.random.default_rng(3)
    lengths = generator.lognormal(math.log(_MEDIAN_LENGTH), _SIGMA, count).astype(int).clip(2, _LONGEST)
    return [generator.integers(len(SPECIAL_TOKENS), vocabulary, length).tolist() for length in lengths]


def _seconds_of(searcher: TorchSearcher, rows: Rows, search: SearchConfig) -> float:
    began = time.perf_counter()
    searcher.find(SearchRequest(rows, search, scored=False))
    return time.perf_counter() - began
